"""ProcessBound: what hands out tickets belongs to one process, whose threads may share it; it is not copied nor pickled."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import ClassVar, NoReturn

from tombola.errors import SessionError


class ProcessBound:
    """A thing of one process: another one with a copy of it would hand out the same tickets."""

    _alternative: ClassVar[str]  # what to write in another process

    def _bind_to_process(self) -> None:
        """Belong to this process from now on."""
        self._process, self._guard = os.getpid(), RLock()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other threads out, and refuse a child of a fork."""
        if os.getpid() != self._process:
            raise SessionError(
                f"{type(self).__name__}: expected the process that started it, got a fork, which would hand out the "
                f"same tickets; write {self._alternative}."
            )
        with self._guard:
            yield

    def __reduce__(self) -> NoReturn:
        raise SessionError(
            f"{type(self).__name__}: expected to stay in its process, got pickled or copied; write {self._alternative}."
        )
