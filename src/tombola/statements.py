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

from tombola._formatting import confidence_text, format_percent, join_names, plural

# What a claim is about: the recorded table, the mean of repeated answers, or rows like these.
Reading = Literal["recorded", "expected", "beyond"]
# exact: answered for certain. proved, refuted: answered at the level. undecided: all rows are used.
# stopped: a limit or a failure ended it. running: more answers may come.
Verdict = Literal["exact", "proved", "refuted", "undecided", "stopped", "running"]
# How the subject of a claim relates to the other candidates, or to a number.
Relation = Literal[
    "best", "among", "within", "better", "not better", "not worse", "worse",
    "rank", "order", "front", "tied", "holds", "fails", "not shuffled", "mean", "at most",
    "at least", "regret",
]  # fmt: skip

VERDICTS: tuple[Verdict, ...] = (
    "exact", "proved", "refuted", "undecided", "stopped", "running",
)  # fmt: skip
READINGS: tuple[Reading, ...] = ("recorded", "expected", "beyond")
# What a result is about, in short, where the number of rows stands elsewhere.
SCOPES: dict[Reading, str] = {
    "recorded": "on the answers recorded here",
    "expected": "in expectation over repeated answers, on these rows",
    "beyond": "for rows like these",
}

# Conditions of a claim, each a clause after the confidence.
RANDOM_PART = "if the rows answered are a random part of the list"
RANDOM_CLUSTERS = "if the clusters answered are a random part of all clusters"
# Rows that count in the order of the file: of a sorted one the first rows are no random part.
RANDOM_ORDER = "if the file lists its rows in random order"
RANDOM_CLUSTER_ORDER = "if the file lists its clusters in random order"
# Expected answers of finished runs: one seed or one trained model makes the rows of a run dependent.
INDEPENDENT_ANSWERS = "if answers to different rows are independent"
# The table is a sample, as its reader declares.
RANDOM_SAMPLE = "if the rows read are a random sample of the list"
RANDOM_STRATA = "if the rows read are a random sample of each stratum"
# A call that is made again is a second draw, and the answer that comes first is the faster one.
NO_SECOND_CALL = "if no call was made again because its answer was late"
# How often the data may be looked at.
ONE_LOOK = "for one look"
EVERY_LOOK = "however often you look"
# Remark on the reading of a race that was too short for a pilot.
UNCHECKED = "not checked whether answers change"
# Convention for equal means in claims about ranks (docs/theory/ranks.md).
FILE_ORDER = "candidates with equal means are placed as in the file"

