"""Statements: what a result claims, and the only place that writes the sentence.

A race, gate, ranking, audit, certificate, session or router fills in a `Statement`. Terminal, page,
card, JSON and service show `str(statement)`, `statement.short` and `statement.to_json()`, and write
no words of their own about what is proved.

The words follow what the theorems permit (docs/theory/statements.md):

* Reading. "on the answers recorded here" is about one table of answers, "in expectation over
  repeated answers" about the mean of repeated calls on the same rows, "for rows like these" about
  the source of the rows.
* Strictness. "better" is used only where the bet is against a tie too. Else "not worse", and "the
  best" adds that another may be equal.
* Certainty. A level of 0 means that no outcome of the other rows could change the conclusion. Every
  other claim has its probability beside it.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from tombola._formatting import join_names, plural

# What a claim is about: the recorded table, the mean of repeated answers, or rows like these.
Reading = Literal["recorded", "expected", "beyond"]
# exact: answered for certain. proved, refuted: answered at the level. undecided: all rows are used.
# stopped: a limit or a failure ended it. running: more answers may come.
Verdict = Literal["exact", "proved", "refuted", "undecided", "stopped", "running"]
# How the subject of a claim relates to the other candidates, or to a number.
Relation = Literal[
    "best", "among", "within", "better", "not better", "not worse", "worse",
    "rank", "order", "tied", "holds", "fails", "mean", "at most", "at least",
]  # fmt: skip

VERDICTS: tuple[Verdict, ...] = (
    "exact", "proved", "refuted", "undecided", "stopped", "running",
)  # fmt: skip
READINGS: tuple[Reading, ...] = ("recorded", "expected", "beyond")

# Conditions of a claim, each a clause after the confidence.
RANDOM_PART = "if the rows answered are a random part of the list"
RANDOM_CLUSTERS = "if the clusters answered are a random part of all clusters"
# Convention for equal means in claims about ranks (docs/theory/ranks.md).
FILE_ORDER = "candidates with equal means are placed as in the file"

# Names that a sentence spells out at most; the rest is counted. More make it hard to read.
_MAX_NAMES = 10
# Parts, such as groups, that a sentence spells out at most.
_MAX_PARTS = 12
# Difference of means below which two are called the same: the rounding of a sum.
_ROUNDING = 1e-9
# Exit status of a command by verdict: 0 answered, 1 refuted, 3 open.
_EXIT_STATUS: dict[Verdict, int] = {
    "exact": 0, "proved": 0, "refuted": 1, "undecided": 3, "stopped": 3, "running": 3,
}  # fmt: skip


@dataclass(frozen=True)
class Quantity:
    """The quantity that a claim is about: its word, and which direction is better.

    >>> Quantity("score", higher_is_better=True).difference_text(0.25)
    'mean score higher by 0.25'
    """

    word: str = "loss"
    higher_is_better: bool = False

    def difference_text(self, advantage: float) -> str:
        """Return the difference of two means as text; `advantage` above 0 is better."""
        if abs(advantage) <= _ROUNDING:
            return f"the same mean {self.word}"
        more = "higher" if (advantage > 0) == self.higher_is_better else "lower"
        return f"mean {self.word} {more} by {abs(advantage):.3g}"


@dataclass(frozen=True)
class Counts:
    """Rows and calls behind a conclusion.

    rows      number of rows of the list, or of the group
    counted   rows used as evidence
    calls     calls made, answered or not; None where nothing is called
    answered  calls answered; None: all of them
    failed    calls that failed; they are answered, too
    on_file   answers known before the first call
    possible  calls that asking every candidate on every row would make
    saved     calls that are not needed any more; None while the question is open
    cost      cost of the calls, in `cost_unit`
    """

    rows: int = 0
    counted: int = 0
    calls: int | None = None
    answered: int | None = None
    failed: int = 0
    on_file: int = 0
    possible: int = 0
    saved: int | None = None
    cost: float = 0.0
    cost_unit: str = ""

    def __str__(self) -> str:
        """Return the counts as one clause.

        >>> print(Counts(rows=40, counted=12, calls=30, possible=80, saved=50))
        12 rows, 30 calls, 50 saved (62%)
        >>> print(Counts(rows=40, counted=2, calls=8, answered=4, possible=80))
        2 rows, 4 of 80 calls answered, 8 issued
        """
        parts = [plural(self.counted, "row")]
        if self.calls is not None:
            parts.append(self.calls_text)
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        if self.cost:
            parts.append(f"cost {self.cost:.6g}{self.cost_unit and f' {self.cost_unit}'}")
        if self.on_file:
            parts.append(f"{self.on_file:,} on file")
        if self.saved is not None and self.possible:
            parts.append(f"{self.saved:,} saved ({self.saved / self.possible:.0%})")
        return ", ".join(parts)

    @property
    def calls_text(self) -> str:
        """The number of calls as text; "" where nothing is called."""
        if self.calls is None:
            return ""
        answered = self.calls if self.answered is None else self.answered
        if self.saved is not None:
            missing = self.calls - answered
            return plural(self.calls, "call") + (
                f" ({missing:,} without an answer)" if missing else ""
            )
        total = plural(self.possible, "call")
        if answered == self.calls:
            return f"{self.calls:,} of {total}"
        return f"{answered:,} of {total} answered, {self.calls:,} issued"


@dataclass(frozen=True)
class Conclusion:
    """One conclusion about candidates, or about a quantity. Numbers are in the user's unit.

    relation    how the subject relates to the others
    subject     names; for "holds" and "fails" the condition that was checked
    than        the candidate it is compared with, for comparisons of two
    field       number of candidates in all
    top         number of candidates asked for: the best `top`, the first `top` in order
    amount      margin of a comparison, or the number of "at most" and "at least"
    interval    first and last rank, or lowest and highest mean
    advantage   mean advantage of the subject so far; above 0 is better. None: not measured
    rows        rows that the advantage is over
    strict      whether ties are excluded; only for "best", "rank" and "order"
    """

    relation: Relation
    subject: tuple[str, ...]
    than: str = ""
    field: int = 0
    top: int = 1
    amount: float = 0.0
    interval: tuple[float, float] | None = None
    advantage: float | None = None
    rows: int = 0
    strict: bool = False

    def text(self, quantity: Quantity) -> str:
        """Return the claim as a clause, without scope and confidence.

        >>> Conclusion("not worse", ("new",), than="old", amount=0.01).text(Quantity())
        'new is not worse than old by more than 0.01'
        >>> Conclusion("best", ("a",), field=3).text(Quantity())
        'a is the best of 3 candidates (another may be equal)'
        >>> Conclusion("rank", ("b",), field=4, interval=(2, 3)).text(Quantity())
        'b has a rank from 2 to 3 of 4 candidates'
        """
        text = _TEXTS[self.relation](self, quantity)
        if self.advantage is None:
            return text
        return f"{text} ({quantity.difference_text(self.advantage)} on {plural(self.rows, 'row')})"


_COMPARISONS = ("better", "not better", "not worse", "worse")


def _best_text(conclusion: Conclusion, _: Quantity) -> str:
    candidates = plural(conclusion.field, "candidate")
    equal = "" if conclusion.strict else " (another may be equal)"
    if conclusion.top > 1:
        return f"{_join(conclusion.subject)} are the best {conclusion.top} of {candidates}{equal}"
    return f"{_join(conclusion.subject)} is the best of {candidates}{equal}"


def _among_text(conclusion: Conclusion, _: Quantity) -> str:
    best = f"the best {conclusion.top}" if conclusion.top > 1 else "the best"
    return f"{best} of {plural(conclusion.field, 'candidate')} is among {_join(conclusion.subject)}"


def _within_text(conclusion: Conclusion, _: Quantity) -> str:
    return (
        f"{_join(conclusion.subject)} is within {conclusion.amount:g} of the best of "
        f"{plural(conclusion.field, 'candidate')}"
    )


def _comparison_text(conclusion: Conclusion, _: Quantity) -> str:
    margin = f" by more than {conclusion.amount:g}" if conclusion.amount else ""
    return f"{_join(conclusion.subject)} is {conclusion.relation} than {conclusion.than}{margin}"


def _rank_text(conclusion: Conclusion, _: Quantity) -> str:
    first, last = conclusion.interval or (1, conclusion.field)
    ranks = f"rank {first:g}" if first == last else f"a rank from {first:g} to {last:g}"
    return f"{_join(conclusion.subject)} has {ranks} of {plural(conclusion.field, 'candidate')}"


def _order_text(conclusion: Conclusion, _: Quantity) -> str:
    part = (
        "the order"
        if conclusion.top >= conclusion.field
        else f"the first {conclusion.top} in order"
    )
    return f"{part} of {plural(conclusion.field, 'candidate')} is {_join(conclusion.subject)}"


def _tied_text(conclusion: Conclusion, quantity: Quantity) -> str:
    behind = f", behind {conclusion.than}" if conclusion.than else ""
    return f"{_join(conclusion.subject)} have the same mean {quantity.word} on all rows{behind}"


def _mean_text(conclusion: Conclusion, quantity: Quantity) -> str:
    low, high = conclusion.interval or (-math.inf, math.inf)
    value = f"{low:.4g}" if low == high else f"from {low:.4g} to {high:.4g}"
    return f"the mean {quantity.word} of {_join(conclusion.subject)} is {value}"


def _bound_text(conclusion: Conclusion, quantity: Quantity) -> str:
    return f"the mean {quantity.word} of {_join(conclusion.subject)} is {conclusion.relation} {conclusion.amount:.4g}"


_TEXTS = {
    "best": _best_text,
    "among": _among_text,
    "within": _within_text,
    **dict.fromkeys(_COMPARISONS, _comparison_text),
    "rank": _rank_text,
    "order": _order_text,
    "tied": _tied_text,
    "holds": lambda conclusion, _: f"{_join(conclusion.subject)} holds",
    "fails": lambda conclusion, _: f"{_join(conclusion.subject)} does not hold",
    "mean": _mean_text,
    "at most": _bound_text,
    "at least": _bound_text,
}


@dataclass(frozen=True)
class Statement:
    """What a result claims: conclusions, reading, verdict, level, counts and condition.

    verdict     exact, proved, refuted, undecided, stopped or running
    reading     recorded, expected or beyond
    conclusions what is established, at `level`; empty if nothing is
    questions   what is still open, as the claims that would answer it
    level       probability that any claim is wrong, at most; 0: the claims are certain
    quantity    word and direction of the numbers
    counts      rows and calls
    subject     part that it is about, such as the name of a group; "" for everything
    standing    observation without a guarantee, such as who leads; a clause
    condition   assumption that the claims need beyond the random order; a clause
    reason      why it stopped; a clause
    parts       statements about parts, such as groups; the level is for all of them together
    parts_title word for a part, such as the column of the groups

    >>> statement = Statement(
    ...     "proved", "recorded", (Conclusion("better", ("new",), than="old", advantage=0.1, rows=30),),
    ...     level=0.05, counts=Counts(rows=100, counted=30))
    >>> print(statement)
    new is better than old (mean loss lower by 0.1 on 30 rows) on the answers recorded here for
    these 100 rows, with probability 0.95 or more; 30 rows
    >>> statement.short, statement.exit_status
    ('new is better than old', 0)
    """

    verdict: Verdict
    reading: Reading
    conclusions: tuple[Conclusion, ...] = ()
    questions: tuple[Conclusion, ...] = ()
    level: float = 0.05
    quantity: Quantity = field(default_factory=Quantity)
    counts: Counts = field(default_factory=Counts)
    subject: str = ""
    standing: str = ""
    condition: str = ""
    reason: str = ""
    parts: tuple["Statement", ...] = ()
    parts_title: str = "group"

    @property
    def is_certain(self) -> bool:
        """Whether no outcome could make a claim wrong; False if nothing is claimed."""
        return bool(self.conclusions) and self.level == 0.0

    @property
    def exit_status(self) -> int:
        """Exit status of a command: 0 answered, 1 refuted, 3 open; 2 is bad input."""
        return _EXIT_STATUS[self.verdict]

    @property
    def scope(self) -> str:
        """What the claims are about, as a clause: the reading and the rows."""
        rows = "this row" if self.counts.rows == 1 else f"these {self.counts.rows:,} rows"
        return {
            "recorded": f"on the answers recorded here for {rows}",
            "expected": f"in expectation over repeated answers, on {rows}",
            "beyond": "for rows like these",
        }[self.reading]

    @property
    def confidence(self) -> str:
        """How sure the claims are, as a clause; "" if nothing is claimed."""
        if not self.conclusions:
            return ""
        if self.level > 0.0:
            return f"with probability {1.0 - self.level:.4g} or more"
        known = self.counts.counted == self.counts.rows
        return (
            "for certain: "
            f"{'the whole table is known' if known else 'the other rows cannot change it'}"
        )

    @property
    def error_text(self) -> str:
        """The probability of a wrong claim in a few words, for a card.

        >>> Statement("running", "recorded").error_text
        'nothing is claimed'
        """
        if not self.conclusions and not any(part.conclusions for part in self.parts):
            return "nothing is claimed"
        if all(part.level == 0.0 for part in (self, *self.parts) if part.conclusions):
            return "0: certain"
        level = max(part.level for part in (self, *self.parts) if part.conclusions)
        return f"{level:g} or less"

    @property
    def short(self) -> str:
        """The answer in a few words, without reading, confidence and counts."""
        if self.verdict in ("exact", "proved", "refuted") or (
            self.conclusions and not self.questions
        ):
            return "; ".join(_short(conclusion) for conclusion in self.conclusions)
        names = _join(
            sorted({name for conclusion in self.questions for name in conclusion.subject}), " or "
        )
        prefix = {"running": "open", "stopped": "stopped"}.get(self.verdict, "undecided")
        return f"{prefix}: {names}" if self.questions else prefix

    @property
    def sentence(self) -> str:
        """Claims, reading and confidence, without the parts and the counts."""
        texts = [conclusion.text(self.quantity) for conclusion in self.conclusions]
        tail = ", ".join(filter(None, [self.confidence, self.condition, self.standing]))
        if texts:
            ranks = any(c.relation in ("rank", "order") and not c.strict for c in self.conclusions)
            convention = f" ({FILE_ORDER})" if ranks else ""
            claimed = f"{', '.join(texts)} {self.scope}{convention}, {tail}"
        else:
            claimed = f"nothing is proved{' yet' * (self.verdict == 'running')}"
            if self.standing:
                claimed += f", {self.standing}"
        if self.verdict in ("exact", "proved", "refuted"):
            return claimed
        open_text = ""
        if self.questions:
            asked = join_names(
                [conclusion.text(self.quantity) for conclusion in self.questions],
                limit=_MAX_NAMES, length=200, last=" or ",
            )  # fmt: skip
            open_text = f"; open is whether {asked}"
            if not texts:
                open_text += f" {self.scope}"
        return f"{self._prefix}: {claimed}{open_text}"

    @property
    def _prefix(self) -> str:
        if self.verdict == "stopped":
            return f"stopped, {self.reason}" if self.reason else "stopped"
        return "open" if self.verdict == "running" else "undecided"

    def __str__(self) -> str:
        clauses = [self.sentence, self._parts_text, str(self.counts)]
        return "; ".join(filter(None, clauses))

    @property
    def _parts_text(self) -> str:
        if not self.parts:
            return ""
        texts = [f"{part.subject}: {part.short}" for part in self.parts[:_MAX_PARTS]]
        if len(self.parts) > _MAX_PARTS:
            texts.append(f"{len(self.parts) - _MAX_PARTS} more")
        claiming = [part for part in (self, *self.parts) if part.conclusions]
        sure = ""
        if any(part.conclusions for part in self.parts):
            certain = all(part.level == 0.0 for part in claiming)
            level = max(part.level for part in claiming)
            sure = (
                ", for certain" if certain else f", all with probability {1.0 - level:.4g} or more"
            )
        return f"by {self.parts_title}{sure}: {'; '.join(texts)}"

    def to_json(self) -> dict[str, Any]:
        """Return the statement as JSON data: its fields, and "text" and "short".

        >>> Statement("running", "recorded").to_json()["text"]
        'open: nothing is proved yet; 0 rows'
        """
        data = asdict(self)
        data["conclusions"] = [_conclusion_json(conclusion) for conclusion in self.conclusions]
        data["questions"] = [_conclusion_json(conclusion) for conclusion in self.questions]
        data["parts"] = [part.to_json() for part in self.parts]
        return {"text": str(self), "short": self.short, **data}


def _conclusion_json(conclusion: Conclusion) -> dict[str, Any]:
    data = asdict(conclusion)
    data["subject"] = list(conclusion.subject)
    data["interval"] = None if conclusion.interval is None else list(conclusion.interval)
    return data


def _short(conclusion: Conclusion) -> str:
    if conclusion.relation in ("best", "within", "order"):
        return _join(conclusion.subject)
    if conclusion.relation == "tied":
        return f"tie: {_join(conclusion.subject)}"
    if conclusion.relation == "rank" and conclusion.interval is not None:
        return f"rank {rank_text(conclusion.interval)}"
    if conclusion.relation in _COMPARISONS:
        return _comparison_text(conclusion, Quantity())
    return conclusion.text(Quantity())


def rank_text(ranks: Sequence[float]) -> str:
    """Return the ranks that a candidate may have as text.

    >>> rank_text((2, 2)), rank_text((2, 5))
    ('2', '2 to 5')
    """
    first, last = ranks
    return f"{first:g}" if first == last else f"{first:g} to {last:g}"


def _join(names: Sequence[str], last: str = " and ") -> str:
    return join_names(names, limit=_MAX_NAMES, last=last) or "none"
