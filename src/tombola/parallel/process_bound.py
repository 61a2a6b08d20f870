"""Mixin for objects that must stay in one process."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import ClassVar, NoReturn

from tombola.errors import SessionError


class ProcessBound:
    """Mixin for objects that must stay in one process; its threads may share them.

    They cannot be pickled or copied, and raise SessionError after `fork`, because a copy would
    issue the same tickets again. A subclass sets `_alternative`, the code to write in another
    process, for error messages; it calls `_bind_to_process` in `__init__`, and does its work in
    blocks `with self._locked()`.
    """

    _alternative: ClassVar[str]  # the code to write in another process instead

    def _bind_to_process(self) -> None:
        """Bind the object to the current process."""
        self._process = os.getpid()
        self._guard = RLock()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock; raise in a forked child."""
        if os.getpid() != self._process:
            self._reject_fork()
        with self._guard:
            yield

    def _reject_fork(self) -> NoReturn:
        raise SessionError(
            f"{type(self).__name__}: expected the process that started it, got a fork, which "
            "would issue the "
            f"same tickets; write {self._alternative}."
        )

    def __reduce__(self) -> NoReturn:
        raise SessionError(
            f"{type(self).__name__}: expected to stay in its process, got pickled or copied; "
            f"write {self._alternative}."
        )
