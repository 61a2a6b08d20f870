"""Limits: a table that does not fit into memory is refused before it fills it."""

import os
from functools import cache

from tombola.errors import TableError


def check_memory(source: str, size: int) -> None:
    """Refuse to hold more than half of this machine's memory."""
    if size > memory() // 2:
        raise TableError(
            f"{source}: expected a table that fits into half of this machine's memory ({memory() / 2e9:.1f} GB), got "
            f"{size / 1e9:.1f} GB; save it as .npy in float32, which is not read into memory."
        )


@cache
def memory() -> int:
    """Return the memory of this machine in bytes, or 16 GB where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 16 << 30