# Names that a sentence spells out at most; the rest is counted. More make it hard to read.
_MAX_NAMES = 10
# Names of leaders in a sentence on more candidates than that.
_LEADERS = 3
# Significant digits of a bound.
_DIGITS = 4
# Characters of an open question: room for `_MAX_NAMES` long names, so that none is cut.
_MAX_TOPIC = 900
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

    recorded: the word for what a table has in its cells. noun: the word for one of the candidates.

    >>> Quantity("score", higher_is_better=True).difference_text(0.25)
    'mean score higher by 0.25'
    """

    word: str = "loss"
    higher_is_better: bool = False
    recorded: str = "answers"
    noun: str = "candidate"

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
    clusters  clusters of rows used as evidence; None without clusters
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
    clusters: int | None = None

    def __str__(self) -> str:
        """Return the counts as one clause.

        >>> print(Counts(rows=40, counted=12, calls=30, possible=80, saved=50))
        12 rows, 30 calls, 50 saved (62 %)
        >>> print(Counts(rows=40, counted=2, calls=8, answered=4, possible=80))
        2 rows, 4 of 80 calls answered, 8 issued
        """
        parts = [plural(self.counted, "row")]
        if self.clusters is not None:
            parts[0] += f" in {plural(self.clusters, 'cluster')}"
        if self.calls is not None:
            parts.append(self.calls_text)
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        if self.cost:
            parts.append(f"cost {self.cost:.6g}{self.cost_unit and f' {self.cost_unit}'}")
        if self.on_file:
            parts.append(f"{self.on_file:,} on file")
        if self.saved is not None and self.possible:
            parts.append(f"{self.saved:,} saved ({format_percent(self.saved / self.possible)})")
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
class Standing:
    """Observation about the leaders so far, without a guarantee.

    leaders   names of the best means so far; more than one if they are equal
    gap       distance to the next mean, in the user's unit
    is_final  whether all rows are counted, so that the gap is exact

    >>> Standing(("a",), 0.125).text(Quantity("score"))
    'where a leads by 0.125 in mean score'
    """

    leaders: tuple[str, ...]
    gap: float = 0.0
    is_final: bool = False

    def text(self, quantity: Quantity) -> str:
        """Return the observation as a clause."""
        if len(self.leaders) > 1:
            return f"where {_join(self.leaders)} are level"
        exactly = "exactly " if self.is_final else ""
        return f"where {self.leaders[0]} leads by {exactly}{self.gap:.3g} in mean {quantity.word}"


@dataclass(frozen=True)
class Conclusion:
    """One conclusion about candidates, or about a quantity. Numbers are in the user's unit.

    relation    how the subject relates to the others
    subject     names; for "holds" and "fails" the condition that was checked
    than        the candidate it is compared with, for comparisons of two
    field       number of candidates in all
    top         number of candidates asked for: the best `top`, the first `top` in order; for
                "front" the number of metrics
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


def largest_cluster_text(rows: int) -> str:
    """Return the condition of a claim beyond this list that depends on the size of clusters.

    >>> largest_cluster_text(3)
    'if no cluster has more than 3 rows'
    """
    return f"if no cluster has more than {plural(rows, 'row')}"


def bound_text(bound: float, *, up: bool) -> str:
    """Format a bound with four significant digits, rounded away from the claim.

    up: whether it is an upper bound.

    >>> bound_text(0.12341, up=True), bound_text(0.12349, up=False), bound_text(0.25, up=True)
    ('0.1235', '0.1234', '0.25')
    """
    nearest = float(f"{bound:.{_DIGITS}g}")
    # The rounding of a sum is no reason to move the last digit.
    tolerance = _ROUNDING * max(1.0, abs(bound))
    if bound and (bound > nearest + tolerance if up else bound < nearest - tolerance):
        step = 10.0 ** (math.floor(math.log10(abs(bound))) + 1 - _DIGITS)
        nearest += step if up else -step
    return f"{nearest:.{_DIGITS}g}"


_COMPARISONS = ("better", "not better", "not worse", "worse")
# Relations that place equal means in the order of the file.
_RANKINGS = ("rank", "order")


def _best_text(conclusion: Conclusion, quantity: Quantity) -> str:
    candidates = plural(conclusion.field, quantity.noun)
    equal = "" if conclusion.strict else " (another may be equal)"
    if conclusion.top > 1:
        return f"{_join(conclusion.subject)} are the best {conclusion.top} of {candidates}{equal}"
    return f"{_join(conclusion.subject)} is the best of {candidates}{equal}"


def _among_text(conclusion: Conclusion, quantity: Quantity) -> str:
    best = f"the best {conclusion.top}" if conclusion.top > 1 else "the best"
    verb = "are" if conclusion.top > 1 else "is"
    left = len(conclusion.subject)
    names = _join(conclusion.subject)
    if left > _MAX_NAMES:
        # Leaders come first; more names would hide how many there are.
        names = join_names(conclusion.subject, limit=_LEADERS)
        names += f" ({left:,} of {conclusion.field:,} are left, {conclusion.field - left:,} out)"
    return f"{best} of {plural(conclusion.field, quantity.noun)} {verb} among {names}"


def _within_text(conclusion: Conclusion, quantity: Quantity) -> str:
    return (
        f"{_join(conclusion.subject)} is within {bound_text(conclusion.amount, up=True)} of the "
        f"best of {plural(conclusion.field, quantity.noun)}"
    )


