"""Drivers: run a race to its end, many calls at a time.

The driver holds the only `Race` of a run. Every answer is first applied to it and then appended to
the event log, so a log on disk is written once per answer and read once per run.
"""

import asyncio
import contextlib
import functools
import inspect
import os
import sys
import time
import warnings
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack, cast

from tombola import _validate
from tombola._files import exclusive_lock
from tombola._formatting import forecast_text, format_forecast, join_names, plural
from tombola.errors import FeedbackError, ParameterError, SessionError, TombolaError, TombolaWarning
from tombola.parallel.progress import NotebookLine, in_notebook, is_interactive
from tombola.pool import frame_index, is_frame
from tombola.racing._race import Race
from tombola.racing.events import Call, Event, EventSink
from tombola.racing.result import counts_of
from tombola.racing.settings import RaceOptions, RaceSettings, accepts_race_options, distinct_names
from tombola.racing.side_information import SideInformation, check_frame_kind
from tombola.racing.strata import Strata
from tombola.racing.subprocess_evaluator import OutOfRangeError
from tombola.tables.names import direction_of
from tombola.units import UNIT_LOSSES, Kind, Units

if TYPE_CHECKING:
    from tombola.racing.subprocess_evaluator import CallCounts, SubprocessEvaluator
    from tombola.worklists.race_file import RaceFile

# Function of a candidate and a row, plain or async. It returns a loss (with kind="scores" a score),
# or a pair of that and a cost.
_Evaluate: TypeAlias = Callable[[Any, Any], Any]
# Function that receives one line of text, such as `print`.
Log: TypeAlias = Callable[[str], None]

# Least seconds between two updates of the progress line: faster ones cannot be read.
_REFRESH_INTERVAL = 0.1


class Interrupted(KeyboardInterrupt):
    """Raised by `race` on Ctrl-C; `race(..., log=error.log)` continues the race."""

    def __init__(self, race: Race, log: EventSink) -> None:
        super().__init__(
            f"stopped after {plural(race.calls_made, 'call')}; pass error.log as log to continue"
        )
        self.race = race
        self.log = log


@accepts_race_options
def race(
    candidates: Sequence[Any] | Mapping[str, Any],
    rows: Sequence[Any],
    evaluate: _Evaluate,
    *,
    workers: int = 8,
    log: EventSink | str | os.PathLike[str] | None = None,
    progress: bool = True,
    known: Any = None,
    history: Any = None,
    strata: Sequence[Any] | None = None,
    **options: Unpack[RaceOptions],
) -> Race:
    """Find the best candidate on the rows with few calls of `evaluate`.

    candidates   the objects passed to `evaluate`, or a mapping from names to them
    rows         the objects passed to `evaluate` as rows: a list, or a data frame or series, whose
                 index names the rows
    evaluate     evaluate(candidate, row), plain or async; returns a number in `range`, or (number,
                 cost). `kind` states whether lower or higher is better. Left out, the name of the
                 function states it: loss and error_rate are losses, score and accuracy are scores.
                 ParameterError for other names. If it raises, the call has failed
    workers      calls in flight at a time
    log          event log, or the path of a race file, which also survives a kill of the process.
                 Calls that it has answers to are not made again. None: in memory
    progress     show a progress line on a terminal or in a notebook
    known, history, strata   answers on file, other numbers known of every row, and groups of rows,
                             as in `Race`
    options      level, within, top, baseline, seed, limits, ...: see `RaceSettings`. `answers` is
                 "auto": a pilot calls a few cells twice, at most 2 % of the calls. If answers change,
                 the race is about expected answers, and draws rows with replacement

    Returns the finished `Race`. Ctrl-C raises `Interrupted`, which has the race so far and its log.

    Where an event loop runs (notebooks, async functions), write `await race(...)` with an async
    `evaluate`: its calls then run on that loop, which its clients and connections belong to.

    >>> table = {"low": 0.2, "high": 0.7}
    >>> finished = race(table, range(500), lambda p, row: float(hash((p, row)) % 10 < 10 * p), kind="losses", seed=1)
    >>> finished.answer
    ('low',)
    """
    # Race files are built on races, so they can only be imported late.
    from tombola.worklists.race_file import open_log

    _validate.not_text("race", "candidates", candidates)
    _validate.not_text("race", "rows", rows)
    pairs = (
        candidates.items()
        if isinstance(candidates, Mapping)
        else ((candidate, candidate) for candidate in candidates)
    )
    by_name = {str(name): candidate for name, candidate in pairs}
    names = distinct_names("candidates", list(candidates))
    ids, row_at = _rows_by_position(rows)
    check_frame_kind("race", known, options)
    options["kind"] = _direction(evaluate, options.get("kind"))
    chosen = RaceSettings(names, **options)
    side = SideInformation.of(names, ids, known, history, chosen.units)
    groups = None if strata is None else Strata.of(strata, len(ids))
    settings, sink = open_log(log, chosen, ids, side, groups)
    restored = Race.restore(settings, ids, sink.replay(), side, groups)
    driver = _Driver(restored, sink, _Progress(show=progress), settings.units)

    def ask(call: Call) -> Any:
        return evaluate(by_name[call.candidate], row_at(call.row_index))

    count = _validate.integer("race", "workers", workers, least=1)
    if inspect.iscoroutinefunction(evaluate) or inspect.iscoroutinefunction(
        getattr(evaluate, "__call__", None)  # noqa: B004
    ):
        if _loop_is_running():
            # A thread with a loop of its own would break clients that belong to the running one.
            return cast("Race", driver.drive(ask, count))
        return _run_to_end(driver, driver.drive(ask, count))
    with ThreadPoolExecutor(count) as pool:
        work = driver.drive(
            lambda call: asyncio.get_running_loop().run_in_executor(pool, ask, call), count
        )
        return _run_to_end(driver, work)


