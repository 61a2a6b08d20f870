"""Cache: machine code kept on disk where that can be done, and a sentence where it cannot.

Numba keeps machine code beside the source or in the user's cache folder. A package that is installed read-only for a
user without a home has neither, a disk can be full, a file can be damaged. No kernel is to blame for that: the code is
then made again in every process, which costs a few seconds.

Machine code with a wrong bit in it runs, and gives wrong numbers. So what is kept is sealed with a digest, and says
what it was made for: of two processes that write at once for different types, the index of one can stay with the code
of the other.
"""

import os
import pickle
import warnings
from hashlib import blake2b
from typing import Any

from tombola.errors import TombolaWarning

DIGEST = 16  # bytes

_said: set[str] = set()


class ChecksummedFile:
    """Numba's files of one function: what is loaded is what was saved, for the same types and machine."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def save(self, key: Any, data: Any) -> None:
        """Keep the data with its key and their digest."""
        content = self._file._dump((key, data))
        self._file.save(key, _digest(content) + content)

    def load(self, key: Any) -> Any:
        """Return the data of this key; None if there are none, or if they were written for another."""
        sealed = self._file.load(key)
        if not isinstance(sealed, bytes):  # nothing, or not sealed, as before there were seals
            return None
        content = sealed[DIGEST:]
        if _digest(content) != sealed[:DIGEST]:
            raise ValueError("the digest is another")
        written_for, data = pickle.loads(content)
        return data if written_for == key else None


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=DIGEST).digest()


class TolerantCache:
    """Numba's cache of one function, whose failures cost time and nothing else."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for these types; None if there is none, or if what is there cannot be read."""
        try:
            return self._cache.load_overload(sig, target_context)
        except Exception as error:  # a damaged pickle raises anything
            if not isinstance(error, AttributeError | ImportError):  # a name that an earlier version had is no damage
                _say("a file of compiled code is damaged, and is written anew.")
            self._try(self._cache.flush)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code for these types, if the disk takes it."""
        self._try(self._cache.save_overload, sig, data)

    def _try(self, write: Any, *arguments: Any) -> None:
        try:
            write(*arguments)
        except OSError as error:
            _say_not_kept(error.strerror or str(error))


def enable_cache(dispatcher: Any) -> None:
    """Let a dispatcher keep its machine code on disk, if there is a place for it."""
    try:
        dispatcher.enable_caching()
    except (RuntimeError, OSError):
        _say_not_kept("no folder for it can be written")
        return
    dispatcher._cache._cache_file = ChecksummedFile(dispatcher._cache._cache_file)
    dispatcher._cache = TolerantCache(dispatcher._cache)


def is_cached(dispatcher: Any) -> bool:
    """Tell whether code of this dispatcher is on disk."""
    file = getattr(dispatcher._cache, "_cache_file", None)
    return file is not None and os.path.exists(file._index_path)


def _say_not_kept(reason: str) -> None:
    _say(
        f"compiled code cannot be kept ({reason}), so every process makes it again; "
        "set NUMBA_CACHE_DIR to a folder that can be written."
    )


def _say(sentence: str) -> None:
    """Say a sentence once in this process."""
    if sentence not in _said:
        _said.add(sentence)
        warnings.warn(sentence, TombolaWarning, stacklevel=2)
