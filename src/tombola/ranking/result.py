"""Results of `rank`: rank sets, groups of ties and pairs, by reading."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tombola._formatting import (
    HtmlTable,
    distinct_names,
    forecast_text,
    format_percent,
    html_block,
    join_names,
    option_text,
    plural,
)
from tombola._results import Block, Cells, Command, PageResult
from tombola._types import Floats
from tombola.errors import ParameterError
from tombola.evidence.run_noise import RunNoise, more_evidence, run_noise
from tombola.racing.rules.ranks import rank_sets
from tombola.statements import (
    EVERY_LOOK,
    ONE_LOOK,
    Conclusion,
    Counts,
    Quantity,
    Relation,
    Statement,
    Verdict,
    rank_text,
)
from tombola.tables.to_pool import direction_text
from tombola.units import Units

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Matrix of proved pairs, shape (k, k): True at [a, b] where candidate a is proved to come before
# candidate b.
ProvedOrder = np.typing.NDArray[np.bool_]
# What the ranks are about.
ReadingName = Literal["recorded", "expected", "beyond"]
# candidates printed by `__str__`, best first, to fit on a screen; the page and the JSON have all
_MAX_SHOWN = 20
# Means that differ by at most this are equal: sums are rounded.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Reading:
    """The proved order of the candidates under one reading of the table.

    A reading is what the ranks are about: the answers recorded here, the expected answers to these
    rows, or rows of which these are a sample.
    With probability at least 1 - level all rank sets hold simultaneously. Candidates are numbered
    in the order of `Ranking.names`.

    exact: whether the order is by counting all rows, without any probability.
    rows: number of rows that were used.
    before: (k, k), True at [a, b] where a is proved to come before b.
    ranks: (k, 2), first and last possible rank of every candidate, from 1.
    low, high: (k,), bounds of each mean loss on its own, at the same level.
    variance: (k, k), variance of the difference of two candidates on one row.
    goal: wealth that proves the order of a pair, number of pairs / level.
    contradiction: whether proved pairs form a cycle, with probability at most `level`; the rank
        sets then mean nothing.
    every_look: whether the level holds for all rankings of a growing table together; else for this
        one alone.
    list_rows: number of rows of the list, without those left out.
    clusters: number of clusters that were used; None without clusters.
    sizes: bounds of the mean number of rows of a cluster, in ranks beyond this list; None: known.
    condition: what the ranks assume beyond a random order, as a clause; "" for nothing.
    n_worst, n_dropped: missing answers that count as the worst value; rows left out because an
        answer is missing.
    left_out: candidates of the table that are not ranked, such as one in another unit.
    """

    name: ReadingName
    exact: bool
    level: float
    rows: int
    before: ProvedOrder
    ranks: "np.typing.NDArray[np.int64]"
    low: Floats
    high: Floats
    variance: Floats
    goal: float
    contradiction: bool = False
    every_look: bool = False
    n_worst: int = 0
    n_dropped: int = 0
    left_out: tuple[str, ...] = ()
    list_rows: int = 0
    clusters: int | None = None
    sizes: tuple[float, float] | None = None
    condition: str = ""

    @property
    def is_strict(self) -> bool:
        """Whether every proved pair excludes a tie: exact ranks, and all ordered pairs at the level.

        The reading "expected" shares the level over k (k - 1) hypotheses.
        """
        return self.exact or self.name == "expected"

    @property
    def better(self) -> ProvedOrder:
        """The pairs of `before` whose tie is excluded, (k, k).

        The proved order places equal means as in the file. So a pair is strict if it is exact, or
        against the order of the file, or in a chain with such a link (docs/theory/statements.md).
        """
        if self.is_strict:
            return self.before
        k = len(self.before)
        against = self.before & np.tri(k, k=-1, dtype=bool)
        reach = self.before | np.eye(k, dtype=bool)
        return np.asarray((reach.astype(int) @ against @ reach) > 0)

    @property
    def is_certain(self) -> bool:
        """Whether the ranks are by counting all rows of all candidates."""
        return self.exact and not self.left_out

    def statement(self, names: Sequence[str], units: Units) -> Statement:
        """Return the rank sets as a statement.

        names: of the candidates. units: of the losses, for texts.
        """
        k = len(names)
        settled = bool((self.ranks[:, 0] == self.ranks[:, 1]).all())
        conclusions = tuple(
            Conclusion(
                "rank", (name,), field=k, interval=(int(first), int(last)), strict=self.is_strict
            )
            for name, (first, last) in zip(names, self.ranks, strict=True)
            if not self.contradiction and (self.exact or (first, last) != (1, k))
        )
        # A set of all ranks says nothing.
        proved = {name for conclusion in conclusions for name in conclusion.subject}
        unknown = tuple(name for name in names if name not in proved)
        verdict: Verdict = "proved" if settled and not unknown else "undecided"
        return self._statement(
            "exact" if self.is_certain else verdict,
            conclusions,
            (Conclusion("rank", unknown, field=k),) if unknown else (),
            units,
        )

    def _statement(
        self,
        verdict: Verdict,
        conclusions: tuple[Conclusion, ...],
        questions: tuple[Conclusion, ...],
        units: Units,
        level: float | None = None,
    ) -> Statement:
        """Return conclusions from these rows, at the level of the reading or at another one."""
        level = self.level if level is None else level
        return Statement(
            verdict,
            self.name,
            conclusions,
            questions,
            level=0.0 if self.is_certain else level,
            quantity=Quantity(units.quantity, higher_is_better=units.scores),
            counts=Counts(rows=self.list_rows, counted=self.rows, clusters=self.clusters),
            condition=self.conditions,
        )

    def comparison(self, a: int, b: int, names: Sequence[str], units: Units) -> Statement:
        """Return what is proved about the order of two candidates, by number."""
        for ahead, behind in ((a, b), (b, a)):
            if self.before[ahead, behind] and not self.contradiction:
                relation: Relation = "better" if self.better[ahead, behind] else "not worse"
                claim = Conclusion(relation, (names[ahead],), than=names[behind])
                verdict: Verdict = "exact" if self.is_certain else "proved"
                return self._statement(verdict, (claim,), (), units)
        if self.exact:
            tie = Conclusion("tied", (names[a], names[b]))
            return self._statement("exact" if self.is_certain else "proved", (tie,), (), units)
        question = Conclusion("not worse", (names[a],), than=names[b])
        return self._statement("undecided", (), (question,), units)

    @property
    def conditions(self) -> str:
        """What the level assumes, and which answers and looks it is for, as a clause."""
        clauses = [self.condition]
        if not self.exact:
            clauses.append(EVERY_LOOK if self.every_look else ONE_LOOK)
        if self.n_worst:
            clauses.append(f"with {plural(self.n_worst, 'missing answer')} counted as the worst")
        if self.left_out:
            clauses.append(f"without {join_names(self.left_out)}")
        if self.n_dropped:
            clauses.append(f"without the {plural(self.n_dropped, 'row')} left out")
        return ", ".join(filter(None, clauses))

    @property
    def title(self) -> str:
        """What the ranks are about, as the beginning of a sentence."""
        return {
            "recorded": "On the answers recorded here",
            "expected": "In expectation over repeated answers, on these rows",
            "beyond": "For rows like these",
        }[self.name]

    @property
    def separated(self) -> float:
        """The share, in [0, 1], of pairs of candidates whose order is proved."""
        k = self.before.shape[0]
        return float(self.before.sum() / (k * (k - 1) / 2)) if k > 1 else 1.0


@dataclass(frozen=True, eq=False)
class Ranking(PageResult):
    """Result of `rank`: candidates with their means and rank sets.

    population: number of rows of the table, without those left out.
    means: (k,), mean loss in [0, 1] of every candidate over the complete rows; `value` converts it.
    readings: one reading, or for a full table "recorded" and "beyond"; with runs "expected" and
        "beyond". Methods take the name of one; None is the first.
    clusters: number of clusters; 0 without clusters.
    scale: smallest and largest possible value of the table.
    n_incomplete: number of rows with a missing answer that are not used, but part of the list.
    unit: the word for the values in texts, such as seconds; "" for loss or score.
    remarks: sentences on how a file was read, the direction first.
    next_steps: pairs of a purpose and a command line that continues the table as a race.
    source: the name of the table, for the title of its page.
    runs: losses of all runs, shape (runs, rows, k); None if cells have one answer.
    cluster_note: why ranks beyond this list were left out; "" if they were not.
    ignored: columns of the file that are no candidates, with the reason.
    n_masked: rows of the file that sum up others, or that the user leaves out.

    >>> from tombola import rank
    >>> result = rank([[0, 1, 1], [0, 1, 0], [0, 0, 1]] * 20, names=["a", "b", "c"], kind="losses")
    >>> [result.rank_set(name, "recorded") for name in "abc"]
    [(1, 1), (2, 3), (2, 3)]
    >>> result.groups("beyond")
    [['a'], ['b', 'c']]
    """

    names: tuple[str, ...]
    kind: Literal["losses", "scores"]
    population: int
    means: Floats
    readings: tuple[Reading, ...]
    clusters: int = 0
    scale: tuple[float, float] = (0.0, 1.0)
    n_incomplete: int = 0
    unit: str = ""
    remarks: tuple[str, ...] = ()
    next_steps: tuple[tuple[str, str], ...] = ()
    source: str = ""
    runs: Floats | None = None
    cluster_note: str = ""
    ignored: Mapping[str, str] = field(default_factory=dict)
    n_masked: int = 0

    def without(self, candidates: Sequence[str]) -> "Ranking":
        """Return the ranking with a remark that these candidates are not ranked."""
        return replace(
            self,
            readings=tuple(
                replace(reading, left_out=tuple(candidates)) for reading in self.readings
            ),
        )

    @property
    def units(self) -> Units:
        """Conversion between losses in [0, 1] and values of the table."""
        return Units(*self.scale, scores=self.kind == "scores", unit=self.unit)

    @property
    def n_dropped(self) -> int:
        """The number of rows that were left out because an answer is missing."""
        return self.readings[0].n_dropped if self.readings else 0

    @cached_property
    def noise(self) -> RunNoise | None:
        """How much answers change from run to run; None without runs."""
        level = self.readings[0].level if self.readings else 0.05
        return None if self.runs is None else run_noise(self.runs, level)

    @property
    def recorded_ranks(self) -> "np.typing.NDArray[np.int64]":
        """First and last rank, shape (k, 2), by the means of the answers recorded here."""
        return rank_sets(self.means[:, None] < self.means[None, :] - _ROUNDING)

    def advice(self) -> list[str]:
        """Return what more runs or rows would decide, a sentence per reading; [] without runs."""
        sentences = []
        for reading in self.readings if self.runs is not None else ():
            order = self.order()
            open_pairs = [
                (a, b)
                for a, b in pairwise(order)
                if not (reading.before[a, b] or reading.before[b, a])
            ]
            if open_pairs:
                sentences.append(self._advice(*open_pairs[0], reading))
        return sentences

    def _advice(self, a: int, b: int, reading: Reading) -> str:
        """Return what would tell two candidates apart under a reading, about."""
        assert self.runs is not None
        beyond = reading.name == "beyond"
        needed = more_evidence(self.runs, a, b, reading.goal, beyond=beyond)
        options = []
        if needed.runs:
            calls = forecast_text(needed.runs_calls, "call")
            options.append(f"{forecast_text(needed.runs, 'more run')} of every row ({calls})")
        if needed.rows and beyond:
            calls = forecast_text(needed.rows_calls, "call")
            options.append(f"{forecast_text(needed.rows, 'more row')} with one run each ({calls})")
        claim = f"{reading.title}, {self.names[a]} and {self.names[b]} are not told apart"
        if not options:
            return f"{claim}."
        text = f"{claim}; about {' or '.join(options)} would do it"
        if beyond and not needed.runs:
            return f"{text}. More runs of the same rows are not enough."
        return f"{text}: more {needed.cheaper} are cheaper." if len(options) > 1 else f"{text}."

    @property
    def missing_text(self) -> str:
        """A sentence on rows with a missing answer, or clusters of unequal size; "" if none."""
        if self.n_dropped:
            verbs = ("has", "was") if self.n_dropped == 1 else ("have", "were")
            rows = f"{self.n_dropped:,} of {plural(self.n_dropped + self.population, 'row')}"
            left = f"the ranks are about the other {self.population:,}"
            return f"{rows} {verbs[0]} a missing answer and {verbs[1]} left out; {left}."
        if not self.n_incomplete:
            return self.cluster_note
        whole = " and their whole clusters" if self.clusters else ""
        return (
            f"{self.n_incomplete:,} of {plural(self.population, 'row')} with a missing answer"
            f"{whole} are not used ({option_text('missing', 'worst')} counts a missing answer as "
            "the worst one)."
        )

    def reading(self, name: str | None = None) -> Reading:
        """Return the reading of this name; ParameterError if there is none."""
        for result in self.readings:
            if name in (None, result.name):
                return result
        known = " or ".join(repr(result.name) for result in self.readings)
        raise ParameterError(
            f"Ranking: expected the reading {known}, got {name!r}; write one of them."
        )

    def rank_set(self, candidate: str, reading: str | None = None) -> tuple[int, int]:
        """Return the first and the last rank, from 1, of a candidate under a reading."""
        first, last = self.reading(reading).ranks[self._index(candidate)]
        return int(first), int(last)

    def order(self) -> list[int]:
        """Return the numbers of the candidates by mean, best first; ties in file order."""
        return [int(a) for a in np.argsort(self.means, kind="stable")]

    def groups(self, reading: str | None = None) -> list[list[str]]:
        """Return the names of the candidates in groups, the best group first.

        Every member of one group is proved to be not worse than every member of the next. The order
        in a group is by mean.
        """
        before = self.reading(reading).before
        order = self.order()
        groups: list[list[str]] = [[]]
        for position, a in enumerate(order):
            if position and before[np.ix_(order[:position], order[position:])].all():
                groups.append([])
            groups[-1].append(self.names[a])
        return groups

    def compare(self, first: str, second: str, reading: str | None = None) -> str:
        """Return sentences on the order of two candidates under a reading.

        Without a proof, they state about how many rows would prove it.
        """
        result = self.reading(reading)
        a = self._index(first)
        b = self._index(second)
        sentence = result.comparison(a, b, self.names, self.units).full
        if result.exact or result.before[a, b] or result.before[b, a]:
            return sentence
        if self.runs is not None:
            return f"{sentence} {self._advice(a, b, result)}"
        needed = self.rows_to_separate(first, second, reading)
        if math.isinf(needed):
            return f"{sentence} Their means are the same so far."
        unit = "row" if result.clusters is None else "cluster"
        read = result.rows if result.clusters is None else result.clusters
        if needed <= read:
            # The rule of thumb is too low here: what was read did not do it.
            return f"{sentence} More than {plural(read, unit)} are needed."
        return f"{sentence} About {forecast_text(math.ceil(needed), unit)} would do it."

    def rows_to_separate(self, first: str, second: str, reading: str | None = None) -> float:
        """Estimate the rows, or clusters, that would prove the order of two candidates.

        A rule of thumb: with D the difference of the means, which is assumed to stay, and v the
        variance of the paired differences, n = 2 v ln(goal) / D^2, with `Reading.goal`, for
        independent rows, n / (1 + n / N) on a list of N rows, inf if D is 0.
        """
        result = self.reading(reading)
        a = self._index(first)
        b = self._index(second)
        gap = abs(float(self.means[a] - self.means[b]))
        if gap == 0.0:
            return math.inf
        n = 2.0 * float(result.variance[a, b]) * math.log(result.goal) / gap**2
        size = self.clusters or self.population
        return n / (1.0 + n / size) if result.name == "recorded" else n

    def value(self, loss: float) -> float:
        """Return a mean loss in [0, 1] as a mean in the unit of the table."""
        return self.units.number(loss)

    def interval(self, candidate: int, reading: str | None = None) -> tuple[float, float]:
        """Return the interval (low, high) of the mean of candidate number 0, 1, ..., in the unit of the table.

        With probability 1 - level it contains the mean of this candidate. It is not simultaneous
        for several ones.
        """
        result = self.reading(reading)
        return self.units.interval(float(result.low[candidate]), float(result.high[candidate]))

    def plot(
        self,
        reading: str | None = None,
        *,
        ax: "Axes | None" = None,
        size: tuple[float, float] | None = None,
    ) -> "Figure":
        """Draw the rank set of every candidate as a bar, the best mean first; return the figure.

        The dot is the rank by mean. The figure displays in notebooks, and `figure.save("x.pdf")`
        writes it. `ax`: axes to draw on; None: a new figure. `size` is in inches; None grows with
        the number of candidates.
        """
        from tombola.report.figures import draw_intervals

        result = self.reading(reading)
        order = self.order()
        ranks = result.ranks[order].astype(np.float64)
        return draw_intervals(
            [self.names[a] for a in order],
            np.arange(1.0, len(order) + 1.0),
            ranks[:, 0],
            ranks[:, 1],
            x_label=f"rank {result.title[0].lower()}{result.title[1:]}",
            axes=ax,
            size=size,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the ranking as a dict of JSON data.

        kind: the direction. candidates: their names, as read. ignored_columns: dict from other
            columns to the reason. rows: number of rows of the list. clusters: their number, or None. rows_not_used,
            rows_left_out: rows with a missing answer, which are part of the list or not; rows that sum up others
            are left out, too.
            answers_counted_as_worst: missing answers that count as the worst value.
        candidates_left_out: names of the candidates of the table that are not ranked; then no
            reading is exact.
        readings: list of dicts: reading (its name), statement (`Statement.to_json`),
            pairs_separated (share of pairs), groups (lists of names), exact, level, rows, clusters,
            contradiction and every_look, as in `Reading`; candidates, a list of dicts, best mean
            first: candidate (its name); mean, low and high, in the unit of the table; first_rank and
            last_rank; proved_before, the names that it is proved to come before.
        """
        return {
            "kind": self.kind,
            "candidates": list(self.names),
            "ignored_columns": dict(self.ignored),
            "rows": self.population,
            "rows_not_used": self.n_incomplete,
            "rows_left_out": self.n_dropped + self.n_masked,
            "answers_counted_as_worst": self.readings[0].n_worst if self.readings else 0,
            "clusters": self.clusters or None,
            "candidates_left_out": list(self.readings[0].left_out) if self.readings else [],
            "readings": [self._reading_json(reading) for reading in self.readings],
            "runs": None if self.noise is None else self.noise.to_json(),
            "advice": self.advice(),
        }

    def _reading_json(self, reading: Reading) -> dict[str, Any]:
        rows = []
        for a in self.order():
            low, high = self.interval(a, reading.name)
            rows.append(
                {
                    "candidate": self.names[a],
                    "mean": self.value(float(self.means[a])),
                    "low": low,
                    "high": high,
                    "first_rank": int(reading.ranks[a, 0]),
                    "last_rank": int(reading.ranks[a, 1]),
                    "proved_before": [self.names[b] for b in np.flatnonzero(reading.before[a])],
                }
            )
        return {
            "reading": reading.name,
            "statement": reading.statement(self.names, self.units).to_json(),
            "exact": reading.is_certain,
            "level": reading.level,
            "rows": reading.rows,
            "clusters": reading.clusters,
            "pairs_separated": reading.separated,
            "contradiction": reading.contradiction,
            "every_look": reading.every_look,
            "groups": self.groups(reading.name),
            "candidates": rows,
        }

    def lines(self, reading: Reading, max_candidates: int | None = None) -> list[str]:
        """Return ranks, means and intervals of one reading as lines of text, best first.

        `max_candidates` limits the candidates listed; a last line counts the others. None: all.
        """
        cells = self._cells(reading)[:max_candidates]
        width = min(32, max(len("candidate"), *(len(name) for _, name, _, _ in cells)))
        header = f"mean {self.units.quantity}"
        digits = max(10, len(header))
        recorded = [rank_text(self.recorded_ranks[a]) for a in self.order()]
        # With runs the rank by the recorded answers is one draw: a column, not a reading.
        last = f"  {'recorded':>8}" if self.runs is not None else ""
        lines = [
            f"{'ranks':>9}  {'candidate':<{width}}  {header:>{digits}}  {'interval':>19}{last}"
        ]
        shown = distinct_names([name for _, name, _, _ in cells], width)
        for (ranks, _, mean, interval), name, place in zip(cells, shown, recorded, strict=False):
            last = f"  {place:>8}" if self.runs is not None else ""
            lines.append(f"{ranks:>9}  {name:<{width}}  {mean:>{digits}}  {interval:>19}{last}")
        if len(cells) < len(self.names):
            lines.append(f"{'...':>9}  and {len(self.names) - len(cells)} more")
        return lines

    def _cells(self, reading: Reading) -> list[tuple[str, str, str, str]]:
        """Return ranks, name, mean and interval of every candidate as texts, best first."""
        return [
            (
                rank_text(reading.ranks[a]),
                self.names[a],
                f"{self.value(float(self.means[a])):.4g}",
                _interval_text(*self.interval(a, reading.name)),
            )
            for a in self.order()
        ]

    @property
    def direction(self) -> str:
        """The sentence that states whether lower or higher values are better."""
        return f"R{direction_text(self.kind, self.unit)[1:]}."

    @property
    def statements(self) -> tuple[Statement, ...]:
        """What is proved under each reading."""
        return tuple(reading.statement(self.names, self.units) for reading in self.readings)

    def blocks(self) -> list[Block]:
        """Return the direction, each reading with its ranks, and the next steps."""
        blocks: list[Block] = [*(self.remarks or [self.direction])]
        blocks += filter(None, [self.missing_text])
        for reading, statement in zip(self.readings, self.statements, strict=True):
            blocks += ["", statement.caption, *self.lines(reading, _MAX_SHOWN)]
        if self.noise is not None:
            blocks += ["", *noise_blocks(self.noise, self.names, self.order()[:_MAX_SHOWN])]
        blocks += self.advice()
        for purpose, command in self.next_steps:
            blocks += [f"next, {purpose}:", Command(command)]
        return blocks

    def to_page(self, command: str = "") -> str:
        """Return an HTML page: the rank sets as bars, a section per reading."""
        from tombola.ranking.page import ranking_page

        return ranking_page(self, f"Ranks: {self.source}" if self.source else "Ranks")

    def __repr__(self) -> str:
        return (
            f"Ranking({len(self.names)} candidates, {self.population} rows, "
            f"{[reading.name for reading in self.readings]})"
        )

    def _repr_html_(self) -> str:
        return self.to_html_block(self.direction)

    def to_html_block(self, title: str) -> str:
        """Return an HTML fragment for notebooks: a table per reading."""
        columns = ("ranks", "candidate", f"mean {self.units.quantity}", "interval")
        tables = [
            HtmlTable(columns, self._cells(reading), statement.caption)
            for reading, statement in zip(self.readings, self.statements, strict=True)
        ]
        return html_block(title, (), tables, [self.missing_text])

    def _index(self, candidate: str) -> int:
        if candidate not in self.names:
            raise ParameterError(
                f"Ranking: expected one of the {len(self.names)} candidates, got {candidate!r}; "
                f"write for example {self.names[0]!r}."
            )
        return self.names.index(candidate)


