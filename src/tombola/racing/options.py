"""Settings: what is decided before a race begins, as plain data."""

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from inspect import signature
from typing import Any, Literal, TypedDict, TypeVar

from tombola import _validate
from tombola.errors import ParameterError
from tombola.racing.best import Best
from tombola.racing.elimination import Elimination
from tombola.racing.gate import Gate
from tombola.racing.top import Top
from tombola.racing.within import Within


class Asked(TypedDict, total=False):
    """What may be asked of a race, and its limits: settings by their names, each with a default in `Settings`."""

    level: float
    within: float
    top: int
    baseline: str | None
    population: float | None
    max_calls: int | None
    max_cost: float | None
    on_failure: Literal["worst", "stop"]


@dataclass(frozen=True)
class Settings:
    """The candidates by name, the question, and the limits of a race.

    Asked is for the best candidate; with `within` for one that is at most so much worse than the best; with `top` for
    the best so many; with a `baseline` for who is better than it, or, with `within` too, not worse by more than that.
    """

    candidates: tuple[str, ...]
    seed: int
    level: float = 0.05
    within: float = 0.0
    top: int = 1
    baseline: str | None = None
    population: float | None = None
    max_calls: int | None = None
    max_cost: float | None = None
    on_failure: Literal["worst", "stop"] = "worst"

    def __post_init__(self) -> None:
        object.__setattr__(self, "candidates", distinct("candidates", self.candidates))
        plain: dict[str, float] = {
            "seed": _validate.integer("Race", "seed", self.seed, least=0),
            "level": _validate.real("Race", "level", self.level, above=0, below=1),
            "within": _validate.real("Race", "within", self.within, least=0, below=1),
            "top": _validate.integer("Race", "top", self.top, least=1),
        }
        if self.max_calls is not None:
            if not (calls := _validate.real("Race", "max_calls", self.max_calls, least=0)).is_integer():
                _refuse("max_calls", "a whole number", self.max_calls, f"max_calls={int(calls)}")
            plain["max_calls"] = int(calls)
        if self.max_cost is not None:
            plain["max_cost"] = _validate.real("Race", "max_cost", self.max_cost, least=0)
        for name, value in plain.items():  # numbers of NumPy's cannot be written down
            object.__setattr__(self, name, value)
        self._check_question()
        if self.on_failure not in ("worst", "stop"):
            _refuse("on_failure", "'worst' or 'stop'", self.on_failure, "on_failure='worst'")
        if self.population not in (None, math.inf):
            _refuse("population", "None (this list) or math.inf (rows like these)", self.population, "math.inf")

    def _check_question(self) -> None:
        k = len(self.candidates)
        if self.top > 1 and self.top >= k:
            _refuse("top", f"fewer than the {k} candidates", self.top, f"top={max(k - 1, 1)}")
        if self.top > 1 and (self.within > 0 or self.baseline is not None):
            _refuse("top", "asked for alone", "within or a baseline too", f"Race(..., top={self.top})")
        if self.baseline is not None and self.baseline not in self.candidates:
            _refuse("baseline", f"one of {', '.join(self.candidates)}", self.baseline, f"{self.candidates[0]!r}")
        if self.baseline is not None and k == 1:
            _refuse("candidates", "the baseline and at least one other", "one", "the other name beside it")

    def field(self, rows: int) -> Elimination:
        """Return the field of this race on a list of so many rows."""
        size = rows if self.population is None else self.population
        start: dict[str, Any] = {"candidates": len(self.candidates), "rows": rows, "population": size}
        start["level"] = self.level
        if self.baseline is not None:
            return Gate(**start, baseline=self.candidates.index(self.baseline), margin=self.within)
        if self.top > 1:
            return Top(**start, top=self.top)
        return Within(**start, within=self.within) if self.within > 0 else Best(**start)

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON has them; an infinite population is the word inf."""
        infinite = {"population": "inf"} if self.population == math.inf else {}
        return {**asdict(self), "candidates": list(self.candidates), **infinite}

    @classmethod
    def from_json(cls, about: dict[str, Any]) -> "Settings":
        """Return the settings that `to_json` gave."""
        population = math.inf if about.get("population") == "inf" else None
        return cls(**{**about, "candidates": tuple(about["candidates"]), "population": population})


Function = TypeVar("Function", bound=Callable[..., Any])


def asking(function: Function) -> Function:
    """Show the settings as keywords of a function that takes them as **asked, with the defaults they have here."""
    known = signature(Settings).parameters
    asked = [known[name].replace(kind=known[name].KEYWORD_ONLY) for name in Asked.__annotations__]
    own = [one for one in signature(function).parameters.values() if one.kind is not one.VAR_KEYWORD]
    function.__signature__ = signature(function).replace(parameters=[*own, *asked])  # type: ignore[attr-defined]
    return function


def distinct(what: str, names: Sequence[Any]) -> tuple[str, ...]:
    """Return the names as text; there must be some, none empty, all different."""
    words = tuple(str(name) for name in names)
    if not words or not all(word.strip() for word in words):
        _refuse(what, "at least one name, and none empty", "none or an empty one", "a name for each")
    twice, times = Counter(words).most_common(1)[0]
    if times > 1:
        _refuse(what, "different names", f"{twice!r} {times} times", "another name for one of them")
    return words


def fingerprint(rows: Sequence[str]) -> str:
    """Return a hash of the names of the rows, as the list has them.

    >>> fingerprint(["a", "b"])[:8]
    'facdde7a'
    """
    digest = hashlib.sha256()
    for row in rows:
        digest.update(f"{len(row)}:{row}".encode())
    return digest.hexdigest()


def _refuse(what: str, expected: str, came: Any, remedy: str) -> None:
    shown = came if isinstance(came, str) else repr(came)
    raise ParameterError(f"Race: {what} must be {expected}, got {shown}; write {remedy}.")
