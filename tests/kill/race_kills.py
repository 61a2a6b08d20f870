"""Kill two processes (-9) that share a race file, in many races; check every guarantee afterwards.

    PYTHONPATH=src:tests python tests/kill/race_kills.py 300

Prints the number of races, kills, interrupted writes, answers and acknowledged calls. Raises
AssertionError if a call was issued twice or although its answer is on file, an acknowledged call or
answer was lost, a limit was exceeded, or the final race differs in any bit from an undisturbed one.
Answers are random in some races: the loss of a call is a function of row, candidate and run.
"""

import os
import random
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from kill.test_session_kill import acknowledged, events, fork, kill_workers, log_call
from tombola.engine.compiler import compiled
from tombola.errors import ConflictError
from tombola.racing import Race, RaceSettings
from tombola.racing.events import Call
from tombola.racing.side_information import SideInformation
from tombola.racing.strata import Strata
from tombola.worklists import Assignment, RaceFile

KILLS_PER_RACE = 4
ROWS = [str(row) for row in range(120)]
NAMES = ("a", "b", "c")
LOSSES = np.clip(
    np.random.default_rng(0).integers(0, 9, (len(ROWS), 3)) / 8 + [0.0, 0.05, 0.25], 0, 1
).round(4)
# Answers on file: all of candidate a, and those of b on every third row.
KNOWN = np.where([[True, row % 3 == 0, False] for row in range(len(ROWS))], LOSSES, np.nan)
# Questions of a race, by turns; one is asked with answers on file, one for groups of rows.
QUESTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"within": 0.1},
    {"top": 2},
    {"question": "ranks"},
    {"baseline": "c", "better": True},
    {"max_calls": 90},
    {"known": True},
    {"strata": True},
    {"answers": "random"},
    {"answers": "random", "max_calls": 500},
    {"answers": "random", "max_cost": 60.0, "max_call_cost": 1.0},
    {"answers": "auto"},
    {"answers": "once"},
    {"answers": "random", "passes": 3},
)


def configuration(
    question: dict[str, Any], seed: int
) -> tuple[RaceSettings, SideInformation | None, Strata | None]:
    """Return settings, answers on file and groups of a race."""
    options = dict(question)
    side = SideInformation.of(NAMES, ROWS, KNOWN) if options.pop("known", False) else None
    strata = (
        Strata.of([str(row % 2) for row in range(len(ROWS))], len(ROWS))
        if options.pop("strata", False)
        else None
    )
    return RaceSettings(NAMES, seed=seed, **{"answers": "fixed", **options}), side, strata


def loss_of(call: Call | Assignment, *, is_random: bool) -> float:
    row, name = (
        (call.id, call.action) if isinstance(call, Assignment) else (call.row, call.candidate)
    )
    loss = float(LOSSES[int(row), NAMES.index(name)])
    if is_random:
        drawn = random.Random(f"{row} {name} {call.run}").random()
        return float(drawn < loss)
    return loss


def has_random_answers(race: Race) -> bool:
    return race.settings.answers != "fixed"


def work(path: Path, log: Path, seed: int) -> None:
    """Take calls and record answers, in any order and some twice; log each call of the file that
    returned.

    Every answer has its own cost, so that an answer that was lost and recorded again is another
    one.
    """
    rng, parent = np.random.default_rng(seed), os.getppid()
    recorded: list[tuple[Assignment, float]] = []
    with RaceFile.open(path) as file:
        while os.getppid() == parent:  # ends if the driver fails
            if rng.random() < 0.5:
                log_call(
                    log, "issued", [call.ticket for call in file.next(int(rng.integers(1, 4)))]
                )
            answers = (
                recorded
                if recorded and rng.random() < 0.1
                else [(one, rng.random()) for one in file.pending]
            )
            if answers:
                call, cost = answers[int(rng.integers(len(answers)))]
                # The other process may have recorded another answer meanwhile.
                with suppress(ConflictError):
                    loss = loss_of(call, is_random=has_random_answers(file.race))
                    file.record(call.ticket, loss=loss, cost=cost)
                    log_call(log, "recorded", call.ticket, loss, cost)
                    recorded.append((call, cost))


