"""What the status of a race says: verdict, standings, evidence, groups, limits, run times.

The data are those of `RaceReport.to_json`, which a server sends too; what needs the race itself is
left out for a race of a server.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tombola._results import Block, Cells, Command
from tombola.racing.report import MEANS_NOTE, RaceReport, RunTimes, limit_history
from tombola.racing.settings import RaceSettings
from tombola.statements import rank_text
from tombola.tables.to_pool import direction_text

if TYPE_CHECKING:
    from tombola.racing._race import Race


def direction(settings: RaceSettings) -> str:
    """Return the direction of the answers of a race as a phrase."""
    return direction_text(settings.kind, settings.unit)


def status_blocks(facts: dict[str, Any], report: RaceReport | None, command: str) -> list[Block]:
    """Return the status of a race below the line that states its direction.

    facts: JSON data of the report.
    report: the report itself; None if the data came from a server.
    command: command line that continues the race.
    """
    settings = RaceSettings.from_json(facts["settings"])
    verdict = facts["verdict"].removesuffix(f"; {direction(settings)}")
    blocks: list[Block] = [f"{verdict}; seed {settings.seed}", _standings(facts, settings)]
    # A server of an earlier version has none.
    blocks += [mean["statement"] for mean in facts.get("chosen_means", ())]
    if facts.get("calls_on_file"):
        blocks.append(MEANS_NOTE)
    if facts.get("pilot"):
        blocks.append(facts["pilot"])
    if report is not None:
        blocks += _race_blocks(report, command)
    if "expected" in facts:
        blocks.append(f"Read once, by constant bets: {facts['expected']['text']}")
    return blocks


def _race_blocks(report: RaceReport, command: str) -> list[Block]:
    """Return the evidence, the groups and the limits of a race."""
    race = report.race
    blocks: list[Block] = []
    if not race.rank_sets:
        reached = f"{float(race.rule.state.threshold):g}"
        words = (
            ("for or against", "decided", "change it")
            if race.settings.baseline
            else ("against", "dropped", "help it")
        )
        bet, ended, change = words
        # Only recorded answers of a list that ends can make an outcome certain.
        certain = f", or when the rows left cannot {change}" if race.reading == "recorded" else ""
        blocks.append(f"evidence: {bet} a candidate; it is {ended} at {reached}{certain}.")
    if race.strata is not None:
        mean = f"mean {race.settings.units.quantity}"
        headings = (race.strata.title, "rows counted", "answer", "leader", mean)
        keys = ("name", "rows", "answer", "leader", "mean")
        rows = [[item[key] for key in keys] for item in report.group_cells()]
        blocks.append(Cells(headings, rows, right=(1, 4)))
    for word, now, before in limit_history(report):
        if before:
            earlier = ", ".join(f"{limit:,.6g}" for limit in before)
            blocks.append(f"The limit of {word} is {now:,.6g}; it was {earlier} before.")
    return [*blocks, *limit_blocks(race, command)]


def limit_blocks(race: "Race", command: str) -> list[Block]:
    """Return how to continue a race that a limit has stopped, by this command."""
    limits = race.settings
    if not (race.limit_reached and race.done and race.proved is None and race.failed_call is None):
        return []
    calls = limits.max_calls is not None and race.calls_made >= limits.max_calls
    name, value = ("--max-calls", limits.max_calls) if calls else ("--max-cost", limits.max_cost)
    return [
        f"{name} {value:g} is reached. To go on, raise it, for example:",
        Command(f"{command} {name} {2 * (value or 1):g}"),
    ]


def _standings(facts: dict[str, Any], settings: RaceSettings) -> Cells:
    """Return a table of the candidates: drops with their evidence, or rank sets."""
    mean = f"mean {settings.units.quantity}"
    rows: list[tuple[str, ...]] = []
    for standing in facts["candidates"]:
        cells = (
            standing["name"],
            f"{standing['mean']:.4g}" if standing["rows"] else "–",
            f"{standing['rows']:,}",
        )
        if settings.question == "ranks":
            rows.append((rank_text(standing["ranks"]) if standing["ranks"] else "–", *cells))
            continue
        wealth = standing["wealth"]
        evidence = wealth if isinstance(wealth, str | None) else f"{wealth:,.4g}"
        dropped = "–" if standing["active"] else f"{standing['drop_row']:,}"
        rows.append((*cells, dropped, standing["against"] or "–", evidence or "–"))
    if settings.question == "ranks":
        return Cells(("ranks", "candidate", mean, "rows"), rows, right=(0, 2, 3))
    ended = "decided after" if settings.baseline else "dropped after"
    headings = ("candidate", mean, "rows", ended, "against", "evidence")
    return Cells(headings, rows, right=(1, 2, 3, 5))


def run_time_blocks(times: Sequence[RunTimes]) -> list[Block]:
    """Return a table of run times, with the meaning of PAR10; [] without any."""
    if not times:
        return []
    rows = [
        (
            time.name,
            f"{time.calls:,}",
            f"{time.seconds:,.4g}",
            f"{time.timeouts:,}",
            f"{time.failures:,}",
            f"{time.par10:.4g}" if time.calls else "–",
        )
        for time in times
    ]
    headings = ("candidate", "calls", "seconds", "timeouts", "failed", "PAR10")
    blocks: list[Block] = [
        Cells(headings, rows, right=range(1, 6)),
        "PAR10: mean seconds; a timeout or failure counts ten time limits.",
    ]
    if len({time.calls for time in times}) > 1:
        blocks.append(
            "Candidates with fewer calls were dropped earlier: compare PAR10 where the calls are "
            "equal."
        )
    return blocks
