"""Files of sessions and races: event log in SQLite, CSV, JSON, result cache.

Names are imported on first use, so that commands start quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tombola.worklists.session_events import Outcome
    from tombola.worklists.session_file import Assignment, SessionFile
    from tombola.worklists.session_status import ActionStatus, Status, TicketView

_MODULES = {
    "ActionStatus": "session_status",
    "Assignment": "session_file",
    "Outcome": "session_events",
    "SessionFile": "session_file",
    "Status": "session_status",
    "TicketView": "session_status",
}

__all__ = ["ActionStatus", "Assignment", "Outcome", "SessionFile", "Status", "TicketView"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'tombola.worklists' has no attribute {name!r}")
    return getattr(import_module(f"tombola.worklists.{_MODULES[name]}"), name)