def _interval_text(low: float, high: float) -> str:
    """Return an interval as text; a mean that is known needs no interval."""
    return "exact" if low == high else f"{low:.4g} to {high:.4g}"


def noise_blocks(noise: RunNoise, names: Sequence[str], order: Sequence[int]) -> list[Block]:
    """Return what runs say about candidates: a sentence, and a table in this order."""
    least, most = noise.runs
    number = f"{most}" if least == most else f"{least} to {most}"
    sentence = (
        f"{number} runs of each row: the answer of some candidate changed on "
        f"{noise.changed_rows:,} of {plural(noise.rows, 'row')}."
    )
    headings = ["candidate", "rows changed", "noise"]
    if noise.all_succeed:
        headings += [f"all {least} right", f"one of {least} right"]
    rows = []
    for a in order:
        cells = [names[a], format_percent(noise.changed[a]), format_percent(noise.noise_share[a])]
        for shares in (noise.all_succeed, noise.any_succeeds):
            if shares:
                share = shares[a]
                cells.append(f"{share.value:.2f} ({share.low:.2f} to {share.high:.2f})")
        rows.append(cells)
    blocks: list[Block] = [sentence, Cells(headings, rows, right=range(1, len(headings)))]
    explained = "Noise: the share of the variance of one answer that a repetition changes"
    if noise.all_succeed:
        explained += (
            f"; all {least} right is pass^{least}, one of {least} right is pass@{least}, each with "
            f"its own interval at level {noise.level:g}"
        )
    return [*blocks, f"{explained}."]


