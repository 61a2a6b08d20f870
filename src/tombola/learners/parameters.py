"""Dataclass fields with limits: parameters that are checked when a learner is made.

>>> @dataclass(frozen=True)
... class Greedy(Checked):
...     share: float = real(0.1, least=0, most=1)
>>> Greedy(share=2)
Traceback (most recent call last):
tombola.errors.ParameterError: Greedy: share must be a number, at least 0 and at most 1, got 2; write for example ...
"""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from typing import Any

from tombola import _validate
from tombola.errors import ParameterError


@dataclass(frozen=True)
class Checked:
    """Base class of dataclasses with fields of `real`, `integer` and `one_of`.

    A value outside of its limits raises ParameterError. None is valid where it is the default.
    """

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if "check" in each.metadata and not (value is None and each.default is None):
                each.metadata["check"](type(self).__name__, each.name, value)


def real(default: float | None, **limits: Any) -> Any:
    """Return a field for a finite number within the limits of `_validate.real`."""
    return _checked(default, partial(_validate.real, **limits))


def integer(default: Any = MISSING, *, least: int) -> Any:
    """Return a field for a whole number of at least `least`; required without a default."""
    return _checked(default, partial(_validate.integer, least=least))


def one_of(*words: str) -> Any:
    """Return a dataclass field for one of these words; the first one is the default.

    Another word raises ParameterError when the dataclass is made.
    """
    return _checked(words[0], partial(_check_word, words))


def _checked(default: Any, check: Callable[[str, str, Any], Any]) -> Any:
    return field(default=default, metadata={"check": check})


def _check_word(words: tuple[str, ...], owner: str, name: str, value: Any) -> None:
    if value not in words:
        raise ParameterError(
            f"{owner}: {name} must be {' or '.join(map(repr, words))}, got {value!r}; write "
            f"{name}={words[0]!r}."
        )
