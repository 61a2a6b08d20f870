"""Settings of a race: candidates, question, level and limits, as plain data."""

import hashlib
import math
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from inspect import signature
from typing import Any, Literal, NamedTuple, NoReturn, TypedDict, TypeVar

from tombola import _validate
from tombola.errors import ParameterError
from tombola.racing.rules.base import Elimination
from tombola.racing.rules.best import Best
from tombola.racing.rules.gate import Gate
from tombola.racing.rules.once_each import OnceEach
from tombola.racing.rules.ranks import Place, Ranks
from tombola.racing.rules.top import Top
from tombola.racing.rules.whole_passes import WholePasses
from tombola.racing.rules.within import Within
from tombola.statements import READINGS, Reading
from tombola.units import Kind, Units

# Number of the rules by which races decide. It is raised with every change after which the same
# answers could lead to another verdict: a race in a file ends by the rules that it was started with.
RULES = 2
# Bits of a seed that is drawn at random. It is printed and typed again, so it is short; 32 bits are
# enough to make the shuffle unpredictable.
_SEED_BITS = 32


# How the calls of a race behave: the same call has the same answer, or not; answers change, but a
# row can be asked once only; "auto" tries it.
Answering = Literal["fixed", "random", "once", "auto"]
# Cells of a pilot, which are called twice, at most; and its share of the calls, at most.
_MAX_PILOT = 8
_PILOT_SHARE = 0.02
# With `max_cost` alone, random answers end after this many times the calls of a fixed race.
_CALLS_WITHIN_COST = 10


class FurtherMetric(NamedTuple):
    """A metric of a gate beside the first: its name, allowed loss, direction and range.

    within: in the unit of the metric; 0 asks for a strictly better version.
    """

    name: str
    within: float
    kind: Kind = "losses"
    range: tuple[float, float] = (0.0, 1.0)


class RaceOptions(TypedDict, total=False):
    """TypedDict of keyword options: fields of `RaceSettings` except `candidates`.

    It is the type of `**options` of `race`, `Race` and others; all keys are optional.
    """

    seed: int | None
    level: float
    within: float
    top: int
    baseline: str | None
    reading: Reading | None
    answers: Answering
    pilot: int | None
    passes: int | None
    max_calls: int | None
    max_cost: float | None
    max_call_cost: float | None
    on_failure: Literal["worst", "stop"]
    question: Literal["best", "ranks"]
    candidate: str | None
    kind: Kind
    range: tuple[float, float]
    unit: str
    better: bool


