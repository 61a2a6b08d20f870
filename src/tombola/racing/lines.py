"""Lines: a race of programs run to its end, with a line for every row, one process at a time."""

import asyncio
import contextlib
import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tombola._parallel import is_interactive
from tombola.errors import SessionError
from tombola.persistence.race_file import RaceFile
from tombola.racing._race import Race
from tombola.racing.driver import Driver
from tombola.racing.events import Call, Event
from tombola.racing.progress import Ticker, line_of
from tombola.racing.subprocess_evaluator import SubprocessEvaluator, silent


def run_programs(
    file: RaceFile,
    programs: SubprocessEvaluator,
    workers: int,
    max_seconds: float | None,
    tell: Callable[[str], None] | None,
) -> None:
    """Make the calls of a race until it is over, or the time is; answers that the file has are not asked for again."""
    say = tell or silent
    with _locked(file.path):
        race = Race.restore(file.settings, file.rows, file.replay())  # the file follows it, answer by answer
        kept = _Telling(file, say if not is_interactive() else silent)
        driver = Driver(race, kept, Ticker(show=tell is not None))

        async def ask(call: Call) -> Any:
            return await programs.ask(call, say)

        with contextlib.suppress(TimeoutError):
            asyncio.run(asyncio.wait_for(driver.drive(ask, workers), max_seconds))


class _Telling:
    """The file as the journal of a driver, which says how the race stands after every row.

    As long as every call has failed, nothing is written: then it is probably the set-up that fails, and once it is
    put right the race should begin anew.
    """

    def __init__(self, file: RaceFile, tell: Callable[[str], None]) -> None:
        self._file, self._tell = file, tell
        self._rows = file.race.rows_counted
        self._held: list[Event] = []

    def append(self, event: Event) -> None:
        self._held.append(event)
        race = self._file.race
        if event.failed and race.answered == 0:
            self._check_setup(race)
            return
        for held in self._held:
            self._file.append(held)
        self._held.clear()
        race = self._file.race
        if race.rows_counted > self._rows:
            self._rows = race.rows_counted
            self._tell(line_of(race))

    def _check_setup(self, race: Race) -> None:
        if len(self._held) >= len(race.candidates):
            last = race.call(self._held[-1].ticket)
            raise SessionError(
                f"race run: expected some answer, but the first {len(self._held)} commands all failed, the last was "
                f"that of {last.candidate} on {last.row!r}; run it by hand to see why."
            )

    def replay(self) -> tuple[Event, ...]:
        return self._file.replay()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Refuse to run a race that another process runs: both would make the same calls."""
    side = Path(f"{path}-run")
    with side.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SessionError(
                f"race run: {path} is being run by another process; wait for it, or take another file."
            ) from None
        try:
            yield
        finally:
            side.unlink(missing_ok=True)
