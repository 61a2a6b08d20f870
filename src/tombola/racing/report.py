"""Report of a race as data, JSON and HTML page; run times of its candidates."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola import __version__
from tombola._formatting import HtmlTable, html_block
from tombola.errors import ParameterError
from tombola.racing._race import Race
from tombola.racing.events import Event
from tombola.racing.means import ChosenMean, mean_text
from tombola.racing.settings import hash_of_rows
from tombola.report.figures import draw_chart
from tombola.report.lanes import draw_lanes
from tombola.units import Units

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tombola.worklists.race_file import RaceFile

# PAR10, penalised average run time: a call without a solution counts ten times the time limit, as
# is usual for solvers.
_PENALTY_FACTOR = 10.0
# Sentence below the table of means of a race with answers on file, on the page and on the terminal.
MEANS_NOTE = (
    "Means are over all answers, on file and recorded; the verdict counts rows in random order."
)


class Standing(NamedTuple):
    """One candidate in the report of a race.

    With answers on file, its mean is over all answers; else over the rows counted before its drop.
    """

    name: str
    mean_loss: float
    rows: int  # that the mean is over; 0 before the first
    active: bool
    against: str = ""  # the opponent it lost to, if dropped
    wealth: float = math.nan  # of the bet that dropped it
    ranks: tuple[int, int] | None = None  # first and last possible rank, with question="ranks"
    drop_row: int = 0


@dataclass(frozen=True, eq=False)
class RaceReport:
    """Data of the report of a race: standings, curves and origin of the answers.

    standings         the candidates: active ones first, by mean loss, then dropped ones, the last
                      drop first; with question="ranks" they are sorted by rank set
    name              name of the race file; "" for a race in memory
    evaluator_config  how the calls were made (`SubprocessEvaluator.to_json`); None if unknown
    earlier_limits    (max_calls, max_cost) before each time they were raised, oldest first
    """

    race: Race
    standings: tuple[Standing, ...]
    name: str = ""
    evaluator_config: dict[str, Any] | None = None
    earlier_limits: tuple[tuple[int | None, float | None], ...] = ()

    @classmethod
    def from_race(cls, race: Race) -> "RaceReport":
        """Return the report of a race in memory, finished or not."""
        return cls(race, _standings(race))

    @classmethod
    def from_file(cls, file: "RaceFile", race: Race | None = None) -> "RaceReport":
        """Return the report of a race file; `race`: its race, if it was replayed already."""
        # The race first: reading it also reads the limits that other processes raised.
        report = cls.from_race(race or file.race)
        config = file.evaluator_config or None
        limits = file.earlier_limits
        return replace(report, name=file.path.name, evaluator_config=config, earlier_limits=limits)

    @property
    def hash_of_rows(self) -> str:
        """SHA-256 of the row names in the order of the list, in hexadecimal."""
        return hash_of_rows(self.race.rows)

    @property
    def cost_saved(self) -> float | None:
        """Calls saved times the mean cost of a call; None without costs, or while undecided."""
        race = self.race
        if not race.calls_answered or not race.cost or race.calls_saved is None:
            return None
        return race.cost / race.calls_answered * race.calls_saved

    def to_json(self) -> dict[str, Any]:
        """Return the report as a dict of JSON data.

        statement: what the race claims (`Statement.to_json`); verdict: its text, with the direction.
        calls_left: cells without a call; calls_saved: the same once the race is decided, else None.
        proved: True, False (refuted) or None (open). quantity: "loss", "score" or the unit. answer:
            list of names.
        candidates: list of dicts: name; mean, in the unit of the race, and rows it is over; active;
            against and wealth, opponent and wealth of the bet that dropped it, "certain" if
            infinite; ranks, [first, last]; drop_row. None if unknown.
        chosen_means: of a finished race, for each candidate of the answer (or the leader): name, mean,
            low and high in the unit of the race, which allow for the choice, rows, and statement.
        pilot: sentence on the pilot, if one was wanted.
        calls_on_file: only with answers on file. cost_saved_estimate: None if unknown.
        groups: only with groups: by name, proved, answer, rows, rows_counted, and means by
            candidate.
        settings, evaluator: `RaceSettings.to_json` and `evaluator_config`. hash_of_rows: SHA-256 of
            the row names.
        """
        race = self.race
        return {
            "verdict": race.verdict,
            "statement": race.statement.to_json(),
            "proved": race.proved,
            "answer": list(race.answer),
            "done": race.done,
            "quantity": race.settings.units.quantity,
            "candidates": [_to_json(standing, race.settings.units) for standing in self.standings],
            "chosen_means": [_mean_json(race, mean) for mean in self.chosen_means],
            "rows": len(race.rows),
            "rows_counted": race.rows_counted,
            "calls": race.calls_made,
            "calls_left": race.calls_left,
            "calls_saved": race.calls_saved,
            **({"calls_on_file": race.calls_on_file} if race.calls_on_file else {}),
            **({"groups": _groups_json(race)} if race.strata is not None else {}),
            **({"pilot": race.pilot_text} if race.pilot_text else {}),
            "failures": race.failures,
            "cost": race.cost,
            "cost_saved_estimate": self.cost_saved,
            "settings": race.settings.to_json(),
            "earlier_limits": [
                {"max_calls": calls, "max_cost": cost} for calls, cost in self.earlier_limits
            ],
            "hash_of_rows": self.hash_of_rows,
            "evaluator": self.evaluator_config,
            "tombola": __version__,
        }

    @cached_property
    def chosen_means(self) -> tuple[ChosenMean, ...]:
        """Means of the chosen candidates of a decided race; an open one has chosen nobody."""
        return self.race.chosen_means() if self.race.proved is not None else ()

    def group_cells(self) -> list[dict[str, str]]:
        """Return a dict of texts per group: name, rows, answer, leader and its mean."""
        units = self.race.settings.units
        cells = []
        for name, result in self.race.by_group.items():
            means = {
                candidate: mean
                for candidate, (mean, n) in _means(self.race, name).items()
                if n and candidate in result.active
            }
            leader = min(means, key=means.__getitem__, default=None)
            cells.append(
                {
                    "name": name,
                    "rows": f"{result.rows_counted:,} of {result.rule.rows:,}",
                    "answer": result.text,
                    "leader": leader or "–",
                    "mean": "–" if leader is None else f"{units.number(means[leader]):.4g}",
                }
            )
        return cells

    def to_html(self) -> str:
        """Return the report as text of a self-contained HTML page; no file is written."""
        from tombola.racing.page import race_page

        return race_page(self)

    @property
    def heading(self) -> str:
        """The final answer for the whole list, or the state of the race, in a few words."""
        return self.race.statement.heading

    @property
    def means_note(self) -> str:
        """What the means are over, if answers are on file; else ""."""
        return MEANS_NOTE if self.race.calls_on_file else ""

    def facts(self) -> list[tuple[str, str]]:
        """Return counts, costs and limits as pairs (name, value)."""
        return _cards(self)

    def table_row(self, standing: Standing) -> dict[str, str | bool]:
        """Return the texts of a candidate in the table of standings."""
        return _table_row(standing, self.race)


def race_html(race: Race) -> str:
    """Return an HTML fragment about a race for notebooks: verdict and standings."""
    report = RaceReport.from_race(race)
    lines = (_table_row(standing, race) for standing in report.standings)
    rows = [
        tuple(str(line[key]) for key in ("name", "mean_loss", "rows", "state")) for line in lines
    ]
    table = HtmlTable(("candidate", f"mean {race.settings.units.quantity}", "rows", "state"), rows)
    return html_block(report.heading, _cards(report), [table], [f"{race.verdict}."])


def plot_race(
    race: Race, curve: str, axes: "Axes | None", size: tuple[float, float] | None
) -> "Figure":
    """Draw the "lanes", "wealth" or "survivors" of a race; see `Race.plot`."""
    # The page is built on reports.
    from tombola.racing.page import race_lanes, survivor_chart, wealth_chart

    charts = {"wealth": wealth_chart, "survivors": survivor_chart}
    if curve not in ("lanes", *charts):
        raise ParameterError(
            "plot: expected curve='lanes', curve='wealth' or curve='survivors', got "
            f"{curve!r}; write one of them."
        )
    if not race.rows_counted:
        raise ParameterError(
            "plot: expected a race with at least one row counted, got none; plot it later."
        )
    report = RaceReport.from_race(race)
    if curve == "lanes":
        return draw_lanes(
            race_lanes(report),
            len(race.rows),
            on_file=bool(race.calls_on_file),
            axes=axes,
            size=size,
        )
    return draw_chart(charts[curve](report), axes=axes, size=size)


def _standings(race: Race) -> tuple[Standing, ...]:
    means = _means(race)
    sets = race.rank_sets
    active = [
        Standing(name, *means[name], active=True, ranks=sets.get(name)) for name in race.active
    ]
    dropped = [
        Standing(name, *means[name], False, against, wealth, sets.get(name), row)  # noqa: FBT003 - not active
        for name, row, against, wealth in race.dropped
    ]
    # A candidate without answers has mean NaN, which does not sort: it comes last.
    active.sort(key=lambda standing: (not standing.rows, standing.mean_loss))
    if not sets:
        return (*active, *reversed(dropped))
    # Candidates without a rank set, with settings.candidate, come last.
    unranked = (len(race.candidates) + 1,) * 2
    ranked = sorted(
        [*active, *dropped],
        key=lambda standing: (*(standing.ranks or unranked), not standing.rows, standing.mean_loss),
    )
    # A settled rank rests on many pairs, so there is no single wealth to show.
    return tuple(standing._replace(wealth=math.nan) for standing in ranked)


def _means(race: Race, group: str | None = None) -> dict[str, tuple[float, int]]:
    """Return mean loss and number of its rows by candidate, on the list or in a group.

    With answers on file they are over all answers, else over the rows counted; NaN and 0 without
    any.
    """
    result = race.whole if group is None else race.by_group[group]
    if not race.calls_on_file:
        state = result.rule.state
        counts = np.where(state.active > 0, state.rows_seen[0], state.drop_row).astype(int).tolist()
        return dict(
            zip(race.candidates, zip(result.mean_losses.values(), counts, strict=True), strict=True)
        )
    members: Any = slice(None)
    if race.strata is not None and group is not None:
        members = np.array(race.strata.of_row) == race.strata.names.index(group)
    means = {}
    for name, column in zip(race.candidates, race.answer_columns(), strict=True):
        losses = column[members][~np.isnan(column[members])]
        means[name] = (float(losses.mean()) if losses.size else math.nan, losses.size)
    return means


def _to_json(standing: Standing, units: Units) -> dict[str, Any]:
    # JSON has neither infinity nor NaN.
    wealth = (
        "certain"
        if math.isinf(standing.wealth)
        else None
        if math.isnan(standing.wealth)
        else standing.wealth
    )
    fields = standing._asdict()
    return {
        "name": fields.pop("name"),
        "mean": _known_mean(fields.pop("mean_loss"), units),
        **fields,
        "wealth": wealth,
        "against": standing.against or None,
    }


def _known_mean(loss: float, units: Units) -> float | None:
    """Return a mean loss in the unit of the race, rounded to 12 digits; None for NaN."""
    return None if math.isnan(loss) else float(units.text(loss))


def _mean_json(race: Race, mean: ChosenMean) -> dict[str, Any]:
    units = race.settings.units
    low, high = sorted((units.number(mean.low), units.number(mean.high)))
    return {
        "name": mean.name,
        "mean": _known_mean(mean.naive, units),
        "low": low,
        "high": high,
        "rows": mean.rows,
        "statement": mean_text(race, mean),
    }


def _groups_json(race: Race) -> dict[str, Any]:
    units = race.settings.units
    return {
        name: {
            "proved": result.proved,
            "answer": list(result.answer),
            "rows": result.rule.rows,
            "rows_counted": result.rows_counted,
            "means": {
                candidate: _known_mean(mean, units)
                for candidate, (mean, _) in _means(race, name).items()
            },
        }
        for name, result in race.by_group.items()
    }


def _cards(report: RaceReport) -> list[tuple[str, str]]:
    race = report.race
    units = race.settings.units
    # Rows and calls are in the answer at the top of the page.
    cards = [
        ("candidates", f"{len(race.candidates):,}"),
        ("answers", f"{units.quantity}, {'higher' if units.scores else 'lower'} is better"),
        ("error probability", race.statement.error_text),
    ]
    if race.calls_on_file:
        cards.append(("answers on file", f"{race.calls_on_file:,}"))
    for mean in report.chosen_means:
        ends = sorted((units.number(mean.low), units.number(mean.high)))
        text = " to ".join(dict.fromkeys(f"{end:.4g}" for end in ends))
        cards.append((f"mean {units.quantity} of {mean.name}, choice allowed for", text))
    if race.cost:
        cards.append(("cost", f"{race.cost:,.6g}"))
    if report.cost_saved is not None:
        cards.append(("cost saved, estimate", f"{report.cost_saved:,.6g}"))
    for word, now, before in limit_history(report):
        raised = f", {', '.join(f'{limit:,.6g}' for limit in before)} before" if before else ""
        cards.append((f"cap on {word}", f"{now:,.6g}{raised}"))
    if race.failures:
        cards.append(("failed calls", f"{race.failures:,}"))
    return cards


def limit_history(report: RaceReport) -> list[tuple[str, float, list[float]]]:
    """Return ("calls" or "cost", present limit, earlier limits) of each limit set."""
    history: list[tuple[str, float, list[float]]] = []
    for at, name in enumerate(("max_calls", "max_cost")):
        if (now := getattr(report.race.settings, name)) is not None:
            before = dict.fromkeys(limit[at] for limit in report.earlier_limits)
            history.append(
                (
                    name.removeprefix("max_"),
                    now,
                    [limit for limit in before if limit not in (None, now)],
                )
            )
    return history


def _table_row(standing: Standing, race: "Race") -> dict[str, str | bool]:
    units = race.settings.units
    baseline = race.settings.baseline
    stays = "baseline" if standing.name == baseline else "in the race"
    decided = "passed" if standing.name in race.answer else "failed"
    wealth = "certain" if math.isinf(standing.wealth) else f"{standing.wealth:,.3g}"
    return {
        "name": standing.name,
        "active": standing.active,
        # A gate decides about candidates; the baseline always stays.
        "first": decided == "passed" if baseline else standing.active,
        "mean_loss": f"{units.number(standing.mean_loss):.4g}" if standing.rows else "–",
        "rows": f"{standing.rows:,}",
        "state": stays
        if standing.active
        else decided
        if baseline
        else f"behind {standing.against}",
        "drop_row": stays if standing.active else f"{standing.drop_row:,}",
        "against": standing.against or "–",
        "wealth": "–" if math.isnan(standing.wealth) else wealth,
    }


class RunTimes(NamedTuple):
    """Run times of one candidate, over its answered calls.

    seconds: total; a timeout counts as the time limit.
    failures: number of calls that failed before the time limit.
    par10: mean seconds of a call, where one that was not solved counts as ten time limits; NaN
        without calls.
    """

    name: str
    calls: int
    seconds: float
    timeouts: int
    failures: int
    par10: float


def run_times(race: Race, events: Iterable[Event], cap: float) -> list[RunTimes]:
    """Return the run times of all candidates, in their order.

    `cap` is the time limit of a call in seconds; `events` are those of the race. The losses of the
    race must be seconds / `cap`, and the costs seconds. The candidates of a race answer different
    rows, so compare PAR10 only of those that ran to the end.
    """
    times = []
    answers = [
        (race.call(event.ticket).candidate, event) for event in events if event.kind == "answer"
    ]
    for name in race.candidates:
        own = [event for candidate, event in answers if candidate == name]
        failures = sum(call.failed for call in own)
        solved = [call.cost for call in own if not call.failed and call.loss != 1.0]
        unsolved = len(own) - len(solved)
        par10 = (sum(solved) + _PENALTY_FACTOR * cap * unsolved) / len(own) if own else math.nan
        times.append(
            RunTimes(
                name, len(own), sum(call.cost for call in own), unsolved - failures, failures, par10
            )
        )
    return times