@dataclass(frozen=True)
class RaceSettings:
    """Configuration of a race; the default question is the smallest mean loss.

    candidates      their names, at least two, all different
    seed            seed of the shuffle; None: drawn when the race starts, and stored with it
    level           probability that the answer may be wrong
    within          tolerance in the unit of `range`: ask for a candidate that is at most this much
                    worse than the best
    top             ask for the best `top` candidates
    baseline        compare the others with this candidate: not worse by more than `within`, or, with
                    `better`, strictly better. One of the two must be stated. None: no baseline
    reading         what the answer is about. "recorded": the answers recorded here; "expected": the
                    mean of repeated answers to these rows, which are drawn with replacement;
                    "beyond": rows like these, of which the list is a sample. None: by `answers`
    answers         how calls behave, if no reading is given. "fixed": the same call has the same
                    answer, so the reading is "recorded"; "random": answers change, so it is
                    "expected"; "once": so it is, but each row can be asked once, in random order
                    (only for the best candidate); "auto": a pilot calls at most 8 cells twice, at
                    most 2 % of the calls, and decides. Where 2 % are less than 2 calls, the
                    statement says that it was not checked
    pilot           cells that the pilot calls twice; None: chosen when the race starts, and stored
    passes          with answers="random": ask all rows this many times at most, pass by pass, instead
                    of drawing rows (only for the best candidate). Candidates are dropped at the end
                    of a pass. For programs that repeat a task in epochs. None: draw rows
    horizon         rounds on random answers that the bets plan for; None: chosen by the limits when
                    the race starts, and stored. A limit that is raised later does not change it
    max_calls       largest number of calls to issue; None: no limit
    max_cost        cap on the total cost, in the unit of the recorded costs; None: no cap. A call
                    is issued only if the cost so far, plus a reserve for it and for every call
                    without an answer, is at most `max_cost`. The reserve is `max_call_cost`.
    max_call_cost   upper bound on the cost of one call. Without it the reserve is the largest cost
                    recorded so far, and the first call is issued alone, because no cost is known
                    yet. Then the cap holds as long as no call in flight costs more than every call
                    before it.
    on_failure      "worst": a failed call counts as loss 1; "stop": it ends the race
    question        "best", or "ranks": the order of all candidates, or of the first `top` if top >
                    1
    candidate       with question="ranks": ask only for the rank of this candidate; None: of all
    kind            "losses" (lower is better) or "scores" (higher is better): the values that
                    `race` gets from `evaluate` and from answers on file, and the numbers in texts.
                    Left out, `race` takes it from the name of `evaluate`
    range           the smallest and the largest possible value; they become losses 0 and 1, or 1
                    and 0
    unit            the word for the values in texts, such as seconds; default: loss or score
    better          with `baseline`: the others must be strictly better
    further         with `baseline`: further metrics that each call measures and each candidate must
                    pass, too. Their claims of "worse" share the level
    """

    candidates: tuple[str, ...]
    seed: int | None = None
    level: float = 0.05
    within: float = 0.0
    top: int = 1
    baseline: str | None = None
    reading: Reading | None = None
    answers: Answering = "auto"
    pilot: int | None = None
    passes: int | None = None
    horizon: int | None = None
    max_calls: int | None = None
    max_cost: float | None = None
    max_call_cost: float | None = None
    on_failure: Literal["worst", "stop"] = "worst"
    question: Literal["best", "ranks"] = "best"
    candidate: str | None = None
    kind: Kind = "losses"
    range: tuple[float, float] = (0.0, 1.0)
    unit: str = ""
    better: bool = False
    further: tuple[FurtherMetric, ...] = ()

    def __post_init__(self) -> None:
        self._check_unit()
        object.__setattr__(self, "candidates", distinct_names("candidates", self.candidates))
        plain: dict[str, float] = {
            "level": _validate.real("Race", "level", self.level, above=0, below=1),
            "within": _validate.real(
                "Race",
                "within",
                self.within,
                least=0,
                below=self.units.gap(1.0),
                example=self.units.gap(0.05),
            ),
            "top": _validate.integer("Race", "top", self.top, least=1),
        }
        if self.seed is not None:
            plain["seed"] = _validate.integer("Race", "seed", self.seed, least=0)
        if self.horizon is not None:
            plain["horizon"] = _validate.integer("Race", "horizon", self.horizon, least=1)
        if self.pilot is not None:
            plain["pilot"] = _validate.integer("Race", "pilot", self.pilot, least=0)
        if self.passes is not None:
            plain["passes"] = _validate.integer("Race", "passes", self.passes, least=1)
        if self.max_calls is not None:
            if not (
                calls := _validate.real("Race", "max_calls", self.max_calls, least=0)
            ).is_integer():
                _reject("max_calls", "a whole number", self.max_calls, f"max_calls={int(calls)}")
            plain["max_calls"] = int(calls)
        for name in ("max_cost", "max_call_cost"):
            if (cost := getattr(self, name)) is not None:
                plain[name] = _validate.real("Race", name, cost, least=0)
        # NumPy scalars cannot be serialised as JSON.
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        self._check_choices()
        self._check_question()
        for number in range(1, 1 + len(self.further)):
            # Units and allowed loss of each metric are checked as those of the first.
            self.of_metric(number)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the metrics; only a gate has several."""
        return (self.units.quantity, *(metric.name for metric in self.further))

    @property
    def further_units(self) -> tuple[Units, ...]:
        """The units of the further metrics."""
        return tuple(self.of_metric(1 + number).units for number in range(len(self.further)))

    def of_metric(self, number: int) -> "RaceSettings":
        """Return the settings as a metric sees them: the first, or a further one from 1."""
        if number == 0:
            return self
        name, within, kind, limits = self.further[number - 1]
        return replace(
            self, within=within, better=within == 0, kind=kind, range=limits, unit=name, further=()
        )

    @property
    def units(self) -> Units:
        """Conversion between losses in [0, 1] and values, by `kind` and `range`."""
        return Units(*self.range, scores=self.kind == "scores", unit=self.unit)

    @property
    def default_cost(self) -> float | None:
        """Cost of a call that reports none: 0, or `max_call_cost` if `max_cost` is set.

        If this is None, every call must report a cost.
        """
        return 0.0 if self.max_cost is None else self.max_call_cost

    def _check_unit(self) -> None:
        limits: Any = self.range
        if not (isinstance(limits, tuple | list) and len(limits) == 2):
            _reject("range", "two numbers", self.range, "range=(0, 10)")
        low = _validate.real("Race", "range[0]", self.range[0])
        high = _validate.real("Race", "range[1]", self.range[1], above=low)
        if not math.isfinite(high - low):
            _reject("range", "two numbers with a finite distance", self.range, "range=(0, 10)")
        object.__setattr__(self, "range", (low, high))

    def _check_choices(self) -> None:
        choices: dict[str, tuple[Any, ...]] = {
            "kind": ("losses", "scores"),
            "on_failure": ("worst", "stop"),
            "question": ("best", "ranks"),
            "reading": (None, *READINGS),
            "answers": ("fixed", "random", "once", "auto"),
            "baseline": (None, *self.candidates),
            "candidate": (None, *self.candidates),
        }
        for name, allowed in choices.items():
            if (value := getattr(self, name)) not in allowed:
                _reject(
                    name,
                    f"one of {', '.join(map(repr, allowed))}",
                    value,
                    f"{name}={allowed[-1]!r}",
                )
        if not isinstance(self.unit, str):
            _reject("unit", "a word", self.unit, "unit='seconds'")

    def _check_question(self) -> None:
        k = len(self.candidates)
        ranks = self.question == "ranks"
        has_margin = self.within > 0 or self.baseline is not None
        # (option, whether it does not fit the others, the condition on it, the fix)
        for name, wrong, expected, remedy in (
            ("candidates", k == 1, "at least two names", "a second name beside it"),
            (
                "top",
                1 < self.top >= k,
                f"less than the number of candidates, {k}",
                f"top={max(k - 1, 1)}",
            ),
            (
                "top",
                self.top > 1 and has_margin,
                "used without within and baseline",
                f"Race(..., top={self.top})",
            ),
            (
                "question",
                ranks and has_margin,
                "'best' with within or baseline",
                "Race(..., question='ranks') alone",
            ),
            (
                "better",
                self.better and (self.baseline is None or self.within > 0),
                "used with baseline, and without within",
                "either better or within",
            ),
            (
                "candidate",
                self.candidate is not None and not (ranks and self.top == 1),
                "used with question='ranks' and without top",
                "question='ranks' beside it",
            ),
            (
                "reading",
                self.reading == "expected" and self.answers == "fixed",
                "expected only with answers that may change",
                "answers='random' beside it",
            ),
            (
                "answers",
                self.answers == "once" and (ranks or has_margin or self.top > 1),
                "other than 'once' with within, top, baseline or ranks",
                "answers='random', which asks rows again",
            ),
            (
                "reading",
                self.answers == "once" and self.reading not in (None, "expected"),
                "expected with answers='once'",
                "reading='expected', or another value of answers",
            ),
            (
                "passes",
                self.passes is not None and self.answers != "random",
                "used with answers='random'",
                "answers='random' beside it",
            ),
            (
                "passes",
                self.passes is not None and self.reading not in (None, "expected"),
                "used with reading='expected'",
                "reading='expected', or leave it out",
            ),
            (
                "passes",
                self.passes is not None and (ranks or has_margin or self.top > 1),
                "used without within, top, baseline and ranks",
                "answers='random' alone, which draws rows",
            ),
            (
                "further",
                bool(self.further) and self.baseline is None,
                "used with baseline",
                "baseline with the name of the old version",
            ),
            (
                "further",
                bool(self.further)
                and self.reading not in ("recorded", "beyond")
                and self.answers != "fixed",
                "used with fixed answers",
                "reading='beyond' or 'recorded'",
            ),
            (
                "further",
                len(set(self.metrics)) <= len(self.further),
                "different names",
                "another name for one of the metrics",
            ),
            (
                "max_call_cost",
                self.max_call_cost is not None and self.max_cost is None,
                "given together with max_cost",
                "for example max_cost=25 beside it",
            ),
        ):
            if wrong:
                _reject(name, expected, getattr(self, name), remedy)
        if self.baseline is not None:
            _validate.allowed_loss("race", self.within or None, better=self.better)

    def with_seed(self) -> "RaceSettings":
        """Return these settings if they have a seed, else a copy with a random seed."""
        return self if self.seed is not None else replace(self, seed=secrets.randbits(_SEED_BITS))

    def with_pilot(self, rows: int, on_file: int = 0) -> "RaceSettings":
        """Return the settings with the horizon and the cells of their pilot on a list of `rows` rows.

        The pilot has at most 8 cells, and its calls are at most 2 % of the limit at the start. A limit that is
        raised later does not change it. on_file: number of cells whose answers are on file.
        """
        may_draw = self.answers in ("random", "auto") and self.reading in (None, "expected")
        if may_draw and not self.passes and self.horizon is None:
            return replace(self, horizon=self._rounds(rows)).with_pilot(rows, on_file)
        if self.answers != "auto" or self.reading is not None or self.pilot is not None:
            return self
        every = rows * len(self.candidates) - on_file
        calls = _PILOT_SHARE * (every if self.max_calls is None else min(self.max_calls, every))
        if self.max_cost is not None and self.max_call_cost:
            calls = min(calls, _PILOT_SHARE * self.max_cost / self.max_call_cost)
        return replace(self, pilot=min(_MAX_PILOT, int(calls) // 2, rows))

    @property
    def has_limit(self) -> bool:
        """Whether the number or the cost of calls is limited."""
        return self.max_calls is not None or self.max_cost is not None

    def with_limits(
        self, max_calls: int | None = None, max_cost: float | None = None
    ) -> "RaceSettings":
        """Return a copy of the settings with other limits; parameters and errors as of `Race.set_limits`."""
        new_limits: dict[str, Any] = {"max_calls": max_calls, "max_cost": max_cost}
        limits = {name: new for name, new in new_limits.items() if new is not None}
        for name, new in limits.items():
            before = getattr(self, name)
            # Bets on random answers aim at the limit, so it may only move away.
            if self.answers != "fixed" and (before is None or new < before):
                limit_text = "no limit" if before is None else f"{before:g}"
                _reject(
                    name,
                    f"at least the present limit, which is {limit_text}, because answers may be "
                    "random",
                    new,
                    "a larger number, or leave it out",
                )
        return replace(self, **limits)

    @property
    def first_reading(self) -> Reading:
        """The reading before any answer; with answers="auto" a pilot may change it."""
        random = self.answers in ("random", "once")
        return self.reading or ("expected" if random else "recorded")

    def most_calls(self, rows: int) -> int:
        """Return the largest number of calls with random answers, pilot included.

        Without a limit it is that of asking every candidate once on every row; a tie would never
        end. With `max_cost` alone the cost is the limit, up to ten times as many calls.
        """
        if self.max_calls is not None:
            return self.max_calls
        calls = rows * len(self.candidates)
        if self.passes is not None:
            return self.passes * calls
        return calls if self.max_cost is None else _CALLS_WITHIN_COST * calls

    def rule(self, rows: int, reading: Reading | None = None, *, metrics: int = 1) -> Elimination:
        """Return a new elimination rule for a list of `rows` rows, by question and reading.

        metrics: number of metrics of a gate, which share the level of claims of "worse".
        """
        reading = reading or self.first_reading
        if self.answers == "once":
            return self._without_ties(OnceEach, rows)
        if self.passes is not None:
            return self._without_ties(partial(WholePasses, passes=self.passes), rows)
        if reading == "expected":
            return self._fresh_rule(rows)
        size = math.inf if reading == "beyond" else rows
        return self._rule_of(rows, size, self.level, metrics)

    def _fresh_rule(self, rows: int) -> Elimination:
        """Return the rule for rows drawn with replacement; its rows are rounds."""
        rounds = self.horizon or self._rounds(rows)
        is_best = self.question == "best" and self.baseline is None and self.top == 1
        is_strict = is_best and self.within == 0
        rule = (
            self._without_ties(Best, rounds)
            if is_strict
            else self._rule_of(rounds, math.inf, self.level)
        )
        # Calls are limited, not rounds: a limit may be raised.
        rule.never_end()
        return rule

    def _rounds(self, rows: int) -> int:
        """Return about how many rounds the calls suffice for, as candidates are dropped."""
        k = len(self.candidates)
        # Ranks keep almost all candidates to the end.
        per_round = k if self.question == "ranks" else (k + 2) / 2
        return max(1, int(self.most_calls(rows) / per_round))

    def _without_ties(self, rule: Callable[..., Elimination], rows: int) -> Elimination:
        """Return a rule at half of the level, which excludes ties (docs/theory/random_answers.md)."""
        strict = rule(len(self.candidates), rows, math.inf, self.level / 2)
        strict.excludes_ties = True
        return strict

    def _rule_of(self, rows: int, size: float, level: float, metrics: int = 1) -> Elimination:
        common = len(self.candidates), rows, size, level
        within = self.within / self.units.gap(1.0)
        if self.candidate is not None:
            return Place(*common, candidate=self.candidates.index(self.candidate))
        if self.question == "ranks":
            return Ranks(*common, top=self.top if self.top > 1 else 0)
        if self.baseline is not None:
            baseline = self.candidates.index(self.baseline)
            worse_level = level / metrics
            return Gate(*common, baseline=baseline, margin=within, worse_level=worse_level)
        if self.top > 1:
            return Top(*common, top=self.top)
        return Within(*common, within=within) if self.within > 0 else Best(*common)

    def to_json(self) -> dict[str, Any]:
        """Return the fields by name as JSON data."""
        data = {
            **asdict(self),
            "candidates": list(self.candidates),
            "range": list(self.range),
            "further": [metric._asdict() for metric in self.further],
        }
        # Files of races without further metrics stay as they were.
        return data if self.further else {key: data[key] for key in data if key != "further"}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "RaceSettings":
        """Return the settings from the output of `to_json`; ParameterError if invalid."""
        names = tuple(data["candidates"])
        # Files of earlier versions asked for "better" by the absence of a tolerance.
        better = data.get("baseline") is not None and not data.get("within")
        data = {"better": better, **data}
        further = tuple(
            FurtherMetric(**{**metric, "range": tuple(metric["range"])})
            for metric in data.get("further", ())
        )
        limits = tuple(data["range"])
        return cls(**{**data, "candidates": names, "range": limits, "further": further})


_Function = TypeVar("_Function", bound=Callable[..., Any])


def accepts_race_options(function: _Function) -> _Function:
    """Decorator: show the race options in the signature of a function, not **options."""
    known = signature(RaceSettings).parameters
    options = [
        known[name].replace(kind=known[name].KEYWORD_ONLY) for name in RaceOptions.__annotations__
    ]
    if "evaluate" in signature(function).parameters:
        # Its name states the direction by default.
        options = [
            parameter.replace(default=None) if parameter.name == "kind" else parameter
            for parameter in options
        ]
    own = [
        parameter
        for parameter in signature(function).parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    function.__signature__ = signature(function).replace(parameters=[*own, *options])  # type: ignore[attr-defined]
    return function


def distinct_names(what: str, names: Sequence[Any]) -> tuple[str, ...]:
    """Return names as strings; ParameterError unless distinct and not blank.

    what: the option that has them, for the error message.
    """
    _validate.not_text("race", what, names)
    words = tuple(str(name) for name in names)
    if not words or not all(word.strip() for word in words):
        _reject(
            what, "at least one name, and none empty", "none or an empty one", "a name for each"
        )
    if len(set(words)) < len(words):
        name, times = Counter(words).most_common(1)[0]
        _reject(what, "different names", f"{name!r} {times} times", "another name for one of them")
    return words


def hash_of_rows(rows: Sequence[str]) -> str:
    """Return the SHA-256 of the row names in the order of the list, in hexadecimal.

    >>> hash_of_rows(["a", "b"])[:8]
    'facdde7a'
    """
    digest = hashlib.sha256()
    for row in rows:
        # The length is a separator: ["ab"] and ["a", "b"] differ.
        digest.update(f"{len(row)}:{row}".encode())
    return digest.hexdigest()


def _reject(what: str, expected: str, value: Any, remedy: str) -> NoReturn:
    value_text = value if isinstance(value, str) else repr(value)
    raise ParameterError(f"Race: {what} must be {expected}, got {value_text}; write {remedy}.")
