"""Write-ahead log of an event log that stays open, as that of a server: one sync per transaction.

At rest an event log is one file with a rollback journal. While it is written ahead, SQLite appends
to FILE-wal, and copies into the file from time to time. The header of the file states which of its
copies are complete:

| journal | format | events |
|---|---|---|
| rollback | 4 | complete: the file is at rest |
| write-ahead | 4 | complete: nothing is written in this state, which begins and ends the work |
| write-ahead | 5 | the last ones may be in FILE-wal; without it the file is refused |

The format 5 is on the disk before the first event is written ahead, and 4 before FILE-wal is
removed. So a kill or a power loss between two steps leaves a file that opens, and a copy without
FILE-wal, which may lack events, is refused.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import ClassVar, NamedTuple

from tombola.errors import SessionError

# Version of the tables, in the header of the file; files of other versions are rejected.
FORMAT = 4
# The same tables, while events may be in the write-ahead log.
FORMAT_AHEAD = 5

# Header of SQLite: bytes in all, place of the version of the journal (2: write-ahead), and place of
# the format.
_HEADER_BYTES = 100
_JOURNAL_AT = 18
_FORMAT_AT = slice(60, 64)
_WRITE_AHEAD = 2


class Header(NamedTuple):
    """What the header of a file says: whether it is written ahead, and its format."""

    is_ahead: bool
    format: int


def log_path(path: Path) -> Path:
    """Return the path of the write-ahead log of a file, which SQLite determines."""
    return Path(f"{path}-wal")


class MainFile:
    """The main file of a log, opened to read its header without SQLite.

    POSIX drops the locks that a process holds on a file, those of SQLite too, when the process
    closes any handle of it. So all objects for one file share one handle, and `close` comes after
    SQLite has closed the file.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     main = MainFile(Path(file.name))
    ...     main.header(), main.close()
    (None, None)
    """

    # Handle and number of objects, by device and inode.
    _handles: ClassVar[dict[tuple[int, int], list[int]]] = {}
    _lock: ClassVar[Lock] = Lock()

    def __init__(self, path: Path) -> None:
        self._id: tuple[int, int] | None = None
        with self._lock, suppress(OSError):
            status = os.stat(path)
            if not stat.S_ISREG(status.st_mode):
                return
            key = status.st_dev, status.st_ino
            if key not in self._handles:
                flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
                self._handles[key] = [os.open(path, flags), 0]
            self._handles[key][1] += 1
            self._id = key

    @property
    def is_missing(self) -> bool:
        """Whether there was no file."""
        return self._id is None

    def header(self) -> Header | None:
        """Return the header of the file itself, without its log; None if it has none."""
        if self._id is None:
            return None
        handle, _ = self._handles[self._id]
        with self._lock:
            os.lseek(handle, 0, os.SEEK_SET)
            header = os.read(handle, _HEADER_BYTES)
        if len(header) < _HEADER_BYTES:
            return None
        return Header(
            header[_JOURNAL_AT] == _WRITE_AHEAD, int.from_bytes(header[_FORMAT_AT], "big")
        )

    def close(self) -> None:
        """Close the handle if this is its last object; more calls do nothing."""
        with self._lock:
            if self._id is not None:
                entry = self._handles[self._id]
                entry[1] -= 1
                if entry[1] == 0:
                    os.close(self._handles.pop(self._id)[0])
                self._id = None

    def check_log(self, path: Path, owner: str) -> None:
        """Raise SessionError if the file lacks its write-ahead log, or has that of another one.

        Call it before SQLite opens the file, which would go on without what is missing. Another
        process may begin or end to write ahead meanwhile, so the header is read after the log was
        missed, and before and after a foreign one was seen.
        """
        log = log_path(path)
        before = self.header()
        has_log = log.exists()
        is_empty = not has_log or _size(log) == 0
        header = self.header()
        if header is None:
            return
        if not has_log and header == Header(is_ahead=True, format=FORMAT_AHEAD):
            raise SessionError(
                f"{owner}: expected {log.name} beside {path}, which was copied or moved while it "
                "was in use, found none, so that its last events are missing; bring both files, "
                "or take a backup."
            )
        if not is_empty and before == header and not header.is_ahead:
            raise SessionError(
                f"{owner}: expected no {log.name} beside {path}, got one, which belongs to "
                "another file of this name; move it away, and keep it if that file is needed."
            )


def discard_log(path: Path) -> None:
    """Empty the write-ahead log of a file that was replaced by another one.

    SQLite would copy the log into the other file when it closes. It reads the log again if its
    index is empty.
    """
    with suppress(OSError):
        os.truncate(log_path(path), 0)
        with open(f"{path}-shm", "r+b") as index:
            index.write(bytes(136))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