def _comparison_text(conclusion: Conclusion, _: Quantity) -> str:
    margin = f" by more than {conclusion.amount:g}" if conclusion.amount else ""
    return f"{_join(conclusion.subject)} is {conclusion.relation} than {conclusion.than}{margin}"


def _rank_text(conclusion: Conclusion, quantity: Quantity) -> str:
    first, last = conclusion.interval or (1, conclusion.field)
    ranks = f"rank {first:g}" if first == last else f"a rank from {first:g} to {last:g}"
    return f"{_join(conclusion.subject)} has {ranks} of {plural(conclusion.field, quantity.noun)}"


def _order_text(conclusion: Conclusion, quantity: Quantity) -> str:
    candidates = plural(conclusion.field, quantity.noun)
    names = _join(conclusion.subject)
    if conclusion.top >= conclusion.field:
        return f"the order of {candidates} is {names}"
    return f"the first {conclusion.top} of {candidates} in order are {names}"


def _front_text(conclusion: Conclusion, quantity: Quantity) -> str:
    return (
        f"the Pareto front of {plural(conclusion.field, quantity.noun)} in "
        f"{plural(conclusion.top, 'metric')} is among {_join(conclusion.subject)}"
    )


def _tied_text(conclusion: Conclusion, quantity: Quantity) -> str:
    behind = f", behind {conclusion.than}" if conclusion.than else ""
    return f"{_join(conclusion.subject)} have the same mean {quantity.word}{behind}"


def _mean_text(conclusion: Conclusion, quantity: Quantity) -> str:
    low, high = conclusion.interval or (-math.inf, math.inf)
    value = f"{low:.{_DIGITS}g}"
    if high - low > _ROUNDING:
        value = f"from {bound_text(low, up=False)} to {bound_text(high, up=True)}"
    return f"the mean {quantity.word} of {_join(conclusion.subject)} is {value}"


def _bound_text(conclusion: Conclusion, quantity: Quantity) -> str:
    number = bound_text(conclusion.amount, up=conclusion.relation == "at most")
    return (
        f"the mean {quantity.word} of {_join(conclusion.subject)} is {conclusion.relation} {number}"
    )


_TEXTS = {
    "best": _best_text,
    "among": _among_text,
    "within": _within_text,
    **dict.fromkeys(_COMPARISONS, _comparison_text),
    "rank": _rank_text,
    "order": _order_text,
    "front": _front_text,
    "tied": _tied_text,
    "holds": lambda conclusion, _: f"{_join(conclusion.subject)} holds",
    "fails": lambda conclusion, _: f"{_join(conclusion.subject)} does not hold",
    "not shuffled": lambda conclusion, _: (
        f"the rows are not in random order: column {_join(conclusion.subject)} shows it"
    ),
    "mean": _mean_text,
    "regret": lambda conclusion, _: (
        f"the regret of {_join(conclusion.subject)} is at most "
        f"{bound_text(conclusion.amount, up=True)}"
    ),
    "at most": _bound_text,
    "at least": _bound_text,
}