def run_race_file(
    file: "RaceFile",
    evaluator: "SubprocessEvaluator",
    workers: int = 1,
    max_seconds: float | None = None,
    log: Log | None = None,
    counts: "CallCounts | None" = None,
    on_start: Callable[[Race], None] | None = None,
) -> Race:
    """Run the commands of a race file to the end of the race, and return the race.

    SessionError if another process runs the same file, or if the whole first row fails.
    OutOfRangeError if a command prints a number outside of the range; that call stays without an
    answer.

    workers      number of commands that run at a time
    max_seconds  time limit of this run; the file then holds an unfinished race. None: no limit
    log          receives a line when the rows have grown by a quarter, per drop and per failed command; None: silent
    counts       counts the calls of this run and their failures
    on_start     called with the race as the file has it, before the first call
    """

    async def ask(call: Call) -> Any:
        return await evaluator.evaluate(call, log, counts)

    with run_lock(file.path):
        race = Race.restore(file.settings, file.rows, file.replay(), file.side, file.strata)
        if on_start is not None:
            on_start(race)
        driver = _Driver(race, file, _Progress(show=log is not None, log=log))
        with contextlib.suppress(TimeoutError):
            asyncio.run(asyncio.wait_for(driver.drive(ask, workers), max_seconds))
    return driver.race


def _direction(evaluate: _Evaluate, kind: Kind | None) -> Kind:
    """Return the given direction, else the one by the name of `evaluate`.

    ParameterError if there is neither; a warning if they contradict each other.
    """
    function = evaluate
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", type(function).__name__)
    stated, _ = direction_of([name])
    if kind is None and stated is None:
        raise ParameterError(
            "race: expected losses (lower is better) or scores (higher is better), got a "
            f"function called {name}, "
            'which can be either; write kind="scores" if higher is better, kind="losses" if '
            "lower is."
        )
    if kind is not None and stated not in (None, kind):
        warnings.warn(
            f"race: the name of the function {name} states {stated}, but kind={kind!r} was "
            "given; it is used.",
            TombolaWarning,
            stacklevel=3,
        )
    return kind or cast("Kind", stated)


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _rows_by_position(rows: Any) -> tuple[list[str], Callable[[int], Any]]:
    """Return the names of the rows, and a function from positions to rows.

    The index of a frame names its rows, and so does an index of texts of a series; else texts name
    themselves, and all others are numbered.
    """
    index = frame_index(rows)
    numbers = list(map(str, range(len(rows))))
    if is_frame(rows) and not hasattr(rows, "iloc"):
        # Rows of polars are dicts: its `row` with names.
        return numbers if index is None else list(map(str, index)), lambda at: rows.row(
            at, named=True
        )
    # pandas is indexed by label; `iloc` indexes it by position.
    pick = getattr(rows, "iloc", rows).__getitem__
    # Numbers of a series are what a filter or a shuffle left of the numbering; texts are names.
    if index is not None and (is_frame(rows) or all(isinstance(name, str) for name in index)):
        return list(map(str, index)), pick
    texts = not is_frame(rows) and all(isinstance(row, str) for row in rows)
    return list(map(str, rows)) if texts else numbers, pick


