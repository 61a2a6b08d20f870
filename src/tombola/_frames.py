"""Results as data frames of pandas or polars, whichever is installed."""

from collections.abc import Mapping, Sequence
from typing import Any

from tombola.errors import ParameterError


def to_frame(owner: str, columns: Mapping[str, Sequence[Any]]) -> Any:
    """Return columns as a data frame: pandas if it is installed, else polars.

    >>> to_frame("Runs", {"a": [1, 2]}).shape
    (2, 1)
    """
    for library in ("pandas", "polars"):
        try:
            return __import__(library).DataFrame(columns)
        except ImportError:
            continue
    raise ParameterError(
        f"{owner}.to_frame: expected pandas or polars, got neither; install one of them, or use {owner}.columns()."
    )