@dataclass(frozen=True, eq=False)
class MetricsRanking(PageResult):
    """Result of `rank` for several metrics: one ranking each, at a shared level.

    `metrics` has the ranking of each metric by its name, `front` the candidates that may be on the
    Pareto front.

    >>> from tombola import rank
    >>> error, price = [[0, 1, 1]] * 40, [[1, 0, 1]] * 40
    >>> both = rank({"error": error, "price": price}, kind="losses", names=["a", "b", "c"], reading="recorded")
    >>> both.front(), both.metrics["error"].rank_set("a")
    (['a', 'b'], (1, 1))
    """

    metrics: dict[str, Ranking]
    level: float
    source: str = ""

    def without(self, candidates: Sequence[str]) -> "MetricsRanking":
        """Return the rankings with a remark that these candidates are not ranked."""
        return replace(
            self,
            metrics={name: ranking.without(candidates) for name, ranking in self.metrics.items()},
        )

    @property
    def readings(self) -> tuple[str, ...]:
        """The readings that every metric has, such as "recorded" and "beyond"."""
        common = [
            {reading.name for reading in ranking.readings} for ranking in self.metrics.values()
        ]
        first = next(iter(self.metrics.values()))
        return tuple(
            reading.name
            for reading in first.readings
            if all(reading.name in names for names in common)
        )

    def front(self, reading: str | None = None) -> list[str]:
        """Return the names of the candidates that may be on the Pareto front.

        They are sorted by their mean in the first metric, the best first.

        A candidate is excluded when another one is proved to be at least as good in every metric
        and strictly better in one (`Reading.better`). Only exact ranks prove ties. All statements
        hold simultaneously with probability at least 1 - level.
        """
        results = [metric.reading(reading) for metric in self.metrics.values()]
        as_good = np.logical_and.reduce(
            [~metric.before.T if metric.exact else metric.before for metric in results]
        )
        better = np.logical_or.reduce([metric.better for metric in results])
        excluded = (as_good & better).any(axis=0)
        first = next(iter(self.metrics.values()))
        return [first.names[a] for a in first.order() if not excluded[a]]

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The candidates that may be on the Pareto front, a statement per reading.

        The level is shared by the metrics.
        """
        return tuple(self._front_statement(name) for name in self.readings)

    def _front_statement(self, name: str) -> Statement:
        first = next(iter(self.metrics.values()))
        metrics = [metric.reading(name) for metric in self.metrics.values()]
        reading = replace(
            metrics[0],
            exact=all(metric.exact for metric in metrics),
            left_out=tuple(dict.fromkeys(out for metric in metrics for out in metric.left_out)),
        )
        k = len(first.names)
        front = Conclusion("front", tuple(self.front(name)), field=k, top=len(metrics))
        verdict: Verdict = "exact" if reading.is_certain else "proved"
        is_open = len(front.subject) == k and not reading.is_certain
        return reading._statement(
            "undecided" if is_open else verdict,
            () if is_open else (front,),
            (front,) if is_open else (),
            first.units,
            self.level,
        )

    def front_sentences(self) -> list[str]:
        """Return a sentence per reading: the candidates that may be on the Pareto front."""
        return [statement.full for statement in self.statements]

    def compare(self, first: str, second: str, reading: str | None = None) -> str:
        """Return the sentences of `Ranking.compare`, a line per metric."""
        return "\n".join(
            f"{name}: {ranking.compare(first, second, reading)}"
            for name, ranking in self.metrics.items()
        )

    def to_json(self) -> dict[str, Any]:
        """Return the rankings as a dict of JSON data.

        pareto_front: dict from readings to names; statements: one per reading; metrics: dict from names of metrics to
            `Ranking.to_json`.
        """
        return {
            "level": self.level,
            "pareto_front": {reading: self.front(reading) for reading in self.readings},
            "statements": [statement.to_json() for statement in self.statements],
            "metrics": {name: ranking.to_json() for name, ranking in self.metrics.items()},
        }

    def blocks(self) -> list[Block]:
        """Return the Pareto front, and the ranking of each metric."""
        blocks: list[Block] = [
            f"{plural(len(self.metrics), 'metric')} share the level {self.level:g}.",
            *self.front_sentences(),
        ]
        for name, ranking in self.metrics.items():
            # A race on one metric would not answer a question about several.
            blocks += ["", f"Metric {name}.", *replace(ranking, remarks=(), next_steps=()).blocks()]
        return blocks

    def to_page(self, command: str = "") -> str:
        """Return an HTML page: the front, and a section per metric and reading."""
        from tombola.ranking.page import ranking_page

        return ranking_page(self, f"Ranks: {self.source}" if self.source else "Ranks")

    def __repr__(self) -> str:
        return f"MetricsRanking({', '.join(self.metrics)}, level {self.level:g})"

    def _repr_html_(self) -> str:
        front = html_block(f"{plural(len(self.metrics), 'metric')}", notes=self.front_sentences())
        return front + "".join(
            ranking.to_html_block(name) for name, ranking in self.metrics.items()
        )
