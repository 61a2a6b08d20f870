"""HTML page of a race: the answer, lanes, means or ranks, and the evidence in detail."""

import math
from typing import TYPE_CHECKING

import numpy as np

from tombola._formatting import format_number, format_percent, plural
from tombola._types import Floats
from tombola.report.chart import Band, Chart, Line
from tombola.report.components import Answer, DotList, DotRow
from tombola.report.lanes import Lane
from tombola.report.page import draw_for_page, render
from tombola.statements import rank_text
from tombola.tables.to_pool import direction_text

if TYPE_CHECKING:
    from tombola.racing._race import Race
    from tombola.racing.report import RaceReport, Standing

# Wealth curves in the chart: more cannot be told apart by colour.
_MAX_CURVES = 6
# Points per curve: more are not visible, and make the page heavy.
_POINTS_PER_CURVE = 160
# Rows counted from which curves over rows are drawn: fewer make an empty picture.
_MIN_CHART_ROWS = 3
# Candidates that lists and tables show before the rest is folded away.
_MAX_ROWS = 20
# Lower end of the logarithmic wealth axis: smaller wealths are drawn there, since they all mean no
# evidence.
_MIN_PLOTTED_WEALTH = 1e-4


def race_page(report: "RaceReport") -> str:
    """Return the report of a race as text of a self-contained HTML page."""
    race = report.race
    units = race.settings.units
    charts = []
    if len(race.wealth) >= _MIN_CHART_ROWS:
        # Ranks have one wealth per pair: no curve per candidate.
        charts = [*([] if race.rank_sets else [wealth_chart(report)]), survivor_chart(report)]
    return render(
        "race.html",
        title=_title(report),
        lead="",
        report=report,
        race=race,
        answer=_answer(report),
        facts=report.facts(),
        lanes=race_lanes(report),
        standings=[report.table_row(standing) for standing in report.standings],
        shown=_MAX_ROWS,
        groups=report.group_cells(),
        means_note=report.means_note,
        quantity=units.quantity,
        is_claimed=race.statement.is_claimed,
        error_sentence=_error_sentence(race),
        ended="dropped" if race.settings.baseline is None else "decided",
        ranks=_rank_list(report),
        means=_mean_list(report) if race.calls_on_file else None,
        cells_text=_cells_text(race) if race.calls_on_file else "",
        is_recorded=race.reading == "recorded",
        drawings=[draw_for_page(f"race-{index}", chart) for index, chart in enumerate(charts)],
    )


def _title(report: "RaceReport") -> str:
    kind = "Gate" if report.race.settings.baseline is not None else "Race"
    return f"{kind}: {report.name}" if report.name else f"{kind} in memory"


def _answer(report: "RaceReport") -> Answer:
    race = report.race
    tag, tone = _verdict_tag(race)
    total = race.calls_made + race.calls_left
    # Calls that are not made are saved only once the race is decided.
    rest = "calls not made" if race.calls_saved is None else "calls saved"
    left = race.calls_left if race.calls_saved is None else race.calls_saved
    share = format_percent(left / max(total, 1))
    facts = (
        ("rows counted", f"{race.rows_counted:,} of {len(race.rows):,}"),
        ("calls made", f"{race.calls_made:,} of {total:,}"),
        (rest, f"{left:,} ({share})"),
    )
    direction = direction_text(race.settings.kind, race.settings.unit)
    sentence = f"{race.statement.full} {direction[:1].upper()}{direction[1:]}."
    return Answer(tag, tone, report.heading, sentence, facts)


def _error_sentence(race: "Race") -> str:
    """Return how probable it is that the answer is wrong; without an answer, that there is none."""
    statement = race.statement
    if not statement.is_claimed:
        yet = " yet" if statement.overall == "running" else ""
        return f"Nothing is claimed{yet}, so there is nothing that could be wrong."
    if statement.is_certain:
        return "It is certain, in whatever order the rows came."
    error = statement.error_text
    return f"It is wrong with probability {error}, however often the race was inspected."


def _verdict_tag(race: "Race") -> tuple[str, str]:
    """Return the verdict in one word, and its tone."""
    verdict = race.statement.overall
    is_gate = race.settings.baseline is not None
    if verdict == "refuted":
        return _failed_word(race), "bad"
    if verdict in ("exact", "proved"):
        return ("passed" if is_gate else verdict), "good"
    return verdict, "open" if verdict == "running" else "fair"


def _failed_word(race: "Race") -> str:
    """Return what a candidate that fails the gate is: only a margin proves that it is worse."""
    return "worse" if race.settings.within else "not better"


def race_lanes(report: "RaceReport") -> list[Lane]:
    """Return a lane per candidate, up to the row where it was dropped or decided."""
    race = report.race
    state = race.whole.rule.state
    lanes = []
    for standing in report.standings:
        at = race.candidates.index(standing.name)
        rows = int(state.rows_seen[0] if state.active[at] > 0 else state.drop_row[at])
        note, tone = _lane_note(race, standing, rows)
        mean = race.settings.units.number(standing.mean_loss) if standing.rows else math.nan
        text = "" if math.isnan(mean) else f"mean {format_number(mean)}"
        lanes.append(Lane(standing.name, rows, note, tone, text))
    return lanes


def _lane_note(race: "Race", standing: "Standing", rows: int) -> tuple[str, str]:
    """Return what happened to a candidate, and the tone of its lane."""
    baseline = race.settings.baseline
    if baseline is not None:
        if standing.name == baseline:
            return "baseline", ""
        if standing.active:
            return "open", ""
        passed = standing.name in race.answer
        word = "passed" if passed else _failed_word(race)
        return f"{word} after {rows:,}", "good" if passed else "bad"
    if standing.ranks is not None:
        first, last = standing.ranks
        return f"rank {rank_text(standing.ranks)}", "good" if first == last else ""
    if not standing.active:
        return f"out after {rows:,}", ""
    proved = race.whole.proved is not None and standing.name in race.answer
    return ("best" if proved else "in the race"), "good" if proved else ""


