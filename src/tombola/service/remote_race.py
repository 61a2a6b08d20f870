"""Run the commands of a served race on this machine; several machines may do so."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from tombola._formatting import plural, since_text
from tombola.errors import ConflictError, ParameterError, SessionError
from tombola.racing.driver import Log, loss_and_cost
from tombola.racing.events import Call
from tombola.racing.subprocess_evaluator import CallCounts, OutOfRangeError, SubprocessEvaluator
from tombola.service.client import AsyncClient
from tombola.worklists.work_file import Description, Outcome

# Seconds between two requests for the verdict, which other machines may have reached, and for new
# calls while none is possible.
_POLL_SECONDS = 1.0


def run_served_race(
    url: str,
    token: str,
    name: str,
    evaluator: SubprocessEvaluator,
    workers: int = 1,
    max_seconds: float | None = None,
    log: Log | None = None,
    reissue_after: float | None = None,
    counts: CallCounts | None = None,
) -> dict[str, Any]:
    """Run the commands of the race `name` at a server, and return its status.

    Other parameters are those of `run_remote_race`.
    """

    async def run_it() -> dict[str, Any]:
        async with AsyncClient(url, token, name) as client:
            return await run_remote_race(
                client, evaluator, workers, max_seconds, log, reissue_after, counts
            )

    return asyncio.run(run_it())


async def run_remote_race(
    client: AsyncClient,
    evaluator: SubprocessEvaluator,
    workers: int = 1,
    max_seconds: float | None = None,
    log: Log | None = None,
    reissue_after: float | None = None,
    counts: CallCounts | None = None,
) -> dict[str, Any]:
    """Run commands until the race is done, here or elsewhere, and return its status.

    The result is that of `AsyncClient.status`. ParameterError if the commands are not those
    of the race, SessionError if all first calls fail, OutOfRangeError if a command prints a number
    outside of the range of the race.

    evaluator: one command for each candidate of the race; they print numbers in the unit of the
        race.
    workers: commands at a time on this machine.
    max_seconds: time limit of this run, None for no limit; calls under way then stay pending.
    log: receives a line at each change seen, and per failed command; None: silent.
    reissue_after: take over calls issued at least this many seconds ago without an answer; None:
        never. If answers are random, such a call is a second draw, and faster answers are favoured.
    counts: counts the calls of this run and their failures; None: no counts.
    """
    about = await client.describe()
    _check_evaluator(about, evaluator)
    in_units = replace(evaluator, units=about.units)

    async def ask(call: Call) -> Any:
        return await in_units.evaluate(call, log, counts)

    worker = _RemoteWorker(client, about, log or (lambda _: None), reissue_after)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(worker.drive(ask, workers), max_seconds)
    return await client.status()


class _RemoteWorker:
    """Make calls of a served race, a limited number at a time; see `run_remote_race`.

    While every answer of this machine is a failure, answers are held back: its set-up is probably
    broken. After as many failures as candidates without a success `drive` raises SessionError;
    those calls stay pending for other machines.
    """

    def __init__(
        self, client: AsyncClient, about: Description, log: Log, reissue_after: float | None
    ) -> None:
        self._client = client
        self._about = about
        self._log = log
        self._reissue_after = reissue_after
        # By ticket: a call that was offered again keeps its last answer.
        self._held: dict[int, Outcome] = {}
        self._has_succeeded = False
        self._last_line = ""
        self._next_look = 0.0
        self._has_waited = False

    async def drive(self, ask: Callable[[Call], Awaitable[Any]], workers: int) -> None:
        """Make calls until the race is done, and record their answers."""
        tasks: dict[asyncio.Future[Any], Call] = {}
        try:
            while not await self._is_done(tasks, ask, workers):
                if tasks:
                    done, _ = await asyncio.wait(
                        tasks, timeout=_POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED
                    )
                    for task in done:
                        await self._take(tasks.pop(task), task)
                else:
                    # Only answers of other machines make new calls possible, or those held back
                    # here.
                    await self._flush()
                    await self._log_open_calls()
                    await asyncio.sleep(_POLL_SECONDS)
            await self._flush()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _is_done(
        self, tasks: dict[Any, Call], ask: Callable[[Call], Awaitable[Any]], workers: int
    ) -> bool:
        """Start calls until all workers are busy; return whether the race is done."""
        while len(tasks) < workers:
            tickets = await self._client.next(1, reissue_after=self._reissue_after)
            if not tickets:
                return bool((await self._client.status())["done"])
            [ticket] = tickets
            # A call that is under way here may be offered again.
            if any(call.ticket == ticket.ticket for call in tasks.values()):
                break
            call = Call(ticket.ticket, ticket.action, ticket.id, -1, ticket.run)
            tasks[asyncio.ensure_future(ask(call))] = call
        if time.monotonic() < self._next_look:
            return False
        self._next_look = time.monotonic() + _POLL_SECONDS
        now = await self._client.status()
        if now["summary"] != self._last_line:
            self._last_line = now["summary"]
            self._log(self._last_line)
        return bool(now["done"])

    async def _log_open_calls(self) -> None:
        """Log, once, the calls of other machines that this one waits for."""
        pending = [] if self._has_waited else await self._client.pending
        if pending:
            self._has_waited = True
            first = pending[0]
            self._log(
                f"waits for {plural(len(pending), 'call')} without an answer, the first is "
                f"ticket {first.ticket} ({first.text}{since_text(first.since)})"
                + (
                    "; to take them over, run with --reissue-after 600"
                    if self._reissue_after is None
                    else ""
                )
            )

    async def _take(self, call: Call, task: "asyncio.Future[Any]") -> None:
        error = task.exception()
        if error is not None and (
            isinstance(error, OutOfRangeError) or not isinstance(error, Exception)
        ):
            raise error
        if error is None:
            self._has_succeeded = True
            default_cost = self._about.default_cost
            loss, cost = loss_and_cost(call, task.result(), default_cost=default_cost)
            answer = Outcome(call.ticket, loss, cost=cost)
        else:
            answer = Outcome(call.ticket, failed=True)
        self._held[call.ticket] = answer
        if self._has_succeeded:
            await self._flush()
        elif len(self._held) >= len(self._about.actions):
            raise SessionError(
                f"race run: expected a loss, but the first {plural(len(self._held), 'call')} on "
                "this machine all "
                f"failed, the last, {call.candidate} on row {call.row}, with {error!r}; run it "
                "by hand to see why."
            ) from error

    async def _flush(self) -> None:
        for ticket, answer in list(self._held.items()):
            try:
                await self._client.record_all([answer])
            except ConflictError as error:
                # Another machine took the call over and has answered it.
                self._log(str(error))
            del self._held[ticket]


def _check_evaluator(about: Description, evaluator: SubprocessEvaluator) -> None:
    """Reject commands for other candidates, or another definition of the loss."""
    if about.kind != "race":
        raise ParameterError("race run: expected the name of a race, got a session; check it.")
    if set(about.actions) != set(evaluator.commands):
        raise ParameterError(
            f"race run: expected a command for each of {', '.join(about.actions[:10])}, got those "
            f"of {', '.join(list(evaluator.commands)[:10])}; write --candidate 'NAME=COMMAND "
            f"{{row}}' once for each."
        )
    stored = about.evaluator or {}
    commands = evaluator.to_json()
    for name in ("loss", "cap"):
        if name in stored and stored[name] != commands[name]:
            raise ParameterError(
                f"race run: expected --{name} {stored[name]} as in the race, got "
                f"{commands[name]}; give the same."
            )