@dataclass(frozen=True)
class Statement:
    """What a result claims: conclusions, reading, verdict, level, counts and condition.

    verdict      exact, proved, refuted, undecided, stopped or running
    reading      recorded, expected or beyond
    conclusions  what is established, at `level`; empty if nothing is
    questions    what is open, as conclusions that would answer it; their subject is every
                 candidate that may be the answer
    level        probability that any conclusion is wrong, at most; 0: they are certain
    quantity     word and direction of the numbers
    counts       rows and calls
    subject      part that it is about, such as the name of a group; "" for everything
    standing     who leads so far, without a guarantee; None: nobody
    condition    assumption that the conclusions need beyond the random order; a clause
    reason       why it stopped; a clause
    remark       remark on the reading, in brackets after it; a clause
    parts        statements about parts, such as groups; the level is for all of them together
    parts_title  word for a part, such as the column of the groups
    rows_text    words for the rows that it is about, if not all, such as "the 40 rows left"

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
    standing: Standing | None = None
    condition: str = ""
    reason: str = ""
    remark: str = ""
    parts: tuple["Statement", ...] = ()
    parts_title: str = "group"
    rows_text: str = ""

    @property
    def overall(self) -> Verdict:
        """The verdict on all parts together: the first of refuted, running, stopped, undecided.

        If none of them applies, it is exact if every part is, and else proved.
        """
        verdicts = {self.verdict, *(part.overall for part in self.parts)}
        worst_first: tuple[Verdict, ...] = ("refuted", "running", "stopped", "undecided", "proved")
        return next((verdict for verdict in worst_first if verdict in verdicts), "exact")

    @property
    def is_claimed(self) -> bool:
        """Whether there is any conclusion, about everything or about a part.

        >>> Statement("running", "recorded").is_claimed
        False
        """
        return any(part.conclusions for part in (self, *self.parts))

    @property
    def is_certain(self) -> bool:
        """Whether no outcome could make a conclusion wrong; False without conclusions."""
        claiming = [part for part in (self, *self.parts) if part.conclusions]
        return bool(claiming) and all(part.level == 0.0 for part in claiming)

    @property
    def exit_status(self) -> int:
        """Exit status of a command: 0 answered, 1 refuted, 3 open; 2 is bad input."""
        return _EXIT_STATUS[self.overall]

    @property
    def scope(self) -> str:
        """What the conclusions are about, as a clause: the reading and the rows."""
        rows = "this row" if self.counts.rows == 1 else f"these {self.counts.rows:,} rows"
        rows = self.rows_text or rows
        scope = {
            "recorded": f"on the {self.quantity.recorded} recorded here for {rows}",
            "expected": f"in expectation over repeated answers, on {rows}",
            "beyond": "for rows like these",
        }[self.reading]
        return f"{scope} ({self.remark})" if self.remark else scope

    @property
    def confidence(self) -> str:
        """How sure the conclusions are, as a clause; "" without any."""
        if not self.conclusions:
            return ""
        if self.level > 0.0:
            return f"with probability {confidence_text(self.level)} or more"
        known = self.counts.counted == self.counts.rows
        return (
            "for certain: "
            f"{'the whole table is known' if known else 'the other rows cannot change it'}"
        )

    @property
    def error_text(self) -> str:
        """The probability of a wrong conclusion in a few words, for a card.

        >>> Statement("running", "recorded").error_text
        'nothing is claimed'
        """
        claiming = [part for part in (self, *self.parts) if part.conclusions]
        if not claiming:
            return "nothing is claimed"
        if self.is_certain:
            return "0: certain"
        return f"at most {bound_text(max(part.level for part in claiming), up=True)}"

    @property
    def short(self) -> str:
        """The answer in a few words, without reading, confidence and counts."""
        texts = [_short(conclusion) for conclusion in self.conclusions]
        if self.verdict in ("exact", "proved"):
            return "; ".join(texts)
        if self.questions or not texts:
            # Names in the order of the file, each once.
            names = dict.fromkeys(name for question in self.questions for name in question.subject)
            word = "open" if self.verdict == "running" else "undecided"
            texts.append(f"{word}: {_join(list(names), ' or ')}" if names else word)
        return "; ".join(texts)

    @property
    def heading(self) -> str:
        """Title of a page: the answer, or the state of the work."""
        state = {"running": "In progress", "stopped": "Stopped, undecided"}
        if any(item.relation == "rank" for item in self.conclusions) and self.verdict not in state:
            return self._ranks_heading
        if self.verdict in ("exact", "proved", "refuted"):
            first = self.conclusions[0]
            names = join_names(first.subject, limit=3)
            title = {
                "best": f"The best: {names}",
                "within": f"Within {bound_text(first.amount, up=True)} of the best: {names}",
                "order": f"In order: {names}",
            }.get(
                first.relation,
                join_names([_short(conclusion) for conclusion in self.conclusions], limit=3),
            )
            if self.overall == self.verdict or self.overall in ("exact", "proved"):
                return title
            words = {"refuted": "refuted in part", "running": "parts in progress"}
            return f"{title}; {words.get(self.overall, 'parts undecided')}"
        return state.get(self.verdict, "Undecided")

    @property
    def _ranks_heading(self) -> str:
        """Who may have rank 1."""
        rank_sets = [
            item for item in (*self.conclusions, *self.questions) if item.relation == "rank"
        ]
        rank_sets.sort(key=lambda item: item.interval or (1, 1))
        leaders = [
            name
            for item in rank_sets
            for name in item.subject
            if item.interval is None or item.interval[0] == 1
        ]
        names = join_names(leaders, limit=3)
        if len(leaders) == 1:
            return f"{names} has rank 1"
        return f"{plural(len(leaders), self.quantity.noun)} may have rank 1: {names}"

    @property
    def caption(self) -> str:
        """The statement without its conclusions, for the caption of a table that lists them.

        >>> ranks = Conclusion("rank", ("a",), field=2, interval=(1, 1), strict=True)
        >>> Statement("proved", "beyond", (ranks,), counts=Counts(rows=9, counted=9)).caption
        'All rank sets hold for rows like these, with probability 0.95 or more; 9 rows.'
        """
        words = {"rank": "All rank sets hold", "mean": "All intervals hold"}
        if not self.conclusions:
            return self.full
        held = words.get(self.conclusions[0].relation, "All conclusions hold")
        tail = ", ".join(filter(None, [self.confidence, self.condition]))
        counts = self.counts
        # The scope has the number of rows, if all of them were used.
        is_doubled = self.reading != "beyond" and counts == Counts(counts.rows, counts.rows)
        end = "." if is_doubled else f"; {counts}."
        return f"{held} {self.scope}{self._convention}, {tail}{end}"

    @property
    def full(self) -> str:
        """The statement as a sentence: a capital unless it starts with a name, and a full stop.

        >>> Statement("proved", "beyond", (Conclusion("best", ("b",), field=2),)).full
        'b is the best of 2 candidates (another may be equal) for rows like these, ...; 0 rows.'
        >>> Statement("running", "recorded").full
        'Open: nothing is proved yet; 0 rows.'
        """
        text = str(self)
        name = _join(self.conclusions[0].subject) if self.conclusions else ""
        if name and text.startswith(name):
            return f"{text}."
        return f"{text[:1].upper()}{text[1:]}."

    @property
    def _convention(self) -> str:
        """How equal means are placed in claims about ranks; "" for others."""
        ranks = any(
            conclusion.relation in _RANKINGS and not conclusion.strict
            for conclusion in self.conclusions
        )
        return f" ({FILE_ORDER})" if ranks else ""

    @property
    def sentence(self) -> str:
        """Conclusions, reading and confidence, without the parts and the counts."""
        observed = "" if self.standing is None else self.standing.text(self.quantity)
        if self.standing is not None and self.counts.on_file and not self.standing.is_final:
            # Means on a page are over all answers, those on file, too.
            observed += " on the rows counted"
        clauses = []
        if self.conclusions:
            tail = filter(None, [self.confidence, self.condition, observed])
            clauses.append(
                f"{self._conclusions_text} {self.scope}{self._convention}, {', '.join(tail)}"
            )
        if self.questions:
            # What is proved may be about the best one, too: only which one it is is open then.
            which = "which of {} is the best" if self.conclusions else ""
            topics = [_topic(question, self.quantity, which) for question in self.questions]
            topic_text = join_names(topics, limit=_MAX_NAMES, length=_MAX_TOPIC, last=" or ")
            yet = " yet" if self.verdict == "running" else ""
            text = f"nothing is proved{yet} about {topic_text}"
            if not self.conclusions:
                text += f" {self.scope}"
                text += f", {observed}" if observed else ""
            clauses.append(text)
        if not clauses:
            clauses.append(f"nothing is proved{' yet' if self.verdict == 'running' else ''}")
        text = "; ".join(clauses)
        return text if self._prefix == "" else f"{self._prefix}: {text}"

    @property
    def _conclusions_text(self) -> str:
        if len(self.conclusions) > 1 and self.conclusions[0].relation == "rank":
            sets = [
                f"{rank_text(conclusion.interval or (1, conclusion.field))} {_join(conclusion.subject)}"
                for conclusion in self.conclusions
            ]
            field_text = plural(self.conclusions[0].field, self.quantity.noun)
            return f"the ranks of {field_text} that are still possible are {_join(sets)}"
        return ", ".join(conclusion.text(self.quantity) for conclusion in self.conclusions)

    @property
    def _prefix(self) -> str:
        if self.verdict == "stopped":
            return f"stopped {self.reason}" if self.reason else "stopped"
        return {"running": "open", "undecided": "undecided"}.get(self.verdict, "")

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
            sure = ", for certain"
            if not self.is_certain:
                level = max(part.level for part in claiming)
                sure = f", all with probability {confidence_text(level)} or more"
        return f"by {self.parts_title}{sure}: {'; '.join(texts)}"

    def to_json(self) -> dict[str, Any]:
        """Return the statement as JSON data: its fields, its texts and "overall".

        >>> Statement("running", "recorded").to_json()["text"]
        'open: nothing is proved yet; 0 rows'
        """
        data = asdict(self)
        data["conclusions"] = [_conclusion_json(conclusion) for conclusion in self.conclusions]
        data["questions"] = [_conclusion_json(conclusion) for conclusion in self.questions]
        data["parts"] = [part.to_json() for part in self.parts]
        if self.standing is not None:
            data["standing"]["leaders"] = list(self.standing.leaders)
        words = {"text": str(self), "short": self.short, "heading": self.heading}
        return {**words, "overall": self.overall, **data}


def _conclusion_json(conclusion: Conclusion) -> dict[str, Any]:
    data = asdict(conclusion)
    data["subject"] = list(conclusion.subject)
    data["interval"] = None if conclusion.interval is None else list(conclusion.interval)
    return data


def _topic(question: Conclusion, quantity: Quantity, which: str = "") -> str:
    """Return an open question as a noun phrase.

    which: other words for the question of the best one, with {} for the candidates; "": the usual.
    """
    candidates = plural(question.field, quantity.noun)
    if which and question.relation == "best" and question.top == 1:
        return which.format(candidates)
    if question.relation in ("best", "within"):
        best = f"the best {question.top}" if question.top > 1 else "the best"
        return f"{best} of {candidates}"
    if question.relation == "rank":
        return f"the rank of {_join(question.subject)} among {candidates}"
    if question.relation == "mean":
        return (
            f"the mean {quantity.word} of {_join(question.subject)} to within "
            f"{question.amount:.{_DIGITS}g}"
        )
    if question.relation == "not shuffled":
        return "the order of the rows"
    if question.relation == "order":
        part = "the order" if question.top >= question.field else f"the first {question.top}"
        return f"{part} of {candidates}"
    return f"whether {question.text(quantity)}"


def _short(conclusion: Conclusion) -> str:
    names = _join(conclusion.subject)
    if conclusion.relation in ("best", "within", "order"):
        return names
    if conclusion.relation == "among":
        return f"open: {_join(conclusion.subject, ' or ')}"
    if conclusion.relation == "tied":
        return f"tie: {names}"
    if conclusion.relation == "front":
        return f"on the front: {names} or fewer"
    if conclusion.relation == "not shuffled":
        return f"not in random order: {names}"
    if conclusion.relation == "rank" and conclusion.interval is not None:
        return f"{names}: rank {rank_text(conclusion.interval)}"
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