def _rank_list(report: "RaceReport") -> DotList | None:
    """Return the rank sets as bars; None without question="ranks"."""
    race = report.race
    k = len(race.candidates)
    rows = tuple(
        rank_row(
            standing.name,
            standing.ranks,
            format_number(race.settings.units.number(standing.mean_loss)),
        )
        for standing in report.standings
        if standing.ranks
    )
    return DotList(rows, 0.5, k + 0.5, "rank", counts=True) if rows else None


def rank_row(name: str, ranks: tuple[int, int], mean: str, *, separated: bool = False) -> DotRow:
    """Return the bar of a rank set, on an axis from 0.5 to k + 0.5."""
    first, last = ranks
    text = rank_text(ranks)
    return DotRow(
        name,
        text,
        first - 0.5,
        # A contradiction (Place.is_contradictory) leaves no rank; the verdict reports it.
        max(last, first - 1) + 0.5,
        tone="good" if first == last else "",
        separated=separated,
        words=f"{name}: rank {text}, mean {mean}",
    )


def _mean_list(report: "RaceReport") -> DotList:
    """Return the means of all candidates, with the means that are still possible."""
    race = report.race
    units = race.settings.units
    n = len(race.rows)
    sums = [
        (int(np.isnan(column).sum()), float(np.nansum(column))) for column in race.answer_columns()
    ]
    rows = []
    for standing in report.standings:
        n_open, total = sums[race.candidates.index(standing.name)]
        low, high = units.interval(total / n, (total + n_open) / n)
        mean = None if n_open == n else units.number(total / (n - n_open))
        text = "–" if mean is None else format_number(mean)
        known = f"{n - n_open:,} of {n:,}"
        rows.append(
            DotRow(
                standing.name,
                f"{text} ({known})",
                low,
                high,
                mean,
                "good" if standing.active and race.dropped else "",
                words=f"{standing.name}: mean {units.quantity} {text} on {known} rows, from "
                f"{low:.4g} to {high:.4g} on all",
            )
        )
    return DotList(tuple(rows), units.low, units.high, f"mean {units.quantity}")


def _cells_text(race: "Race") -> str:
    """Return how many cells of the table are known from where, so that the counts add up.

    Second calls of a pilot are calls, too, but they fill no cell.
    """
    cells = len(race.rows) * len(race.candidates)
    known = sum(int((~np.isnan(column)).sum()) for column in race.answer_columns())
    called = known - race.calls_on_file
    text = (
        f"The table has {plural(cells, 'cell')}: {race.calls_on_file:,} on file, {called:,} "
        f"answered by calls, {cells - known:,} without an answer."
    )
    if extra := race.calls_answered - called:
        text += f" {plural(extra, 'call')} of the pilot filled no cell."
    return text


def wealth_chart(report: "RaceReport") -> Chart:
    """Return the chart of the wealth of the bets over the rows."""
    race = report.race
    wealth = race.wealth
    threshold = float(race.rule.state.threshold)
    bands = []
    for standing in report.standings[:_MAX_CURVES]:
        values = wealth[:, race.candidates.index(standing.name)]
        rows = np.flatnonzero(~np.isnan(values))
        if not rows.size:
            # Answers on file dropped it before the first row.
            continue
        points = rows[np.unique(np.linspace(0, rows.size - 1, _POINTS_PER_CURVE).astype(int))]
        height = np.clip(values[points], _MIN_PLOTTED_WEALTH, 10 * threshold)
        bands.append(Band(standing.name, points + 1.0, height, height, height))
    which = (
        f" (the {_MAX_CURVES} that stayed longest)" if len(report.standings) > _MAX_CURVES else ""
    )
    is_gate = race.settings.baseline is not None
    ended = "decided" if is_gate else "dropped"
    bet = "for or against" if is_gate else "against"
    words = f"Evidence {bet} each candidate{which}; at the dashed line the candidate is {ended}"
    ends: Floats = np.array([1.0, float(max(race.rows_counted, 2))])
    line = Line(ended, ends, np.full(2, threshold))
    return Chart(
        "Evidence over rows",
        "rows",
        "evidence (wealth of a bet)",
        tuple(bands),
        (line,),
        log_x=False,
        log_y=True,
        alt=words,
    )


def survivor_chart(report: "RaceReport") -> Chart:
    """Return the chart of the candidates left over the calls."""
    race = report.race
    # Answers used, and candidates left, before the first row and after each row.
    answers = np.concatenate([[0.0], np.cumsum((~np.isnan(race.wealth)).sum(axis=1).astype(float))])
    drops = np.bincount([drop.row for drop in race.dropped], minlength=len(answers))
    left = len(race.candidates) - np.cumsum(drops).astype(float)
    rows = np.flatnonzero(np.diff(left)) + 1
    # Two points per drop draw a step function.
    x = np.concatenate([[0.0], np.repeat(answers[rows], 2), answers[-1:]])
    y = np.repeat(np.concatenate([left[:1], left[rows]]), 2)
    # Answers on file are counted when their rows come up, without a call.
    effort = "answers" if race.calls_on_file else "calls"
    words = f"Candidates in the race over the number of {effort}"
    band = Band("in the race", x, y, y, y)
    return Chart(
        f"Survivors over {effort}",
        effort,
        "candidates in the race",
        (band,),
        log_x=False,
        log_y=False,
        alt=words,
    )
