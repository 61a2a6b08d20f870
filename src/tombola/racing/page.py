"""The page of a race: the sentence on top, who fell where, wealth and survivors as curves, how to check it again."""

import math

import numpy as np

from tombola._types import Floats
from tombola.racing.timeline import Standing, Story
from tombola.racing.verdict import is_exact, is_near
from tombola.report.chart import Band, Chart, Line
from tombola.report.page import drawing, render

CURVES, MARKS, SHOWN = 6, 160, 12
TINY = 1e-4


def race_page(story: Story) -> str:
    """Return the page."""
    charts = [_wealth(story), _survivors(story)] if story.race.rows_counted else []
    return render(
        "race.html",
        title=_title(story),
        lead=f"{story.race.verdict}.",
        story=story,
        race=story.race,
        cards=_cards(story),
        lines=[_line(story, one) for one in story.standings],
        shown=SHOWN,
        drawings=[drawing(f"race-{index}", chart) for index, chart in enumerate(charts)],
    )


def _title(story: Story) -> str:
    race = story.race
    if race.proved and race.settings.baseline is None:
        more = f" and {len(race.answer) - 3} more" if len(race.answer) > 3 else ""
        near = f"Within {race.settings.within:g} of the best" if is_near(race) else "The best"
        return f"{near}: {', '.join(race.answer[:3])}{more}"
    if race.settings.baseline is not None and race.proved is not None:
        return "The gate is passed" if race.proved else "The gate is not passed"
    return "Undecided" if race.done else "A race that goes on"


def _cards(story: Story) -> list[tuple[str, str]]:
    race = story.race
    share = race.calls_saved / (race.calls_made + race.calls_saved)
    cards = [
        ("candidates", f"{len(race.candidates):,}"),
        ("rows counted", f"{race.rows_counted:,} of {len(race.rows):,}"),
        ("calls", f"{race.calls_made:,}"),
        ("calls saved", f"{race.calls_saved:,} ({share:.0%})"),
        ("may be wrong with", "0: certain" if is_exact(race.field) else f"{race.settings.level:.2g}"),
    ]
    if race.cost:
        cards.append(("cost", f"{race.cost:,.6g}"))
        cards.append(("cost saved, about", f"{story.cost_saved:,.6g}"))
    if race.failures:
        cards.append(("failed calls", f"{race.failures:,}"))
    return cards


def _line(story: Story, one: Standing) -> dict[str, str | bool]:
    """Return a candidate as the table shows it."""
    certain = "certain" if math.isinf(one.wealth) else f"{one.wealth:,.3g}"
    return {
        "name": one.name,
        "active": one.active,
        "mean": f"{one.mean:.4g}" if one.rows else "–",
        "rows": f"{one.rows:,}",
        "out": "in the race" if one.active else f"{one.rows:,}",
        "against": one.against or "–",
        "wealth": "–" if one.active else certain,
    }


def _wealth(story: Story) -> Chart:
    """Return the wealth against those candidates that stayed longest."""
    race, goal = story.race, float(story.race.field.state.goal)
    names = [one.name for one in story.standings[:CURVES]]
    bands = []
    for name in names:
        values = story.wealth[:, race.candidates.index(name)]
        rows = np.flatnonzero(~np.isnan(values))
        marks = rows[np.unique(np.linspace(0, rows.size - 1, MARKS).astype(int))]
        height = np.clip(values[marks], TINY, 10 * goal)
        bands.append(Band(name, marks + 1.0, height, height, height))
    most = f" (the {CURVES} that stayed longest)" if len(story.standings) > CURVES else ""
    words = f"The wealth of the bet against each candidate{most}; at the dashed line it is out"
    ends: Floats = np.array([1.0, float(max(race.rows_counted, 2))])
    line = Line("out", ends, np.full(2, goal))
    return Chart("Wealth over rows", "rows", "wealth", tuple(bands), (line,), log_x=False, log_y=True, alt=words)


def _survivors(story: Story) -> Chart:
    """Return how many candidates were still in the race after so many calls."""
    falls = np.flatnonzero(np.diff(story.survivors)) + 1
    x = np.concatenate([[0.0], np.repeat(story.calls[falls], 2), story.calls[-1:]])  # a staircase
    y = np.repeat(np.concatenate([story.survivors[:1], story.survivors[falls]]), 2)
    words = "How many candidates are in the race after so many calls"
    band = Band("in the race", x, y, y, y)
    return Chart(
        "Survivors over calls", "calls", "candidates in the race", (band,), log_x=False, log_y=False, alt=words
    )
