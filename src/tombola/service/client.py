"""Clients of `tombola serve`: sessions and races over HTTP, with retries.

`Client` and `RaceClient` block; `AsyncClient` and `AsyncRaceClient` have the same methods for async functions.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self, TypeVar

from tombola._files import write_atomic
from tombola.errors import ParameterError
from tombola.persistence.session_events import Outcome
from tombola.persistence.session_file import Assignment
from tombola.racing.events import Call, Event
from tombola.racing.options import RaceSettings
from tombola.service import _api_requests as api_requests
from tombola.service._api_requests import ApiRequest, IssuedCalls, Retries

__all__ = ["AsyncClient", "AsyncRaceClient", "Client", "RaceClient"]

# Seconds without a byte of a reply after which the request is repeated.
_READ_TIMEOUT = 30.0
# Result of a request.
_T = TypeVar("_T")
# Class of an async client.
_Class = TypeVar("_Class", bound=type)


def _documented_as(sync: type) -> Callable[[_Class], _Class]:
    """Copy the docstrings of a blocking client to the methods of its async twin."""

    def copy(twin: _Class) -> _Class:
        for name, member in vars(twin).items():
            if not name.startswith("_") and hasattr(sync, name) and not member.__doc__:
                member.__doc__ = getattr(sync, name).__doc__
        return twin

    return copy


class _Connection:
    """Address, token and name, which sync and async clients share; see `Client`."""

    kind: ClassVar[str]
    _http_type: ClassVar[str]  # name of the client of httpx

    def __init__(
        self, url: str, token: str = "", name: str = "", *, patience: float = 60.0, transport: Any = None
    ) -> None:
        self.url, self.patience, self._name = url, patience, name
        try:
            import httpx
        except ImportError:
            raise ParameterError(
                "Client: expected the package httpx, found none; write pip install 'tombola[serve]'."
            ) from None
        headers = {"authorization": f"Bearer {token}"} if token else {}
        try:
            self._http: Any = getattr(httpx, self._http_type)(
                base_url=url, headers=headers, timeout=_READ_TIMEOUT, transport=transport
            )
        except (httpx.InvalidURL, UnicodeEncodeError):
            raise ParameterError(
                f"Client: expected an address such as http://127.0.0.1:8787, got {url!r}; repair it."
            ) from None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"


class _SyncConnection(_Connection):
    """Blocking requests with retries."""

    _http_type = "Client"

    @property
    def name(self) -> str:
        """The name of the session or race."""
        if not self._name:
            self._name = api_requests.only_name(self.kind, self.overview())
        return self._name

    def overview(self) -> dict[str, Any]:
        """Return your name and role, and the sessions and races of the server."""
        return self._send(api_requests.overview())

    def status(self) -> dict[str, Any]:
        """Return progress, pending tickets or calls, and estimates as plain data."""
        return self._run(api_requests.status())

    def export(self, path: str | Path) -> None:
        """Write all tickets and outcomes, or all answers, to a .csv or .parquet file."""
        write_atomic(path, self._run(api_requests.export(path)))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, request: ApiRequest[_T]) -> _T:
        return self._send(request, api_requests.path_of(self.kind, self.name))

    def _send(self, request: ApiRequest[_T], base: str = "") -> _T:
        """Send a request until there is a reply, at most for `patience` seconds."""
        import httpx

        retries, content = Retries(self.url, self.patience), request.content
        while True:
            try:
                reply = self._http.request(
                    request.method, base + request.path, content=content, headers=request.headers
                )
                if reply.status_code not in api_requests.RETRIED_STATUSES:
                    return request.parse(api_requests.check_reply(reply))
                problem = f"status {reply.status_code}"
            except httpx.TransportError as error:
                problem = type(error).__name__
            time.sleep(retries.next_delay(problem))


@_documented_as(_SyncConnection)
class _AsyncConnection(_Connection):
    """Requests of async functions, with retries."""

    _http_type = "AsyncClient"

    async def name(self) -> str:
        """Return the name of the session or race."""
        if not self._name:
            self._name = api_requests.only_name(self.kind, await self.overview())
        return self._name

    async def overview(self) -> dict[str, Any]:
        return await self._send(api_requests.overview())

    async def status(self) -> dict[str, Any]:
        return await self._run(api_requests.status())

    async def export(self, path: str | Path) -> None:
        content: bytes = await self._run(api_requests.export(path))
        write_atomic(path, content)

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _run(self, request: ApiRequest[_T]) -> _T:
        return await self._send(request, api_requests.path_of(self.kind, await self.name()))

    async def _send(self, request: ApiRequest[_T], base: str = "") -> _T:
        """Send a request until there is a reply, at most for `patience` seconds."""
        import httpx

        retries, content = Retries(self.url, self.patience), request.content
        while True:
            try:
                reply = await self._http.request(
                    request.method, base + request.path, content=content, headers=request.headers
                )
                if reply.status_code not in api_requests.RETRIED_STATUSES:
                    return request.parse(api_requests.check_reply(reply))
                problem = f"status {reply.status_code}"
            except httpx.TransportError as error:
                problem = type(error).__name__
            await asyncio.sleep(retries.next_delay(problem))


class Client(_SyncConnection):
    """A session behind `tombola serve`, with the methods of `SessionFile`.

    - `url`: address of the server, such as "http://127.0.0.1:8787".
    - `token`: token of a worker; empty if the server has none.
    - `name`: name of the session; may be empty if the server has only one.
    - `patience`: seconds for which a request is repeated while the server does not reply.
    - `transport`: transport of httpx, for tests.

    Every request may be repeated safely: `next` sends an idempotency key, which is the same in all repetitions, and
    the same outcome twice is ignored. So a lost reply loses no ticket and doubles none.

        with tombola.Client("http://127.0.0.1:8787", token) as client:
            for ticket in client.next(10):
                client.record(ticket.round, loss=call(ticket.id, ticket.action))
    """

    kind = "sessions"

    def next(self, count: int = 1, *, reissue_after: float | None = None) -> list[Assignment]:
        """Issue the next tickets, at most `count`; fewer if fewer rows are left.

        reissue_after: first offer tickets without an outcome issued at least this many seconds ago, to any
            worker; None for never.
        """
        return self._run(api_requests.next_tickets(count, reissue_after))

    def record(self, round: int, *, loss: Any = None, reward: Any = None, cost: Any = None) -> bool:
        """Record the outcome of a ticket; return whether it is new.

        False may also mean that a first attempt succeeded and its reply was lost. A different outcome of the same
        ticket raises ConflictError.

        round: number of the ticket.
        loss, reward: one of them, in [0, 1]; a list with one per action with full feedback.
        cost: under a budget, one number per resource; None if the budget states its price, or without a budget.
        """
        return self.record_all([Outcome(round, loss, reward, cost)]) == 1

    def record_all(self, outcomes: Iterable[Outcome]) -> int:
        """Record many outcomes, all or none; return how many are new.

        A different outcome of an answered ticket raises ConflictError.

        outcomes: each with the ticket number, loss or reward, and cost.
        """
        return self._run(api_requests.record_outcomes(outcomes))

    def amend(self, round: int, *, loss: Any = None, reward: Any = None) -> Any:
        """Replace a wrong outcome and return its old loss, or list of losses.

        round: number of the ticket.
        loss, reward: the right outcome, one of them, in [0, 1]; a list with full feedback.
        """
        return self._run(api_requests.amend(round, loss, reward))

    def cancel(self, round: int) -> bool:
        """Cancel a ticket that will never be answered; return whether that is new.

        round: number of the ticket.
        """
        return self._run(api_requests.cancel(round))

    @property
    def pending(self) -> list[Assignment]:
        """The issued tickets without an outcome, of all workers."""
        return self._run(api_requests.pending_tickets())

    def ranking(self) -> dict[str, Any]:
        """Return the actions, the best first, with intervals of their mean losses.

        Keys: actions (each with name, plays, known losses, their mean, and the ends low and high of its interval), best
        (name), within (bound on its distance from the best mean), level (error probability), estimate (a sentence).
        """
        return self._run(api_requests.ranking())

    def assignment(self, round: int) -> Assignment:
        """Return the issued ticket with this number: row id, action and probability."""
        return self._run(api_requests.assignment(round))

    def columns(self, round: int) -> dict[str, str]:
        """Return the cells of the row of a ticket by column, except blank ones and the id.

        round: number of the ticket.
        """
        return self._run(api_requests.columns(round))


@_documented_as(Client)
class AsyncClient(_AsyncConnection):
    """A session behind `tombola serve`; `Client` for async functions.

    url: address of the server. token: token of a worker, or "".
    name: name of the session; may be empty if the server has only one.
    patience: seconds for which a request is repeated while the server does not reply.
    transport: transport of httpx, for tests.

        async with tombola.AsyncClient("http://127.0.0.1:8787", token) as client:
            for ticket in await client.next(10):
                await client.record(ticket.round, loss=await call(ticket.id, ticket.action))
    """

    kind = "sessions"

    async def next(self, count: int = 1, *, reissue_after: float | None = None) -> list[Assignment]:
        return await self._run(api_requests.next_tickets(count, reissue_after))

    async def record(self, round: int, *, loss: Any = None, reward: Any = None, cost: Any = None) -> bool:
        return await self.record_all([Outcome(round, loss, reward, cost)]) == 1

    async def record_all(self, outcomes: Iterable[Outcome]) -> int:
        return await self._run(api_requests.record_outcomes(outcomes))

    async def amend(self, round: int, *, loss: Any = None, reward: Any = None) -> Any:
        return await self._run(api_requests.amend(round, loss, reward))

    async def cancel(self, round: int) -> bool:
        return await self._run(api_requests.cancel(round))

    @property
    def pending(self) -> Awaitable[list[Assignment]]:
        return self._run(api_requests.pending_tickets())

    async def ranking(self) -> dict[str, Any]:
        return await self._run(api_requests.ranking())

    async def assignment(self, round: int) -> Assignment:
        return await self._run(api_requests.assignment(round))

    async def columns(self, round: int) -> dict[str, str]:
        return await self._run(api_requests.columns(round))


class RaceClient(_SyncConnection):
    """A race behind `tombola serve`, with the methods of `RaceFile`.

    url: address of the server. token: token of a worker, or "".
    name: name of the race; may be empty if the server has only one.
    patience: seconds for which a request is repeated while the server does not reply.
    transport: transport of httpx, for tests.

        with tombola.RaceClient("http://127.0.0.1:8787", token) as race:
            for call in race.calls():
                race.record(call.ticket, loss=evaluate(call.candidate, call.row))
    """

    kind = "races"

    def calls(self, count: int | None = None, *, reissue_after: float | None = None) -> list[Call]:
        """Issue the next calls: candidates to evaluate on rows.

        The list is empty if the race is done, or waits for answers.

        count: number of calls; None for all that the next row needs.
        reissue_after: first offer calls without an answer issued at least this many seconds ago; None for
            never.
        """
        return self.next(count, reissue_after=reissue_after).calls

    def next(self, count: int | None = None, *, reissue_after: float | None = None) -> IssuedCalls:
        """Issue the next calls; return them, and whether the race is done.

        count: number of calls; None for all that the next row needs.
        reissue_after: first offer calls without an answer after this many seconds; None for never.
        """
        return self._run(api_requests.next_calls(count, reissue_after))

    def record(self, ticket: int, *, loss: float | None = None, cost: float = 0.0, failed: bool = False) -> bool:
        """Record the answer to a call; return whether it is new.

        False may also mean that a first attempt succeeded and its reply was lost. A different answer to the same call
        raises ConflictError.

        ticket: number of the call.
        loss: in [0, 1]; None if the call failed.
        cost: of the call, at least 0, in the unit of the cost limit.
        failed: whether the call failed.
        """
        return self.record_all([Event("answer", ticket, loss, cost, failed)]) == 1

    def record_all(self, answers: Iterable[Event]) -> int:
        """Record many answers, all or none; return how many are new.

        answers: events of the kind "answer".
        """
        return self._run(api_requests.record_answers(answers))

    @property
    def settings(self) -> RaceSettings:
        """The settings of the race: candidates, level, range of the values, limits."""
        return self._run(api_requests.race_settings())

    @property
    def pending(self) -> list[Call]:
        """The issued calls without an answer whose candidates are still in the race."""
        return self._run(api_requests.pending_calls())

    def verdict(self) -> dict[str, Any]:
        """Return the answer of the race so far, as plain data.

        Keys: verdict and progress (sentences), proved (True, False if refuted, None while undecided), answer (names of
        the candidates that are possible answers), done (whether the race has ended), active (candidates left), leader
        (name), calls and calls_saved (their numbers).
        """
        return self._run(api_requests.verdict())


@_documented_as(RaceClient)
class AsyncRaceClient(_AsyncConnection):
    """A race behind `tombola serve`; `RaceClient` for async functions.

    url: address of the server. token: token of a worker, or "".
    name: name of the race; may be empty if the server has only one.
    patience: seconds for which a request is repeated while the server does not reply.
    transport: transport of httpx, for tests.
    """

    kind = "races"

    async def calls(self, count: int | None = None, *, reissue_after: float | None = None) -> list[Call]:
        return (await self.next(count, reissue_after=reissue_after)).calls

    async def next(self, count: int | None = None, *, reissue_after: float | None = None) -> IssuedCalls:
        return await self._run(api_requests.next_calls(count, reissue_after))

    async def record(self, ticket: int, *, loss: float | None = None, cost: float = 0.0, failed: bool = False) -> bool:
        return await self.record_all([Event("answer", ticket, loss, cost, failed)]) == 1

    async def record_all(self, answers: Iterable[Event]) -> int:
        return await self._run(api_requests.record_answers(answers))

    @property
    def settings(self) -> Awaitable[RaceSettings]:
        return self._run(api_requests.race_settings())

    @property
    def pending(self) -> Awaitable[list[Call]]:
        return self._run(api_requests.pending_calls())

    async def verdict(self) -> dict[str, Any]:
        return await self._run(api_requests.verdict())
