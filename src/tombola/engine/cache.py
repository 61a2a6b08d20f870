"""Disk cache of compiled kernels that tolerates read-only, full and damaged disks.

Numba stores machine code in NUMBA_CACHE_DIR, in the `__pycache__` folder beside the source, or in
the user's cache folder. If none of them can be written or read, kernels are compiled in every
process, which costs a few seconds, and one warning is issued.

Each entry contains the key it was written for. Two processes that write for different types at the
same time can otherwise leave the index of one beside the machine code of the other.
"""

import os
import warnings
from functools import cache
from glob import escape, glob
from typing import Any

from tombola.errors import TombolaWarning

_warned: set[str] = set()


class _KeyedFile:
    """Wrap Numba's cache files of one function, and store the key in each entry."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def save(self, key: Any, data: Any) -> None:
        self._file.save(key, (key, data))

    def load(self, key: Any) -> Any:
        """Return the data of this key; None if missing or written for another key."""
        entry = self._file.load(key)
        return entry[1] if isinstance(entry, tuple) and entry[0] == key else None


class _TolerantCache:
    """Wrap Numba's cache of one function: disk failures become warnings."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for these types, or None if it is missing or damaged."""
        try:
            return self._cache.load_overload(sig, target_context)
        except Exception as error:  # a damaged pickle raises anything
            # A class or module renamed since the entry was written is not damage.
            if not isinstance(error, AttributeError | ImportError):
                _warn("a file of compiled code is damaged, and is written anew.")
            self._try(self._cache.flush)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        self._try(self._cache.save_overload, sig, data)

    def _try(self, write: Any, *arguments: Any) -> None:
        try:
            write(*arguments)
        except OSError as error:
            _warn_not_cached(error.strerror or str(error))


def enable_cache(dispatcher: Any) -> None:
    """Let a Numba dispatcher store its machine code on disk, if a folder is writable."""
    try:
        dispatcher.enable_caching()
    except (RuntimeError, OSError):
        _warn_not_cached("no folder for it can be written")
        return
    dispatcher._cache._cache_file = _KeyedFile(dispatcher._cache._cache_file)
    dispatcher._cache = _TolerantCache(dispatcher._cache)


def is_cached(dispatcher: Any) -> bool:
    """Return whether machine code of this dispatcher is on disk, for any types."""
    file = getattr(dispatcher._cache, "_cache_file", None)
    return file is not None and os.path.exists(file._index_path)


def has_index(source: str, digest: str) -> bool:
    """Return whether an index file of a kernel is in the disk cache of Numba.

    Then its machine code is probably there too. Numba is not imported.

    source: path of the file that defines the kernel.
    digest: fingerprint of the kernel, as in `Workload.interprets`.
    """
    pattern = f"*{escape(digest)}_*.nbi"
    return any(glob(os.path.join(folder, pattern)) for folder in _cache_folders(source))


@cache
def _cache_folders(source: str) -> tuple[str, ...]:
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return (os.path.join(escape(chosen), "*"),)
    home = os.path.expanduser("~")
    caches = [os.environ.get(name, "") for name in ("XDG_CACHE_HOME", "LOCALAPPDATA")]
    caches += [os.path.join(home, ".cache"), os.path.join(home, "Library", "Caches")]
    beside = os.path.join(escape(os.path.dirname(source)), "__pycache__")
    return beside, *(os.path.join(escape(folder), "numba", "**") for folder in caches if folder)


def _warn_not_cached(reason: str) -> None:
    _warn(
        f"compiled code cannot be cached ({reason}), so every process compiles it again; "
        "set NUMBA_CACHE_DIR to a folder that can be written."
    )


def _warn(message: str) -> None:
    """Issue a warning once per process."""
    if message not in _warned:
        _warned.add(message)
        warnings.warn(message, TombolaWarning, stacklevel=2)
