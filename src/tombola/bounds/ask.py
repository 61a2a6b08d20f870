"""Ask: a bound by name, with its parameters as words, as the command line has them."""

import inspect
import math
from collections.abc import Callable, Sequence

from tombola import bounds
from tombola.errors import ParameterError

LARGEST = 100_000_000  # some bounds are sums over all rounds
LIMITS = {
    "delta": (0.0, 1.0), "growth": (1.0, math.inf),
    **dict.fromkeys(("price", "counts", "spreads", "sampled"), (-5e-324, math.inf)),
}  # fmt: skip
SHORT = {"horizon": "T", "actions": "k", "delay": "d", "budget": "B", "resources": "m", "population": "N", "count": "n"}


def ask(name: str, words: Sequence[str]) -> float | None:
    """Return the bound of this name for options such as --T 1000 --k 2, or None where it says that there is none.

    >>> round(ask("hedge", ["--T", "1000", "--k", "2"]), 2)
    18.62
    >>> round(ask("drift_of_counts", ["--T", "10000", "--counts", "100,50"]), 2)
    50.61
    """
    if name not in bounds.__all__:
        raise ParameterError(f"bound: expected one of {', '.join(bounds.__all__)}, got {name!r}; write one of those.")
    function: Callable[..., float | None] = getattr(bounds, name)
    options = _options(function)
    given = dict(_pairs(name, words, options))
    missing = [f"--{word}" for word, p in options.items() if word not in given and p.default is p.empty]
    if missing:
        raise ParameterError(
            f"bound {name}: expected {' '.join(missing)} as well, got {' '.join(words) or 'nothing'}; "
            f"write for example tombola bound {name} {' '.join(f'{word} 100' for word in missing)}."
        )
    checked = {options[word].name: _checked(name, word, options[word], values) for word, values in given.items()}
    try:
        value = function(**checked)
    except (ArithmeticError, ValueError) as error:
        raise ParameterError(
            f"bound {name}: expected numbers for which it is defined, got {' '.join(words)} "
            f"({str(error).rstrip('.')}); write larger or more usual ones."
        ) from None
    return None if value is None else float(value)


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


def _options(function: Callable[..., float | None]) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(function).parameters.values()
    return {SHORT.get(p.name, p.name): p for p in parameters if "Callable" not in str(p.annotation)}


def _checked(name: str, word: str, parameter: inspect.Parameter, values: list[float]) -> float | list[float]:
    numbers = [_number(name, word, parameter, value) for value in values]
    return numbers if _many(parameter) else numbers[0]


def _many(parameter: inspect.Parameter) -> bool:
    return "list" in str(parameter.annotation)


def _number(name: str, word: str, parameter: inspect.Parameter, value: float) -> float:
    """Return the number if a bound can be asked for it: whole where it counts something, and within limits."""
    low, high = LIMITS.get(parameter.name, (0.0, math.inf))
    counts = "int" in str(parameter.annotation)
    if counts:
        low, high = (-1.0 if parameter.name == "delay" else 0.0), float(LARGEST) + 1
    whole = not counts or value == math.floor(value) if math.isfinite(value) else False
    if not (whole and low < value < high and math.isfinite(value)):
        kind = f"a whole number from {low + 1:.0f} to {LARGEST:,}" if counts else f"a number above {low:g}"
        kind += f" and below {high:g}" if not counts and math.isfinite(high) else ""
        example = 100 if counts else 0.05 if high <= 1 else low + 1
        raise ParameterError(f"bound {name}: --{word} must be {kind}, got {value:g}; write --{word} {example:g}.")
    return int(value) if counts else value


def _pairs(name: str, words: Sequence[str], options: dict[str, inspect.Parameter]) -> list[tuple[str, list[float]]]:
    pairs = []
    for option, value in zip(words[::2], [*words[1::2], ""], strict=False):
        word = option.removeprefix("--")
        if word not in options or not option.startswith("--"):
            raise ParameterError(
                f"bound {name}: expected options of {' '.join(f'--{w}' for w in options)}, got {option!r}; "
                "write one of those."
            )
        try:
            pairs.append((word, [float(one) for one in (value.split(",") if _many(options[word]) else [value])]))
        except ValueError:
            raise ParameterError(
                f"bound {name}: {option} must be a number, got {value!r}; write {option} 100."
            ) from None
    return pairs
