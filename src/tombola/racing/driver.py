"""The one-call form: run a race with a function that asks a candidate about a row, many calls at a time."""

import asyncio
import inspect
import os
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from numbers import Real
from typing import Any, TypeAlias, Unpack

from tombola import _validate
from tombola.errors import FeedbackError, SessionError
from tombola.racing._race import Race
from tombola.racing.events import Call, Event, EventSink
from tombola.racing.options import Asked, Settings, asking, distinct
from tombola.racing.progress import Ticker

Evaluate: TypeAlias = Callable[[Any, Any], Any]


class Interrupted(KeyboardInterrupt):
    """A race stopped from outside; `journal` has all answers: give it to `race` again to go on."""

    def __init__(self, race: Race, journal: EventSink) -> None:
        super().__init__(f"stopped after {race.calls_made} calls; give error.journal as journal to go on")
        self.race, self.journal = race, journal


@asking
def race(
    candidates: Sequence[Any] | Mapping[str, Any],
    rows: Sequence[Any],
    evaluate: Evaluate,
    *,
    seed: int,
    workers: int = 8,
    journal: EventSink | str | os.PathLike[str] | None = None,
    progress: bool = True,
    **asked: Unpack[Asked],
) -> Race:
    """Find the best of the candidates on the rows, calling `evaluate` as rarely as the level allows.

    `evaluate` is given a candidate and a row, plain or async, and returns a loss in [0, 1], or a loss and a cost; if it
    raises, the call has failed. Candidates are given as they are, or by name. The other settings are those of `Race`.
    With a `journal` that has answers already, those calls are not made again; the path of a file makes it survive also
    a kill of the process.

    >>> found = race({"low": 0.2, "high": 0.7}, range(500), lambda p, row: float(hash((p, row)) % 10 < 10 * p), seed=1)
    >>> found.answer
    ('low',)
    """
    pairs = candidates.items() if isinstance(candidates, Mapping) else ((one, one) for one in candidates)
    named = {str(name): one for name, one in pairs}
    names = distinct("candidates", list(candidates))
    ids = [str(row) for row in rows] if all(isinstance(row, str) for row in rows) else list(map(str, range(len(rows))))
    settings = Settings(names, seed, **asked)
    from tombola.persistence.race_file import journal_at  # race files are built on races

    kept = journal_at(journal, settings, ids)
    run = Driver(Race.restore(settings, ids, kept.replay()), kept, Ticker(show=progress))

    places = getattr(rows, "iloc", rows)  # a series of pandas counts its rows by labels

    def ask(call: Call) -> Any:
        return evaluate(named[call.candidate], places[call.place])

    count = _validate.integer("race", "workers", workers, least=1)
    if inspect.iscoroutinefunction(evaluate) or inspect.iscoroutinefunction(getattr(evaluate, "__call__", None)):  # noqa: B004
        _finish(run, run.drive(ask, count))
    else:
        with ThreadPoolExecutor(count) as pool:
            _finish(run, run.drive(lambda call: asyncio.get_running_loop().run_in_executor(pool, ask, call), count))
    return run.race


def _finish(run: "Driver", work: Any) -> None:
    """Run the work to its end, also where a loop is running already, as in a notebook."""
    try:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            asyncio.run(work)
        else:
            with ThreadPoolExecutor(1) as other:
                other.submit(asyncio.run, work).result()
    except KeyboardInterrupt:
        raise Interrupted(run.race, run.journal) from None


class Driver:
    """A race at work: so many calls at a time, every answer into the journal as it comes."""

    def __init__(self, race: Race, journal: EventSink, ticker: Ticker) -> None:
        self.race, self.journal, self.ticker = race, journal, ticker
        self._again = deque(race.pending)
        self._failed: Exception | None = None

    async def drive(self, ask: Callable[[Call], Awaitable[Any]], workers: int) -> None:
        """Make the calls of the race until it is over."""
        tasks: dict[asyncio.Future[Any], Call] = {}
        try:
            with self.ticker:
                while self._fill(tasks, ask, workers):
                    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        self._take(tasks.pop(task), task)
                    self.ticker.show(self.race)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _fill(self, tasks: dict[Any, Call], ask: Callable[[Call], Awaitable[Any]], workers: int) -> bool:
        """Keep all workers busy; tell whether there is something to wait for."""
        while len(tasks) < workers and not self.race.done:
            calls = [self._again.popleft()] if self._again else self.race.calls(1)
            if not calls:
                break
            tasks[asyncio.ensure_future(ask(calls[0]))] = calls[0]
        return bool(tasks) and not self.race.done

    def _take(self, call: Call, task: "asyncio.Future[Any]") -> None:
        error = task.exception()
        if isinstance(error, Exception):
            self._failed = error
            answer = Event("answer", call.ticket, failed=True)
        elif error is not None:
            raise error
        else:
            answer = Event("answer", call.ticket, *_loss_and_cost(call, task.result()))
        self.race.repeat(answer)
        self.journal.append(answer)
        self._check_setup()

    def _check_setup(self) -> None:
        """Stop if nothing but failures came for the first row: then it is the set-up that fails."""
        if self._failed is not None and self.race.failures == self.race.answered >= len(self.race.candidates):
            raise SessionError(
                f"race: expected a loss from evaluate, but every call failed, the last with {self._failed!r}; "
                "try evaluate(candidate, row) by hand."
            ) from self._failed


def _loss_and_cost(call: Call, result: Any) -> tuple[float, float]:
    parts = result if isinstance(result, tuple) else (result, 0.0)
    if len(parts) != 2 or not all(isinstance(part, Real) for part in parts):
        raise FeedbackError(
            f"race: evaluate must return a loss, or a loss and a cost, got {result!r} for {call.candidate} on row "
            f"{call.row}; return a number in [0, 1]."
        )
    return float(parts[0]), float(parts[1])
