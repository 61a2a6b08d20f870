"""Result of a gate: verdict, difference with its interval, and rows that differ."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tombola._formatting import (
    HtmlTable,
    forecast_text,
    html_block,
    join_names,
    plural,
    short_repr,
    truncate,
)
from tombola.statements import SCOPES, Conclusion, Counts, Quantity, Reading, Relation, Statement
from tombola.units import Units

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Verdict of one comparison; that of an exact statement is "exact" instead of "proved".
Verdict = Literal["proved", "refuted", "undecided"]
# Words that a gate prints for the verdicts of JSON.
TAGS: dict[Verdict, str] = {"proved": "PASSED", "refuted": "WORSE", "undecided": "UNDECIDED"}
# Note on two versions that do not differ anywhere.
SAME_SCORES = "the same scores everywhere can also mean that one version ran twice"
# Letters of a subject that a sentence shows, and of the name of its version at least.
_MAX_SUBJECT = 60
_MIN_NAME = 20
# Letters of the first column of text; longer names push their own line to the right.
_MAX_HEAD = 30
# Rows that a sentence lists; the page and the JSON have more.
_MAX_LISTED = 3
# Rows that differ most, in JSON and on the page.
MAX_ROWS = 20


class DifferingRow(NamedTuple):
    """A row on which two versions differ: its id, and the scores of both."""

    row: str
    old: float
    new: float


@dataclass(frozen=True)
class Comparison:
    """One new version against the old one, by one metric, on all rows or one group.

    within: allowed loss in the unit of the metric; None asks for a strictly better version.
    old_mean, new_mean: over the rows that both have, in the unit of the metric.
    low, high: bounds of the gain, in the unit of the metric; a gain is positive if the new version
        is better, also where lower is better. Each side holds on its own.
    pass_level, worse_level: probability that `low` is too high, and that `high` is too low.
    units_read: number of rows, or of clusters, that the bounds are based on.
    rows_needed: rows, or clusters, that would probably decide; None if that is not known.
    assumes_equal: whether they are for equal versions; else the change stays as it is.
    settled: the smallest allowed loss that as many rows probably settle, if the versions are equal.
    worst_rows: rows on which the new version is worse, the largest difference first.
    """

    version: str
    metric: str
    group: str
    units: Units
    within: float | None
    verdict: Verdict
    old_mean: float
    new_mean: float
    low: float
    high: float
    pass_level: float
    worse_level: float
    rows: int
    units_read: int
    n_better: int
    n_worse: int
    rows_needed: int | None
    assumes_equal: bool
    settled: float
    worst_rows: tuple[DifferingRow, ...]
    best_rows: tuple[DifferingRow, ...]

    @property
    def n_same(self) -> int:
        """The number of rows with the same score in both versions."""
        return self.rows - self.n_better - self.n_worse

    @property
    def change(self) -> float:
        """Mean of the new version minus that of the old one, in the unit of the metric."""
        return self.new_mean - self.old_mean

    @property
    def gain(self) -> float:
        """The change if higher is better, else its opposite."""
        return self.change if self.units.scores else -self.change

    @property
    def decimals(self) -> int:
        """Decimals of numbers in texts: a thousandth of the range."""
        return max(0, 3 - round(math.log10(self.units.gap(1.0))))

    @property
    def tag(self) -> str:
        """The verdict in one word: PASSED, WORSE, UNDECIDED; NOT BETTER for an exact tie."""
        if self.verdict == "refuted" and self.within is None and self.high >= 0.0:
            return "NOT BETTER"
        return TAGS[self.verdict]

    def number(self, value: float, *, signed: bool = False) -> str:
        """Format a number of the metric."""
        # Half a unit is rounded away from 0 in every unit, also if sums are a little less.
        scale = 10.0**self.decimals
        rounded = math.copysign(math.floor(abs(value) * scale + 0.5 + 1e-6) / scale, value) + 0.0
        if signed and rounded == 0.0:
            return f"{0.0:.{self.decimals}f}"
        return f"{rounded:{'+' if signed else ''}.{self.decimals}f}"

    def bound(self, gain: float, *, low: bool) -> str:
        """Format a bound of the gain as a change, rounded away from the estimate."""
        scale = 10.0**self.decimals
        # A bound of the grid is exact up to rounding errors.
        outward = math.floor(gain * scale + 1e-6) if low else math.ceil(gain * scale - 1e-6)
        value = outward / scale
        return self.number(value if self.units.scores else -value, signed=True)

    def interval_text(self) -> str:
        """Return the interval of the change in words: the side that decided, or both."""
        higher = self.units.scores
        if self.low == self.high:
            return "exactly"
        if self.verdict == "proved":
            return f"{'at least' if higher else 'at most'} {self.bound(self.low, low=True)}"
        if self.verdict == "refuted":
            return f"{self.bound(self.high, low=False)} or {'lower' if higher else 'higher'}"
        ends = [self.bound(self.low, low=True), self.bound(self.high, low=False)]
        return " to ".join(ends if higher else ends[::-1])

    def possible_loss_text(self) -> str:
        """Return how much worse a version that passed may still be; "" if not at all.

        The bound is one-sided: that the version is worse is claimed of an exact change only.
        """
        if self.verdict != "proved" or self.within is None or self.low >= 0.0:
            return ""
        if self.low == self.high:
            return f"worse by {self.number(-self.low)}; {self.within:g} is allowed"
        loss = self.bound(self.low, low=True).lstrip("+-")
        return f"may be worse by up to {loss}; {self.within:g} is allowed"

    def margin_text(self) -> str:
        """Return the allowed loss in the unit of the metric."""
        return "" if self.within is None else f"{self.within:g}"

    def conclusion(self, old: str, *, by_metric: bool) -> Conclusion:
        """Return the claim that was decided, or the one that is open.

        old: name of the old version. by_metric: whether there are several metrics to name.
        """
        part = (f" in {self.metric}" if by_metric else "") + (
            f" on {self.group}" if self.group else ""
        )
        # A sentence cuts long names at the end, where it would lose the metric.
        subject = truncate(self.version, max(_MIN_NAME, _MAX_SUBJECT - len(part))) + part
        relation: Relation = "better" if self.within is None else "not worse"
        if self.verdict == "refuted":
            tied = self.within is None and self.high >= 0.0
            relation = "not better" if tied else "worse"
        amount = 0.0 if self.within is None else self.within
        # A sentence on several metrics has one word for all, and no direction.
        advantage = math.copysign(float(self.number(abs(self.gain))), self.gain)
        return Conclusion(
            relation,
            (subject,),
            than=old,
            amount=amount,
            advantage=None if by_metric else advantage,
            rows=self.rows,
        )

    def claim(self, old: str, *, by_metric: bool) -> str:
        """Return the verdict as a clause, without its population and probability."""
        conclusion = self.conclusion(old, by_metric=by_metric)
        text = replace(conclusion, advantage=None).text(Quantity())
        subject = conclusion.subject[0]
        if self.verdict == "proved" and self.n_better == self.n_worse == 0:
            # A live gate has not read every row of its list.
            return f"{subject} has the same score as {old} on all {self.rows:,} rows compared"
        if self.verdict != "undecided":
            return text
        if self.high < 0.0 and self.within is not None:
            return f"{subject} is worse than {old}; by more than {self.within:g} is open"
        return f"these rows do not settle whether {text}"

    def next_text(self, unit: str) -> str:
        """Return what would decide an open question; "" for a decided one.

        unit: the word for what is counted, row or cluster.
        """
        if self.verdict != "undecided":
            return ""
        read = plural(self.units_read, unit)
        if self.rows_needed is None:
            return (
                f"the change is so close to the limit that no number of {unit}s is known to "
                f"settle it; {read} probably settle an allowed loss of {self.number(self.settled)}"
            )
        needed = forecast_text(self.rows_needed, unit)
        if not self.assumes_equal:
            return f"if the change stays as it is, about {needed} settle it"
        text = f"if the versions are equal, about {needed} settle {self.margin_text()}"
        verb = "settles" if self.units_read == 1 else "settle"
        return f"{text}; {read} {verb} about {self.number(self.settled)}"

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as a dict of JSON data, in the unit of the metric.

        change_low, change_high: bounds of the change, each at its own level.
        """
        ends = (self.low, self.high) if self.units.scores else (-self.high, -self.low)
        return {
            "version": self.version,
            "metric": self.metric,
            "kind": "scores" if self.units.scores else "losses",
            "group": self.group or None,
            "verdict": self.verdict,
            "within": self.within,
            "old_mean": self.old_mean,
            "new_mean": self.new_mean,
            "change": self.change,
            "change_low": ends[0],
            "change_high": ends[1],
            "pass_level": self.pass_level,
            "worse_level": self.worse_level,
            "rows": self.rows,
            "rows_better": self.n_better,
            "rows_worse": self.n_worse,
            "rows_same": self.n_same,
            "rows_needed": self.rows_needed,
            "differ_most": [row._asdict() for row in (*self.worst_rows, *self.best_rows)],
        }


