"""Work lists: session and race files on an event log in SQLite, and their tables.

Names are imported on first use, so that commands start quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tombola.worklists.race_file import RaceFile
    from tombola.worklists.session_file import SessionFile
    from tombola.worklists.session_status import ActionStatus, Status, TicketView
    from tombola.worklists.work_file import Assignment, Description, Outcome, WorkFile

_MODULES = {
    "ActionStatus": "session_status",
    "Assignment": "work_file",
    "Description": "work_file",
    "Outcome": "work_file",
    "RaceFile": "race_file",
    "SessionFile": "session_file",
    "Status": "session_status",
    "TicketView": "session_status",
    "WorkFile": "work_file",
}

__all__ = [
    "ActionStatus",
    "Assignment",
    "Description",
    "Outcome",
    "RaceFile",
    "SessionFile",
    "Status",
    "TicketView",
    "WorkFile",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'tombola.worklists' has no attribute {name!r}")
    return getattr(import_module(f"tombola.worklists.{_MODULES[name]}"), name)
