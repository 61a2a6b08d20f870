"""Live runs: a session in a file that survives everything, for the command line and for several processes at once.

Names are loaded when they are first used, so that the command line starts quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tombola.live.file import Assignment, SessionFile
    from tombola.live.outcome import Outcome
    from tombola.live.record import Record
    from tombola.live.status import ActionStatus, Status

_HOME = {
    "ActionStatus": "status",
    "Assignment": "file",
    "Record": "record",
    "Outcome": "outcome",
    "SessionFile": "file",
    "Status": "status",
}

__all__ = ["ActionStatus", "Assignment", "Outcome", "Record", "SessionFile", "Status"]


def __getattr__(name: str) -> Any:
    if name == "Run":
        import warnings

        name = "SessionFile"
        words = "tombola.live.Run is now tombola.live.SessionFile; the old name goes with version 0.3."
        warnings.warn(words, DeprecationWarning, stacklevel=2)
    if name not in _HOME:
        raise AttributeError(f"module 'tombola.live' has no attribute {name!r}")
    return getattr(import_module(f"tombola.live.{_HOME[name]}"), name)