@dataclass(frozen=True)
class GateResult:
    """Result of `gate`: a comparison for each version, metric and group.

    comparisons: on all rows, one for each version and metric; they decide.
    groups: the same on each group of rows. `groups_decide`: whether they must pass too.
    looks: "1" if the number of rows was fixed before, "any" if one may look at every time.
    only_old, only_new: rows that one side alone has, by version; they are not compared.
    unit: what the bounds count, row or cluster.
    notes: sentences on what was read.
    race: what the race has established, if the versions were called live; None for finished scores.
    assumption: what the level needs beyond the reading, as a clause; "" for nothing.
    ignored: columns of the files without a role, with the reason.
    rows_left_out: rows of the files that sum up others, that the user leaves out, or that lack a
        score and are dropped; those of one version alone are in `only_old` and `only_new`.
    """

    old: str
    comparisons: tuple[Comparison, ...]
    groups: tuple[Comparison, ...]
    reading: Reading
    looks: str
    level: float
    groups_decide: bool = False
    only_old: dict[str, tuple[str, ...]] = field(default_factory=dict)
    only_new: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unit: str = "row"
    notes: tuple[str, ...] = ()
    race: Statement | None = None
    assumption: str = ""
    ignored: dict[str, str] = field(default_factory=dict)
    rows_left_out: int = 0

    @property
    def versions(self) -> list[str]:
        """Names of the versions, the old one first."""
        return [self.old, *dict.fromkeys(comparison.version for comparison in self.comparisons)]

    @property
    def deciding(self) -> tuple[Comparison, ...]:
        """The comparisons that must all pass."""
        return (*self.comparisons, *self.groups) if self.groups_decide else self.comparisons

    @property
    def verdict(self) -> Verdict:
        """Refuted if any comparison is, proved if all are, else undecided."""
        verdicts = {comparison.verdict for comparison in self.deciding}
        if "refuted" in verdicts:
            return "refuted"
        return "undecided" if "undecided" in verdicts else "proved"

    @property
    def passed(self) -> bool | None:
        """True if passed, False if worse, None if undecided."""
        return {"proved": True, "refuted": False, "undecided": None}[self.verdict]

    @property
    def tag(self) -> str:
        """The verdict in one word: PASSED, WORSE, NOT BETTER or UNDECIDED."""
        tags = [c.tag for c in self.deciding if c.verdict == self.verdict]
        return "WORSE" if "WORSE" in tags else tags[0]

    @property
    def exit_code(self) -> int:
        """0 passed, 1 worse, 3 undecided."""
        return self.statement.exit_status

    @property
    def statement(self) -> Statement:
        """What the result claims: that all comparisons pass, which are worse, or which are open."""
        if self.race is not None:
            return self.race
        verdict = self.verdict
        claims = tuple(
            comparison.conclusion(self.old, by_metric=self.several)
            for comparison in self.deciding
            if comparison.verdict == verdict
        )
        first = self.comparisons[0]
        exact = self.reading == "recorded"
        return Statement(
            "exact" if exact and verdict == "proved" else verdict,
            self.reading,
            () if verdict == "undecided" else claims,
            claims if verdict == "undecided" else (),
            level=0.0 if exact else self.level,
            quantity=Quantity(
                "score" if self.several else first.metric, higher_is_better=first.units.scores
            ),
            counts=Counts(
                rows=first.rows,
                counted=first.rows,
                clusters=first.units_read if self.unit == "cluster" else None,
            ),
            condition="" if exact else ", ".join(filter(None, [self.assumption, self.looks_text])),
        )

    @property
    def looks_text(self) -> str:
        """The number of looks that the level is for."""
        return "for one look" if self.looks == "1" else "however often you look"

    @property
    def several(self) -> bool:
        """Whether there are several metrics, which sentences must name."""
        return len({comparison.metric for comparison in self.comparisons}) > 1

    @property
    def false_alarm(self) -> str:
        """A sentence on what an identical version would meet."""
        if self.reading == "recorded":
            if any(comparison.within is None for comparison in self.deciding):
                return "An identical version fails this gate: it is not better."
            return (
                "An identical version that answers the same each time never fails this gate; one "
                "with random answers may."
            )
        return (
            "An identical version would fail this gate with probability at most "
            f"{self.level:g}" + (" at all looks together." if self.looks == "any" else ".")
        )

    def lines(self) -> list[str]:
        """Return the result as lines of text: verdict, numbers, rows, what to do next."""
        text = [self.header, _line(self.tag, self.claim_line())]
        groups = [
            ", ".join(filter(None, [self._group_owner(comparison), comparison.group]))
            for comparison in self.groups
        ]
        names = [_short_name(c, by_metric=self.several) for c in self.comparisons]
        heads = [*(names if len(names) > 1 else ()), *(f"  {name}" for name in groups)]
        width = max(10, *(len(head) for head in heads if len(head) <= _MAX_HEAD), 0)
        for comparison in self.comparisons:
            text += self._number_lines(comparison, width)
        for name, comparison in zip(groups, self.groups, strict=True):
            text += [_line(f"  {name}", self._row_text(comparison, with_tag=True), width)]
        if self.reported_groups_text:
            text.append(_line("", self.reported_groups_text))
        if self.shared_level_text:
            text.append(_line("", self.shared_level_text))
        text += [_line("note", note) for note in (*self.missing_notes(), *self.notes)]
        text.append(_line("", self.false_alarm))
        return text

    @property
    def header(self) -> str:
        """What was read: versions, rows, and the direction of the metrics."""
        versions = len(self.versions)
        listed = f" ({join_names(self.versions)})"
        rows = {comparison.rows for comparison in self.comparisons}
        both = "both" if versions == 2 else "all"
        counts = plural(rows.pop(), "row") if len(rows) == 1 else f"{min(rows):,} or more rows"
        better = {
            comparison.metric: "higher" if comparison.units.scores else "lower"
            for comparison in self.comparisons
        }
        directions = [f"{name}: {word} is better" for name, word in better.items()]
        if self.race is not None:
            return f"{versions} versions{listed}, {self.race.counts}; {', '.join(directions)}"
        return f"{versions} versions{listed}, {counts} in {both}; {', '.join(directions)}"

    def claim_line(self) -> str:
        """Return the verdict in words, without population and probability."""
        claims = [c for c in self.deciding if c.verdict == self.verdict]
        others = [c for c in self.deciding if c.verdict != self.verdict]
        texts = [c.claim(self.old, by_metric=self.several) for c in claims]
        words: dict[Verdict, str] = {"proved": "passed", "undecided": "is undecided"}
        if len(others) > _MAX_LISTED:
            counts = Counter(comparison.verdict for comparison in others)
            words = {"proved": "passed", "undecided": "undecided"}
            parts = [
                f"{counts[verdict]} {word}" for verdict, word in words.items() if verdict in counts
            ]
            return "; ".join([*texts, f"of the other {len(others)} {' and '.join(parts)}"])
        for comparison in others:
            group = f" on {comparison.group}" if comparison.group else ""
            name = _short_name(comparison, by_metric=self.several)
            texts.append(f"{name}{group} {words[comparison.verdict]}")
        return "; ".join(texts)

    @property
    def heading(self) -> str:
        """The verdict in words, with a capital unless it begins with a name."""
        text = self.claim_line()
        return f"T{text[1:]}" if text.startswith("these rows ") else text

    @property
    def shared_level_text(self) -> str:
        """Which claims share the level; "" if there is only one comparison."""
        if self.reading == "recorded" and self.race is None:
            return ""
        percent = f"{100 * self.level:g} %"
        if any(comparison.pass_level < self.level for comparison in self.comparisons):
            several = len({comparison.version for comparison in self.comparisons}) > 1
            versions = "all versions" if several else "the list"
            groups = " and its groups" if not several else " and groups"
            return f"{versions}{groups if self.groups_decide else ''} share {percent}"
        shares = any(comparison.worse_level < self.level for comparison in self.comparisons)
        return f"claims of worse share {percent}" if shares else ""

    @property
    def reported_groups_text(self) -> str:
        """Which claims about groups share a level, if groups are only reported; else ""."""
        if not self.groups or self.groups_decide:
            return ""
        if self.reading == "recorded" and self.race is None:
            return "groups are only reported"
        each = 100 * (1 - max(comparison.pass_level for comparison in self.groups))
        return (
            f"groups are only reported: their claims of worse share {100 * self.level:g} %, and each "
            f"PASSED holds with {each:.4g} % on its own"
        )

    def _group_owner(self, comparison: Comparison) -> str:
        """Return the version and the metric of a group, as far as there are several."""
        versions = {c.version for c in self.comparisons}
        parts = [
            comparison.version if len(versions) > 1 else "",
            comparison.metric if self.several else "",
        ]
        return " ".join(filter(None, parts))

    def _number_lines(self, comparison: Comparison, width: int) -> list[str]:
        several = len(self.comparisons) > 1
        name = _short_name(comparison, by_metric=self.several) if several else comparison.metric
        lines = [_line(name, self._row_text(comparison, with_tag=several), width)]
        if not several or comparison.verdict != "proved":
            lines.append(_line("rows" if not several else "", rows_text(comparison), width))
        if step := comparison.next_text(self.unit):
            lines.append(_line("next", step, width))
        return lines

    def _row_text(self, comparison: Comparison, *, with_tag: bool = False) -> str:
        text = number_text(comparison, "old", "new", self.reading)
        if comparison.low != comparison.high:
            sides = " each side" if comparison.verdict == "undecided" else ""
            looks = "one look" if self.looks == "1" else "every look"
            text += f" ({100 * (1 - self.level):g} %{sides}, {looks})" if not with_tag else ""
        return text + (f"   {comparison.tag}" if with_tag else "")

    def missing_notes(self) -> list[str]:
        """Return a sentence on the rows that only one version has, for each version."""
        notes = []
        for rows, owner in ((self.only_old, self.old), (self.only_new, "")):
            for version, names in rows.items():
                if names:
                    only = owner or version
                    other = version if owner else self.old
                    notes.append(
                        f"{plural(len(names), 'row')} only in {only} and not compared with "
                        f"{other}: {join_names(names, limit=_MAX_LISTED)}"
                    )
        return notes

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return short_repr(f"GateResult({self.tag}: {self.claim_line()})")

    def _repr_html_(self) -> str:
        columns = ["", "metric", "old", "new", "change", SCOPES[self.reading], "allowed", "verdict"]
        rows = [
            [
                comparison.version + (f", {comparison.group}" if comparison.group else ""),
                comparison.metric,
                comparison.number(comparison.old_mean),
                comparison.number(comparison.new_mean),
                comparison.number(comparison.change, signed=True),
                comparison.interval_text(),
                comparison.margin_text() or "better",
                comparison.tag,
            ]
            for comparison in (*self.comparisons, *self.groups)
        ]
        notes = [c.next_text(self.unit) for c in self.comparisons]
        return html_block(
            f"{self.tag}: {self.claim_line()}",
            tables=[HtmlTable(columns, rows)],
            notes=[*notes, *self.missing_notes(), *self.notes, self.false_alarm],
        )

    def to_json(self) -> dict[str, Any]:
        """Return the result as a dict of JSON data.

        verdict: exact or proved (passed), refuted (worse) or undecided. comparisons, groups: lists of
            dicts, as of `Comparison.to_json`. rows_only_in_old, rows_only_in_new: by version.
            ignored_columns: dict from columns without a role to the reason. rows_left_out: other rows that are
            not compared, such as sums; both of finished scores only.
        """
        table = {"ignored_columns": dict(self.ignored), "rows_left_out": self.rows_left_out}
        return {
            "verdict": self.statement.verdict,
            "tag": self.tag,
            "statement": self.statement.to_json(),
            "exit_code": self.exit_code,
            "old": self.old,
            "candidates": self.versions,
            "reading": self.reading,
            "looks": self.looks,
            "level": self.level,
            "unit": self.unit,
            "groups_decide": self.groups_decide,
            "comparisons": [comparison.to_json() for comparison in self.comparisons],
            "groups": [comparison.to_json() for comparison in self.groups],
            "rows_only_in_old": {name: list(rows) for name, rows in self.only_old.items()},
            "rows_only_in_new": {name: list(rows) for name, rows in self.only_new.items()},
            **(table if self.race is None else {}),
            "notes": list(self.notes),
        }

    def plot(
        self, *, ax: "Axes | None" = None, size: tuple[float, float] | None = None
    ) -> "Figure":
        """Draw the gain of each comparison with its interval; return the figure.

        A gain is positive where the new version is better. ax: axes to draw on; None: a new
        figure. `size` is in inches.
        """
        import numpy as np

        from tombola.report.figures import draw_intervals

        comparisons = (*self.comparisons, *self.groups)
        labels = [
            " ".join(filter(None, [_short_name(c, by_metric=self.several), c.group]))
            for c in comparisons
        ]
        return draw_intervals(
            labels,
            np.array([c.gain for c in comparisons]),
            np.array([c.low for c in comparisons]),
            np.array([c.high for c in comparisons]),
            x_label=f"gain against {self.old}, {SCOPES[self.reading]}",
            axes=ax,
            size=size,
        )