def drive(path: Path, question: dict[str, Any], seed: int) -> dict[str, int]:
    """Let two processes work on one race that are killed again and again, then finish it."""
    settings, side, strata = configuration(question, seed)
    RaceFile.start(path, settings, ROWS, side=side, strata=strata).close()
    began = time.perf_counter()
    # The forked processes inherit kernels that are loaded here.
    finish(Race.restore(settings, ROWS, (), side, strata))
    # A few calls, however slow the machine is.
    life = min(0.5, 0.05 + 0.5 * (time.perf_counter() - began))
    counts = kill_workers(
        path,
        lambda log, number: fork(work, path, log, 1000 * seed + number),
        KILLS_PER_RACE,
        life,
        seed,
    )
    with RaceFile.open(path) as file:
        while not file.race.done:
            for call in file.pending or file.next():
                loss = loss_of(call, is_random=has_random_answers(file.race))
                # A cap on costs needs a cost.
                file.record(call.ticket, loss=loss, cost=0.5)
    return counts


def finish(race: Race) -> Race:
    """Answer all calls of a race in this process."""
    while not race.done:
        for call in race.calls():
            loss = loss_of(call, is_random=has_random_answers(race))
            race.record(call, loss=loss, cost=0.5)
    return race


def state(race: Race) -> tuple[Any, ...]:
    """Return the result of a race and all of its evidence."""
    groups = (
        {name: (one.answer, one.proved) for name, one in race.by_group.items()}
        if race.strata
        else {}
    )
    return race.answer, race.proved, race.dropped, race.rows_counted, groups


def check(path: Path, question: dict[str, Any], seed: int) -> int:
    """Check the guarantees on the file itself; return the number of answers."""
    log = events(path)
    calls = [ticket for _, kind, ticket, _ in log if kind == "call"]
    answers = {
        ticket: [value["loss"], value["cost"]] for _, kind, ticket, value in log if kind == "answer"
    }
    issued, recorded = acknowledged(path.parent)
    assert len(calls) == len(set(calls)), "a call was issued twice"
    assert len(answers) == sum(kind == "answer" for _, kind, _, _ in log), (
        "a call was answered twice"
    )
    assert len(issued) == len(set(issued)), "a call was returned twice"
    assert set(issued) <= set(calls), "an issued call was lost"
    assert all(answers.get(ticket) == answer for ticket, *answer in recorded), (
        "an acknowledged answer was lost"
    )
    settings, side, strata = configuration(question, seed)
    with RaceFile.open(path) as file:
        race, replayed = file.race, Race.restore(settings, ROWS, file.replay(), side, strata)
    assert state(race) == state(replayed), "the race differs from a replay of its events"
    if side is not None:
        asked = [race.call(ticket) for ticket in calls]
        assert all(np.isnan(KNOWN[one.row_index, NAMES.index(one.candidate)]) for one in asked), (
            "a known answer"
        )
    if settings.max_calls is not None or settings.max_cost is not None or race.is_fresh:
        # The calls that two processes issued ahead decide which rows are counted: there is nothing
        # to compare with.
        assert race.calls_made <= settings.most_calls(len(ROWS)), "too many calls"
        assert race.cost <= (settings.max_cost or race.cost), "the cap on costs was exceeded"
        cells = [race.call(ticket) for ticket in calls]
        runs = {(cell.row, cell.candidate, cell.run) for cell in cells}
        assert len(runs) == len(calls), "two tickets for one run of a cell"
        assert race.done
    else:
        undisturbed = finish(Race.restore(settings, ROWS, (), side, strata))
        assert state(race) == state(undisturbed), "the race differs from an undisturbed one"
    return len(answers)


def main(races: int) -> None:
    """Run the races one after the other, by turns with each question."""
    kills = torn = answers = calls = 0
    for number in range(races):
        question = QUESTIONS[number % len(QUESTIONS)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "live.race")
            done = drive(path, question, seed=number)
            answers += check(path, question, seed=number)
            calls += sum(map(len, acknowledged(Path(folder))))
        kills, torn = kills + done["kills"], torn + done["torn"]
    print(
        f"{races} races, {kills} kills, {torn} interrupted writes, {answers} answers, {calls} "
        "acknowledged"
    )


if __name__ == "__main__":
    # Compile in the parent: the forked processes live too briefly to compile.
    with compiled():
        main(int(sys.argv[1]))
