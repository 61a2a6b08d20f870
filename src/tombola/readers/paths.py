"""Paths: what is there to be read, found out without waiting for it."""

import stat
from pathlib import Path

from tombola._files import file_type_text
from tombola.errors import TableError


def check_file(path: Path, wanted: str = "a file") -> None:
    """Refuse what is no file that may be read; a pipe is never opened, since nothing may come through it."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            path.open("rb").close()
            return
        found = file_type_text(mode)
    except (FileNotFoundError, NotADirectoryError):
        found = "none"
    except (OSError, ValueError) as error:
        found = f"'{getattr(error, 'strerror', None) or error}'"
    raise TableError(f"{path}: expected {wanted}, found {found}; check the path, or save what is there as a file.")
