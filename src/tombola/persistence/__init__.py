"""Live runs: a session in a file that survives everything, for the command line and for several processes at once.

Names are loaded when they are first used, so that the command line starts quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tombola.persistence.outcome import Outcome
    from tombola.persistence.record import Record
    from tombola.persistence.session_file import Assignment, SessionFile
    from tombola.persistence.session_status import ActionStatus, Status

_HOME = {
    "ActionStatus": "session_status",
    "Assignment": "session_file",
    "Record": "record",
    "Outcome": "outcome",
    "SessionFile": "session_file",
    "Status": "session_status",
}

__all__ = ["ActionStatus", "Assignment", "Outcome", "Record", "SessionFile", "Status"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tombola.persistence' has no attribute {name!r}")
    return getattr(import_module(f"tombola.persistence.{_HOME[name]}"), name)