def same_everywhere(comparisons: Iterable[Comparison]) -> bool:
    """Return whether some version has the scores of the old one on all rows, in all metrics."""
    versions: dict[str, bool] = {}
    for comparison in comparisons:
        same = comparison.n_better == comparison.n_worse == 0
        versions[comparison.version] = versions.get(comparison.version, True) and same
    return any(versions.values())


def number_text(comparison: Comparison, old: str, new: str, reading: Reading) -> str:
    """Return both means, the change and its interval, without the level.

    old, new: words for the two versions.
    """
    text = (
        f"{old} {comparison.number(comparison.old_mean)}   "
        f"{new} {comparison.number(comparison.new_mean)}   "
        f"change {comparison.number(comparison.change, signed=True)}"
    )
    if comparison.low == comparison.high:
        return f"{text} exactly, {SCOPES[reading]}"
    return f"{text}; {SCOPES[reading]} {comparison.interval_text()}"


def rows_text(comparison: Comparison) -> str:
    """Return how many rows got better and worse, and the ids of the worst."""
    text = (
        f"{comparison.n_better:,} better, {comparison.n_worse:,} worse, "
        f"{comparison.n_same:,} the same"
    )
    if comparison.verdict != "proved" and comparison.n_worse:
        rows = [row.row for row in comparison.worst_rows[:_MAX_LISTED]]
        more = comparison.n_worse - len(rows)
        text += f"; worse: {join_names(rows)}" + (f" and {more:,} more" if more > 0 else "")
    return text


def _short_name(comparison: Comparison, *, by_metric: bool) -> str:
    return f"{comparison.version} {comparison.metric}" if by_metric else comparison.version


def _line(head: str, text: str, width: int = 10) -> str:
    return f"{head:<{width}} {text}"
