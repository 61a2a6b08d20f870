"""Ask: a bound by name, with its parameters as words, as the command line has them."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tombola import bounds
from tombola.errors import ParameterError

SHORT = {"horizon": "T", "actions": "k", "delay": "d", "budget": "B", "resources": "m", "population": "N", "count": "n"}


def ask(name: str, words: Sequence[str]) -> float:
    """Return the bound of this name for options such as --T 1000 --k 2.

    >>> round(ask("hedge", ["--T", "1000", "--k", "2"]), 2)
    18.62
    """
    if name not in bounds.__all__:
        raise ParameterError(f"bound: expected one of {', '.join(bounds.__all__)}, got {name!r}; write one of those.")
    function: Callable[..., float] = getattr(bounds, name)
    options = _options(function)
    given = dict(_pairs(name, words, options))
    missing = [f"--{word}" for word, p in options.items() if word not in given and p.default is p.empty]
    if missing:
        raise ParameterError(
            f"bound {name}: expected {' '.join(missing)} as well, got {' '.join(words) or 'nothing'}; "
            f"write for example tombola bound {name} {' '.join(f'{word} 100' for word in missing)}."
        )
    return float(function(**{options[word].name: value for word, value in given.items()}))


def listing() -> list[tuple[str, str, str]]:
    """Return every bound with its options and the first line of what it says."""
    rows = []
    for name in bounds.__all__:
        function = getattr(bounds, name)
        words = " ".join(
            f"--{word}" if p.default is p.empty else f"[--{word}]" for word, p in _options(function).items()
        )
        rows.append((name, words, (inspect.getdoc(function) or "").splitlines()[0]))
    return rows


def _options(function: Callable[..., float]) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(function).parameters.values()
    return {SHORT.get(p.name, p.name): p for p in parameters if "Bound" not in str(p.annotation)}


def _pairs(name: str, words: Sequence[str], options: dict[str, inspect.Parameter]) -> list[tuple[str, Any]]:
    pairs = []
    for option, value in zip(words[::2], [*words[1::2], ""], strict=False):
        word = option.removeprefix("--")
        if word not in options or not option.startswith("--"):
            raise ParameterError(
                f"bound {name}: expected options of {' '.join(f'--{w}' for w in options)}, got {option!r}; "
                "write one of those."
            )
        try:
            pairs.append((word, int(value) if value.lstrip("-").isdigit() else float(value)))
        except ValueError:
            raise ParameterError(
                f"bound {name}: {option} must be a number, got {value!r}; write {option} 100."
            ) from None
    return pairs
