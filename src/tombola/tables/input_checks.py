"""Checks before reading: a regular file, which fits into memory, and a package that reads it."""

import os
import stat
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tombola._files import file_type_text
from tombola.errors import TableError


def check_file(path: Path, expected: str = "a file") -> None:
    """Raise TableError unless the path is a readable regular file; never open a pipe.

    expected: noun for the file, in the message.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            path.open("rb").close()
            return
        problem = file_type_text(mode)
    except (FileNotFoundError, NotADirectoryError):
        problem = "none"
    except (OSError, ValueError) as error:
        problem = f"'{getattr(error, 'strerror', None) or error}'"
    raise TableError(
        f"{path}: expected {expected}, found {problem}; check the path, or save the table as a file."
    )


def is_directory(path: Path) -> bool:
    """Return whether a path is a folder; False for a name that no file can have."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def check_memory(source: str, size: int) -> None:
    """Raise TableError if `size` bytes are more than half of this machine's memory."""
    if size > _machine_memory() // 2:
        raise TableError(
            f"{source}: expected a table that fits into half of this machine's memory "
            f"({_machine_memory() / 2e9:.1f} "
            f"GB), got {size / 1e9:.1f} GB; save it as .npy in float32, which is not read into "
            "memory."
        )


def import_optional(name: str, source: str, extra: str = "tables") -> Any:
    """Import a package that reads this kind of table; TableError, with the extra that installs it, without it."""
    try:
        return import_module(name)
    except ImportError:
        raise TableError(
            f"{source}: expected the package {name}, which reads this kind of table, found none; "
            f'write pip install "tombola[{extra}]", or save the table as CSV.'
        ) from None


@cache
def _machine_memory() -> int:
    """Return the memory of this machine in bytes, 16 GB if unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 16 << 30
