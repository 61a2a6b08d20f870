"""Cache: machine code kept on disk where that can be done, and a sentence where it cannot.

Numba keeps machine code beside the source or in the user's cache folder. A package that is installed read-only for a
user without a home has neither, a disk can be full, a file can be damaged. No kernel is to blame for that: the code is
then made again in every process, which costs a few seconds.
"""

import os
import warnings
from typing import Any

from tombola.errors import TombolaWarning

_said: set[str] = set()


class Shelf:
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


def keep(dispatcher: Any) -> None:
    """Let a dispatcher keep its machine code on disk, if there is a place for it."""
    try:
        dispatcher.enable_caching()
    except (RuntimeError, OSError):
        _say_not_kept("no folder for it can be written")
        return
    dispatcher._cache = Shelf(dispatcher._cache)


def kept(dispatcher: Any) -> bool:
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
