"""`audit` with a judge: the judge scored the whole list, people label some of its rows.

docs/theory/judge.md. The order of the list is a function of the seed and of the ids, sorted. Labels
count up to the first row of this order without one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from tombola import _validate
from tombola._formatting import assignment_text, format_percent, join_names, option_text, plural
from tombola._results import Block
from tombola._types import Floats
from tombola.errors import ParameterError, TableError
from tombola.evidence.audit_statement import Batch, Inequality, Statement, parse_statement
from tombola.evidence.list_audit import AuditReport
from tombola.evidence.page_parts import MAX_POINTS
from tombola.evidence.rows import Rows, RowSource
from tombola.evidence.sequential_audit import Audit, AuditResult, Outcome, sample_size
from tombola.evidence.single_look import (
    Stratum,
    labels_needed,
    single_look_p_value,
    split_by_judge,
)
from tombola.report.evidence_page import TextTable
from tombola.statements import EVERY_LOOK, ONE_LOOK
from tombola.tables.columns import parse_number
from tombola.tables.names import is_id_name

# When people may look at the labels: after any number of them, or once, after a number fixed before.
Looks = Literal["any", 1]
# Simulated audits for the labels that no judge would save.
_FORECAST_SHUFFLES = 50
# Ids that a note spells out at most.
_MAX_IDS = 5
# Scores from here on say 1; for disagreements of labels 0 and 1 only.
_HALF = 0.5


class JudgeSummary(NamedTuple):
    """What the judge did for one statement.

    labels: rows with a label that counts.
    disagreements: rows on which judge and person disagree; None unless labels are 0 or 1. The
        judge says 1 where its score is 1/2 or more.
    too_high: those on which the judge says 1 and the person 0.
    distance: mean distance of score and label, in units of the statement.
    judge_mean: mean of the judge over the whole list, in units of the statement.
    judge_outcome: "proved" if the statement holds with the judge's scores in place of labels.
    needed: the labels used; for one planned look about how many it takes. None while undecided.
    without: about how many labels the same outcome takes without the judge; None while undecided.
    saved: `without` minus `needed`, at least 0; None while undecided.
    """

    statement: str
    labels: int
    disagreements: int | None
    too_high: int | None
    distance: float
    judge_mean: float
    judge_outcome: Outcome
    needed: int | None
    without: int | None
    saved: int | None


@dataclass(frozen=True, eq=False)
class JudgeAudit(AuditReport):
    """Result of `audit` with a judge.

    judge: what the judge did for each statement.
    looks: "any", or 1 for one planned look.
    planned: number of labels of the planned look; None for any number of looks.
    order: ids of the whole list in the order in which people label.
    waiting: ids of rows that have a label, but do not count yet: rows before them have none.
    seed: fixes the order.
    """

    judge: tuple[JudgeSummary, ...] = ()
    looks: Looks = "any"
    planned: int | None = None
    order: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    seed: int = 1

    def next_rows(self, count: int) -> list[str]:
        """Return the ids of the rows to label next: at most `count`, in their order.

        Rows that have a label are left out. A planned look has no row beyond its number of labels.
        """
        count = _validate.integer("JudgeAudit.next_rows", "count", count, least=0)
        labelled = set(self.waiting)
        ahead = self.order[self.rows : self.planned]
        return [name for name in ahead if name not in labelled][:count]

    def blocks(self) -> list[Block]:
        """Return the outcomes, and what the judge did."""
        answer, table, *notes = super().blocks()
        texts = [text for place in range(len(self.judge)) for text in self._judge_texts(place)]
        return [answer, table, *texts, self._order_text, *notes]

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        judge = [
            {**summary._asdict(), "distance": _finite(summary.distance)} for summary in self.judge
        ]
        return {
            **super().to_json(),
            "judge": judge,
            "looks": self.looks,
            "planned": self.planned,
            "waiting": list(self.waiting),
            "seed": self.seed,
        }

    def _page_tables(self) -> tuple[TextTable, ...]:
        texts = [text for place in range(len(self.judge)) for text in self._judge_texts(place)]
        rows = tuple((text,) for text in (*texts, self._order_text))
        return (*super()._page_tables(), TextTable("Judge and people", ("what was seen",), rows))

    def _judge_texts(self, place: int) -> list[str]:
        """Return the sentences on the judge for one statement."""
        summary = self.judge[place]
        result = self.results[place]
        about = f"{summary.statement}: " if len(self.judge) > 1 else ""
        return [about + text for text in _summary_texts(summary, result)]

    @property
    def _order_text(self) -> str:
        """How the labels were drawn, as a sentence."""
        order = f"Labels count in the random order of seed {self.seed}"
        if self.planned is None:
            return f"{order}, at any number of them."
        if self.rows < self.planned:
            missing = plural(self.planned - self.rows, "label")
            return f"{order}. The one look is planned at {self.planned:,} labels: {missing} to go."
        return f"{order}. This is the one look."

    @property
    def _condition(self) -> str:
        if self.planned is None or self.rows == self.population:
            return EVERY_LOOK
        return f"{ONE_LOOK}, if {plural(self.planned, 'label')} were planned before the first"


def _finite(number: float) -> float | None:
    return None if math.isnan(number) else number


def _summary_texts(summary: JudgeSummary, result: AuditResult) -> list[str]:
    """Return labels saved, disagreements, and the claim of the judge alone, as sentences."""
    texts = []
    if summary.without is not None and summary.saved is not None:
        saved = f"The judge saved about {plural(summary.saved, 'label')}"
        if not summary.saved:
            saved = "The judge saved no label"
        used = f"{plural(result.rows, 'label')} were used"
        if summary.needed != result.rows:
            used = f"one look takes about {summary.needed:,}"
        texts.append(f"{saved}: {used}, about {summary.without:,} without it.")
    if summary.labels:
        if summary.disagreements is None:
            texts.append(
                f"Judge and person differ by {summary.distance:.3g} on average on "
                f"{plural(summary.labels, 'row')}."
            )
        else:
            share = format_percent(summary.disagreements / summary.labels)
            too_low = summary.disagreements - (summary.too_high or 0)
            texts.append(
                f"Judge and person disagree on {summary.disagreements:,} of "
                f"{plural(summary.labels, 'row')} ({share}): on {summary.too_high or 0:,} only the "
                f"judge says 1, on {too_low:,} only the person."
            )
    verb = "would hold" if summary.judge_outcome == "proved" else "would not hold"
    alone = (
        f"The judge's own scores of all rows have the mean {summary.judge_mean:.4g}: by them alone "
        f"{summary.statement} {verb}"
    )
    if result.outcome == summary.judge_outcome:
        texts.append(f"{alone}; the labels say the same.")
    elif result.outcome == "undecided":
        texts.append(f"{alone}. That proves nothing about people.")
    else:
        texts.append(f"{alone}. The labels say the opposite.")
    return texts


class _Judge:
    """Scores of the judge for every row of the list, in the order in which people label."""

    def __init__(
        self, judge: Any, statements: Sequence[Statement], span: tuple[float, float], seed: int
    ) -> None:
        source = RowSource(judge)
        self.source = source.source if isinstance(judge, str | Path) else "judge"
        self.notes = source.notes
        rows = list(source.rows())
        place = _id_place(source, "judge")
        ids = [cells[place].strip() for _, cells in rows]
        self._require_distinct(ids)
        # A function of the ids and the seed, not of scores, labels, or lines of a file.
        by_name = sorted(range(len(ids)), key=ids.__getitem__)
        order = [by_name[at] for at in np.random.default_rng(seed).permutation(len(ids))]
        self.ids = [ids[at] for at in order]
        columns = source.columns([rows[at] for at in order])
        self.scores = [
            self._scores(statement, columns, source.header[place], span) for statement in statements
        ]

    def _require_distinct(self, ids: Sequence[str]) -> None:
        seen = set()
        for name in ids:
            if not name or name in seen:
                raise TableError(
                    f"{self.source}: expected a different id in every row, got {name!r} "
                    f"{'again' if name else 'in one'}; repair it."
                )
            seen.add(name)
        if not ids:
            raise TableError(
                f"{self.source}: expected the scores of every row of the list, got none; add rows."
            )

    def _scores(
        self,
        statement: Statement,
        columns: Mapping[str, Sequence[str]],
        id_column: str,
        span: tuple[float, float],
    ) -> Floats:
        """Return the quantity of a statement by the judge, in [0, 1], shape (rows,)."""
        inequality = statement.inequalities[0]
        if all(name in columns for name in statement.columns):
            try:
                return inequality.values(columns)
            except TableError as error:
                text = str(error).removeprefix("audit: ")
                raise TableError(f"{self.source}: {text}") from None
        others = [name for name in columns if name != id_column]
        if len(others) != 1 or len(statement.columns) != 1:
            raise TableError(
                f"{self.source}: expected the judge's {join_names(statement.columns)}, got "
                f"{join_names(others, limit=20)}; name its columns as in the table of labels."
            )
        # One column under another name, such as the probability of a pass.
        low, high = span if statement.value is None else (0.0, 1.0)
        numbers = np.array([parse_number(cell) for cell in columns[others[0]]])
        invalid = ~((numbers >= low) & (numbers <= high))
        if invalid.any():
            raise TableError(
                f"{self.source}: expected scores from {low:g} to {high:g} in {others[0]}, got "
                f"{columns[others[0]][int(np.argmax(invalid))]!r}; repair it, or call the column "
                f"{statement.columns[0]}."
            )
        return np.asarray((numbers - low) / (high - low))


def _id_place(source: RowSource, owner: str) -> int:
    places = [place for place, name in enumerate(source.header) if is_id_name(name)]
    if len(places) != 1:
        raise TableError(
            f"{source.source}: expected one column of row ids beside {option_text(owner)}, got "
            f"{len(places)}; call it id."
        )
    return places[0]


class _Labels(NamedTuple):
    """Labels in the order of the list: rows that count, and ids of later ones."""

    rows: Rows
    waiting: tuple[str, ...]


def _labels_in_order(
    source: RowSource, used: Sequence[str], judge: _Judge, most: int | None
) -> _Labels:
    """Return the labels up to the first row without one, at most `most`."""
    place = _id_place(source, "judge")
    cells_at = [source.header.index(name) for name in used]
    known = set(judge.ids)
    row_of: dict[str, tuple[int, list[str]]] = {}
    for line, cells in source.rows():
        name = cells[place].strip()
        if name not in known:
            raise TableError(
                f"{source.source}: line {line}: expected a row of {judge.source}, got {name!r}; "
                "add it to the judge's scores."
            )
        filled = [bool(cells[at].strip()) for at in cells_at]
        if not any(filled):
            continue
        if not all(filled):
            raise TableError(
                f"{source.source}: line {line}: expected a label for each of {join_names(used)}, "
                "got a blank one; fill it in, or leave all of them blank."
            )
        if name in row_of:
            raise TableError(
                f"{source.source}: line {line}: expected one label for each row, got {name!r} "
                f"again (line {row_of[name][0]}); leave one out."
            )
        row_of[name] = (line, cells)
    count = next((at for at, name in enumerate(judge.ids) if name not in row_of), len(judge.ids))
    counted = judge.ids[: count if most is None else min(count, most)]
    waiting = [name for name in judge.ids[len(counted) :] if name in row_of]
    return _Labels([row_of[name] for name in counted], tuple(waiting))


def audit_with_judge(
    table: Any,
    statements: str | Sequence[str],
    judge: Any,
    *,
    looks: Looks,
    labels: int | None,
    level: float,
    range: tuple[float, float] | None,
    ignore_rows: Sequence[str],
    sheet: str | None,
    seed: int,
) -> JudgeAudit:
    """Return the audit of labels with the help of a judge; parameters as of `audit`.

    table: None for no labels yet.
    """
    texts = [statements] if isinstance(statements, str) else list(statements)
    span = range or (0.0, 1.0)
    parsed = [parse_statement(text, span=span) for text in texts]
    used = list(dict.fromkeys(name for statement in parsed for name in statement.columns))
    oracle = _Judge(judge, parsed, span, seed)
    planned = _planned_labels(looks, labels, oracle, parsed, level)
    counted: Rows = []
    waiting: tuple[str, ...] = ()
    notes = list(oracle.notes)
    name = "labels"
    columns: dict[str, tuple[str, ...]] = {}
    if table is not None:
        source = RowSource(table, sheet, ignore_rows=ignore_rows)
        source.check_columns(used)
        counted, waiting = _labels_in_order(source, used, oracle, planned)
        name = source.source
        notes = [*source.notes, *notes]
        if counted:
            columns = source.columns(counted)
    count = len(counted)
    if waiting and (planned is None or count < planned):
        notes.append(_waiting_note(waiting, oracle.ids[count]))
    quantities = [_values(statement, columns, name) for statement in parsed]
    share = level / len(parsed)
    if planned is None:
        results = _results_at_any_time(parsed, oracle, columns, level, count)
    else:
        results = [
            _single_look(statement, values, scores, share, is_made=count == planned)
            for statement, values, scores in zip(parsed, quantities, oracle.scores, strict=True)
        ]
    estimates = [
        _estimate(values, scores) for values, scores in zip(quantities, oracle.scores, strict=True)
    ]
    summaries = [
        _summary(statement, result, values, scores, estimate, share, seed, is_planned=bool(planned))
        for statement, result, values, scores, estimate in zip(
            parsed, results, quantities, oracle.scores, estimates, strict=True
        )
    ]
    expected = [
        None
        if planned or result.outcome != "undecided" or count < 2
        else _labels_in_all(statement, estimate, values - scores[:count], share, scores.size, seed)
        for statement, result, values, scores, estimate in zip(
            parsed, results, quantities, oracle.scores, estimates, strict=True
        )
    ]
    return JudgeAudit(
        tuple(parsed),
        tuple(results),
        count,
        len(oracle.ids),
        level,
        name,
        tuple(None if rows is None or rows <= count else rows for rows in expected),
        notes=tuple(notes),
        batches=_pieces(columns, count) if planned is None else (),
        judge=tuple(summaries),
        looks=looks,
        planned=planned,
        order=tuple(oracle.ids),
        waiting=waiting,
        seed=seed,
    )


def _pieces(
    columns: Mapping[str, Sequence[str]], count: int
) -> tuple[tuple[Batch, list[str] | None], ...]:
    """Return the labels in pieces, the points of a chart."""
    edges = np.unique(np.linspace(0, count, MAX_POINTS + 1).astype(int)).tolist()
    return tuple(
        ({name: cells[start:stop] for name, cells in columns.items()}, None)
        for start, stop in pairwise(edges)
    )


def _waiting_note(waiting: Sequence[str], gap: str) -> str:
    verb = "waits" if len(waiting) == 1 else "wait"
    return (
        f"{plural(len(waiting), 'label')} {verb} for the row before: label {gap} first "
        f"({join_names(waiting, limit=_MAX_IDS)})"
    )


def _values(statement: Statement, columns: Mapping[str, Sequence[str]], source: str) -> Floats:
    if not columns:
        return np.zeros(0)
    try:
        return statement.inequalities[0].values(columns)
    except TableError as error:
        raise TableError(f"{source}: {str(error).removeprefix('audit: ')}") from None


def _planned_labels(
    looks: Looks, labels: int | None, judge: _Judge, statements: Sequence[Statement], level: float
) -> int | None:
    """Return the number of labels of the one look; None for any number of looks."""
    if looks == "any":
        if labels is not None:
            raise ParameterError(
                f"audit: expected {option_text('labels')} for one planned look, got it for any "
                f"number of looks; write {assignment_text('looks', '1')}, or leave it out."
            )
        return None
    if looks != 1:
        raise ParameterError(
            f"audit: expected {option_text('looks')} 1 or any, got {looks!r}; write one of these."
        )
    if any(statement.is_difference for statement in statements):
        raise ParameterError(
            "audit: expected a mean or a share of labels 0 and 1 for one planned look, got a "
            f"difference; write {assignment_text('looks', 'any')}."
        )
    rows = len(judge.ids)
    if labels is None:
        share = level / len(statements)
        guess = max(
            labels_needed(
                [(rows, float(scores.mean()))], statement.inequalities[0].threshold, share
            )
            for statement, scores in zip(statements, judge.scores, strict=True)
        )
        raise ParameterError(
            f"audit: expected the number of labels of the one look, fixed before the first label; "
            f"write {assignment_text('labels', 'NUMBER')}. {guess:,} are enough even without a "
            "judge if the list is as the judge says."
        )
    labels = _validate.integer("audit", "labels", labels, least=1)
    if labels > rows:
        raise ParameterError(
            f"audit: expected at most {plural(rows, 'label')}, one for each row of the list, got "
            f"{labels:,}; write {assignment_text('labels', str(rows))}."
        )
    return labels


def _results_at_any_time(
    statements: Sequence[Statement],
    judge: _Judge,
    columns: Mapping[str, Sequence[str]],
    level: float,
    count: int,
) -> list[AuditResult]:
    """Return the result of each statement, tested after every label."""
    results = []
    for statement, scores in zip(statements, judge.scores, strict=True):
        test = Audit(
            [statement], scores.size, level / len(statements), history=scores[:, np.newaxis]
        )
        if count:
            test.extend(columns, list(range(count)))
        results += test.results()
    return results


def _single_look(
    statement: Statement, values: Floats, scores: Floats, level: float, *, is_made: bool
) -> AuditResult:
    """Return the result of one planned look; undecided if it is not made yet."""
    (inequality,) = statement.inequalities
    wrong = ~np.isin(values, (0.0, 1.0))
    if wrong.any():
        number = inequality.to_units(float(values[int(np.argmax(wrong))]))
        raise TableError(
            f"audit: expected labels {inequality.to_units(0):g} and {inequality.to_units(1):g} for "
            f"one planned look, got {number:g}; write {assignment_text('looks', 'any')}."
        )
    mean = inequality.to_units(float(values.mean())) if values.size else math.nan
    deviation = inequality.unit * float(values.std()) if values.size else math.nan
    open_result = AuditResult(statement.text, "undecided", values.size, 1.0, mean, deviation)
    if not is_made:
        return open_result
    strata = split_by_judge(scores)
    outcomes: tuple[tuple[Outcome, bool], ...] = (("proved", False), ("refuted", True))
    for outcome, holds in outcomes:
        p_value = _p_value(inequality, values, strata, level, holds=holds)
        if p_value <= level:
            return open_result._replace(outcome=outcome, p_value=p_value)
    return open_result


def _p_value(
    inequality: Inequality, values: Floats, strata: Any, level: float, *, holds: bool
) -> float:
    """Return a p-value of "the inequality holds", or of "it does not hold"."""
    rows = strata.size
    # Numbers of ones of the list for which the hypothesis is true: from 0 up, or from `rows` down.
    is_from_below = inequality.above is not holds
    most = -1
    low, high = -1, rows
    while low < high:
        middle = (low + high + 1) // 2
        ones = middle if is_from_below else rows - middle
        if inequality.holds(ones / rows, rows) is holds:
            low = middle
        else:
            high = middle - 1
    most = low
    labels = values if is_from_below else 1.0 - values
    counted = strata[: values.size]
    parts = [
        Stratum(
            int((strata == part).sum()),
            int((counted == part).sum()),
            int(labels[counted == part].sum()),
        )
        for part in np.unique(strata)
    ]
    return single_look_p_value(parts, most, level)


def _estimate(values: Floats, scores: Floats) -> float:
    """Return the mean of the list by labels and scores: that of the judge, less its bias."""
    if not values.size:
        return float(scores.mean())
    bias = float((scores[: values.size] - values).mean())
    return min(1.0, max(0.0, float(scores.mean()) - bias))


def _summary(
    statement: Statement,
    result: AuditResult,
    values: Floats,
    scores: Floats,
    estimate: float,
    level: float,
    seed: int,
    *,
    is_planned: bool,
) -> JudgeSummary:
    inequality = statement.inequalities[0]
    judged = scores[: values.size]
    is_binary = bool(np.isin(values, (0.0, 1.0)).all()) and not statement.is_difference
    says_one = judged >= _HALF
    judge_mean = float(scores.mean())
    judge_holds = all(part.holds(judge_mean, scores.size) for part in statement.inequalities)
    needed: int | None = None
    without = saved = None
    if result.outcome != "undecided":
        needed = result.rows
        if is_planned:
            # The plan may be larger than needed: compare what both ways take.
            shares = _shares(values, scores)
            needed = labels_needed(shares, inequality.threshold, level)
            share = sum(rows * ones for rows, ones in shares) / scores.size
            without = labels_needed([(scores.size, share)], inequality.threshold, level)
        else:
            without = _labels_in_all(statement, estimate, values, level, scores.size, seed)
        saved = max(0, without - needed)
    return JudgeSummary(
        statement.text,
        values.size,
        int((says_one != (values == 1.0)).sum()) if is_binary else None,
        int((says_one & (values == 0.0)).sum()) if is_binary else None,
        inequality.unit * float(np.abs(judged - values).mean()) if values.size else math.nan,
        inequality.to_units(judge_mean),
        "proved" if judge_holds else "refuted",
        needed,
        without,
        saved,
    )


def _shares(values: Floats, scores: Floats) -> list[tuple[int, float]]:
    """Return rows and share of ones of each stratum of the judge, by the labels so far."""
    strata = split_by_judge(scores)
    counted = strata[: values.size]
    mean = float(values.mean())
    parts = []
    for part in np.unique(strata):
        labels = values[counted == part]
        share = float(labels.mean()) if labels.size else mean
        parts.append((int((strata == part).sum()), share))
    return parts


def _labels_in_all(
    statement: Statement, mean: float, values: Floats, level: float, rows: int, seed: int
) -> int:
    """Estimate the labels that decide a statement at any time, if rows vary as `values` do."""
    needed = []
    for inequality in statement.inequalities:
        if mean == inequality.threshold:
            return rows
        forecast = sample_size(
            inequality.threshold,
            mean,
            population=rows,
            deviation=float(values.std()),
            level=level,
            shuffles=_FORECAST_SHUFFLES,
            seed=seed,
        )
        needed.append(forecast.median)
    return max(needed)