def _run_to_end(driver: "_Driver", work: Coroutine[Any, Any, Race]) -> Race:
    """Run a coroutine to its end, in a thread if an event loop is running here."""
    try:
        if not _loop_is_running():
            return asyncio.run(work)
        with ThreadPoolExecutor(1) as other:
            return other.submit(asyncio.run, work).result()
    except KeyboardInterrupt:
        raise Interrupted(driver.race, driver.log) from None


# Failed calls of the baseline of a gate, before any answer, after which it is taken as broken.
_MAX_BASELINE_FAILURES = 3


class _Driver:
    """Make the calls of a race, a limited number at a time, and log answers.

    While every answer is a failure, answers are held back: the set-up is probably broken, and after
    a repair the race should start anew. `drive` raises SessionError if the whole first row fails.
    """

    def __init__(
        self, race: Race, log: EventSink, progress: "_Progress", units: Units = UNIT_LOSSES
    ) -> None:
        self.race = race
        self.log = log
        self.progress = progress
        self._units = units
        self._unanswered = deque(race.pending)
        self._held: list[Event] = []
        self._baseline_failures = 0

    async def drive(self, ask: Callable[[Call], Awaitable[Any]], workers: int) -> Race:
        """Make calls until the race is over, `workers` at a time; return the race.

        `ask` returns a value, or value and cost. An exception is a failed call; only
        OutOfRangeError is raised.
        """
        tasks: dict[asyncio.Future[Any], Call] = {}
        in_pilot = not self.race.pilot_done
        if in_pilot:
            self.progress.note(self.race.pilot_text)
        try:
            with self.progress:
                while self._fill(tasks, ask, workers):
                    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        self._take(tasks.pop(task), task)
                    if in_pilot and self.race.pilot_done:
                        in_pilot = False
                        self.progress.note(self.race.pilot_text)
                    self.progress.update(self.race)
            self._flush()
            # Calls in flight are stopped. They may have cost something, so they count, here and
            # when the log is read.
            for call in tasks.values():
                self.log.append(Event("call", call.ticket))
            return self.race
        except KeyboardInterrupt:
            raise Interrupted(self.race, self.log) from None
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _fill(
        self, tasks: dict[Any, Call], ask: Callable[[Call], Awaitable[Any]], workers: int
    ) -> bool:
        """Start calls until all workers are busy; return whether any is in flight."""
        while len(tasks) < workers and not self.race.done:
            calls = [self._unanswered.popleft()] if self._unanswered else self.race.calls(1)
            if not calls:
                break
            tasks[asyncio.ensure_future(ask(calls[0]))] = calls[0]
        return bool(tasks) and not self.race.done

    def _take(self, call: Call, task: "asyncio.Future[Any]") -> None:
        error = task.exception()
        if error is None:
            answer = self._answer(call, task.result())
        elif isinstance(error, Exception) and not isinstance(error, OutOfRangeError):
            answer = Event("answer", call.ticket, failed=True)
        else:
            raise error
        if call.candidate == self.race.settings.baseline:
            self._check_baseline(call, error)
        self.race.apply(answer)
        self._held.append(self.race.recorded(call.ticket))
        if self.race.failures < self.race.calls_answered:
            self._flush()
        # Failures of the baseline alone are counted by `_check_baseline`, in any order the calls
        # end.
        elif error is not None and self.race.failures >= max(
            len(self.race.candidates), self._baseline_failures + 1
        ):
            raise SessionError(
                f"race: expected a loss, but the first {plural(self.race.failures, 'call')} all "
                "failed, the last, "
                f"{call.candidate} on row {call.row}, with {_reason(error)}; run it by hand to "
                "see why."
            ) from error

    def _answer(self, call: Call, result: Any) -> Event:
        """Return the event of a result: a loss, loss and cost, or also further losses."""
        settings = self.race.settings
        others: tuple[float, ...] = ()
        if settings.further:
            first, own_cost, others = result
            result = first if own_cost is None else (first, own_cost)
        loss, cost = loss_and_cost(call, result, self._units, settings.default_cost)
        return Event("answer", call.ticket, loss, cost, others=others)

    def _check_baseline(self, call: Call, error: BaseException | None) -> None:
        """Raise if the first calls of the baseline fail: every candidate would pass."""
        answers = error is None or self._baseline_failures < 0
        self._baseline_failures = -1 if answers else self._baseline_failures + 1
        if error is not None and self._baseline_failures == _MAX_BASELINE_FAILURES:
            raise SessionError(
                f"race: expected a baseline that answers, but the first {_MAX_BASELINE_FAILURES} "
                "calls of "
                f"{call.candidate} all failed, the last with {_reason(error)}; run it by hand, "
                "then start anew."
            ) from error

    def _flush(self) -> None:
        for event in self._held:
            self.log.append(event)
        self._held.clear()


class _Progress:
    """Progress of a race: one line updated in place, or lines to `log`.

    A log gets a line whenever a candidate is dropped, or the rows have grown by a quarter.
    """

    def __init__(self, *, show: bool = True, log: Log | None = None) -> None:
        self._show = show
        self._log = log
        self._status = cast("Any", None)
        self._last_time = 0.0
        self._next_row = 1
        self._last_active = 0

    def __enter__(self) -> "_Progress":
        if self._show and self._log is None and in_notebook():
            self._status = NotebookLine()
        elif self._show and is_interactive():
            from rich.console import Console

            self._status = Console(stderr=True).status("the race starts")
            self._status.start()
        return self

    def note(self, text: str) -> None:
        """Print a sentence that must not be missed, such as the calls of a pilot."""
        if self._log is not None:
            self._log(text)
        elif self._show:
            sys.stderr.write(f"{text}\n")

    def update(self, race: Race) -> None:
        if self._status is not None:
            if time.monotonic() - self._last_time > _REFRESH_INTERVAL:
                self._last_time = time.monotonic()
                self._status.update(progress_line(race))
        elif self._log is not None and race.rows_counted:
            active = len(race.active)
            if race.rows_counted >= self._next_row or active != self._last_active:
                self._next_row = race.rows_counted + 1 + race.rows_counted // 4
                self._last_active = active
                self._log(progress_line(race))

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()


def progress_line(race: Race) -> str:
    """Return one line about a race: rows, leader, calls, and rows still needed."""
    units = race.settings.units
    leading = ""
    estimate = ""
    if race.leader is not None:
        mean = units.number(race.mean_losses[race.leader])
        standing = race.statement.standing
        equal = () if standing is None else standing.leaders
        leads = f"{race.leader} leads with"
        if len(equal) > 1:
            leads = f"{join_names(equal, last=' and ')} are level at"
        leading = f", {leads} mean {units.quantity} {mean:.4g}"
    more = race.rows_remaining
    ends = race.rows_remaining_range
    if more and ends:
        left = len(race.rows) - race.rows_counted
        estimate = f", about {forecast_text(more, 'row', left)} to go"
        if ends[0] < ends[1]:
            low, high = (format_forecast(end, left) for end in ends)
            estimate += f" (90 % range {low} to {high})"
    return (
        f"row {race.rows_counted:,}: {len(race.active)} of {len(race.candidates)} in the "
        f"race{leading}, "
        f"{counts_of(race).calls_text}{estimate}"
    )


@contextlib.contextmanager
def run_lock(path: Path) -> Iterator[None]:
    """Lock a race file for one run, by the file `path` + "-run"; a context manager.

    SessionError if another process runs the race: two runs would make the same calls.
    """
    with exclusive_lock(f"{path}-run") as is_held:
        if not is_held:
            raise SessionError(
                f"race run: {path} is being run by another process; wait for it, or use another "
                "file."
            )
        yield


def _reason(error: BaseException) -> str:
    """Return the message of a failed command, or the exception of a function."""
    return f"the message: {error}" if isinstance(error, TombolaError) else repr(error)


def loss_and_cost(
    call: Call, result: Any, units: Units = UNIT_LOSSES, default_cost: float | None = 0.0
) -> tuple[float, float]:
    """Return (loss in [0, 1], cost) from the result of an evaluation of a call.

    FeedbackError unless it is a number in the range of `units`, or a tuple of that and a cost.
    `call` is for the error message. `default_cost` is the cost of a result without one; None
    rejects such a result.
    """
    if default_cost is None and not isinstance(result, tuple):
        raise FeedbackError(
            "race: expected a cost with each answer, because of max_cost, got none for "
            f"{call.candidate} on row "
            f"{call.row}; report it after the {units.quantity}, or state the largest one as "
            "max_call_cost."
        )
    parts = result if isinstance(result, tuple) else (result, default_cost)
    if (
        len(parts) != 2
        or not all(isinstance(part, Real) for part in parts)
        or not units.low <= parts[0] <= units.high
    ):
        raise FeedbackError(
            f"race: evaluate must return a {units.quantity} from {units.low:g} to "
            f"{units.high:g}, or that and a cost, "
            f"got {result!r} for {call.candidate} on row {call.row}; return such a number, or "
            "give the true range."
        )
    return units.loss(float(parts[0])), float(parts[1])
