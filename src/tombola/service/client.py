"""Clients of `tombola serve`: sessions and races over HTTP, with retries.

`Client` and `RaceClient` block; `AsyncClient` and `AsyncRaceClient` have the same methods for async functions.
"""

import asyncio
import json
import random
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self, TypeVar
from urllib.parse import quote

from tombola._files import write_atomic
from tombola.errors import ConflictError, ExhaustedError, FeedbackError, ParameterError, SessionError
from tombola.persistence.session_events import Outcome
from tombola.persistence.session_file import Assignment
from tombola.racing.events import Call, Event
from tombola.racing.options import RaceSettings

if TYPE_CHECKING:
    import httpx

__all__ = ["AsyncClient", "AsyncRaceClient", "Client", "IssuedCalls", "RaceClient"]

# Seconds before the first retry: long enough for a server that restarts to bind its port, short for a lost reply.
_FIRST_RETRY = 0.05
# Seconds between two retries at most; the delays double up to it.
_LONGEST_RETRY = 2.0
# HTTP statuses after which a client repeats a request: 502 and 504 of a proxy without its server, 503 of a server
# whose file is locked. Nothing was changed in these cases.
_RETRIED_STATUSES = frozenset({502, 503, 504})
# Type of a problem reply -> error that the client raises; SessionError for all other types.
_ERRORS: dict[str, type[SessionError]] = {
    "urn:tombola:exhausted": ExhaustedError,
    "urn:tombola:conflict": ConflictError,
    "urn:tombola:invalid": FeedbackError,
}

# Seconds without a byte of a reply after which the request is repeated.
_READ_TIMEOUT = 30.0
# Result of a request.
_T = TypeVar("_T")
# Class of an async client.
_Class = TypeVar("_Class", bound=type)


class IssuedCalls(NamedTuple):
    """Calls of a race to make, and whether the race is done.

    No call and not done: other answers must come first.

    calls: to be made now; a call is a candidate to evaluate on a row.
    done: whether the race has ended.
    """

    calls: list[Call]
    done: bool


@dataclass(frozen=True)
class _ApiRequest(Generic[_T]):
    """One request of the JSON API, with the parser of its reply; the clients send it.

    path: appended to the path of the session or race, see `_path_of`; absolute for `overview`.
    parse: returns the result from a successful reply.
    body: plain data, sent as JSON; None for no body.
    key: idempotency key. All repetitions of the request carry it, so the server acts once. "" for none.
    """

    method: str
    path: str
    parse: Callable[["httpx.Response"], _T]
    body: Any = None
    key: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """Content type and idempotency key, if any; the client adds its token."""
        json_type = {} if self.body is None else {"content-type": "application/json"}
        return json_type | ({"idempotency-key": self.key} if self.key else {})

    @property
    def content(self) -> bytes | None:
        """The body as JSON bytes, None without a body; FeedbackError if it is not JSON."""
        try:
            return None if self.body is None else json.dumps(self.body, allow_nan=False).encode()
        except (TypeError, ValueError):
            raise FeedbackError(
                "Client: expected finite numbers and lists of them, got something else; convert with float()."
            ) from None


class _Retries:
    """Delays between the attempts of one request, for at most `patience` seconds.

    Delays double from _FIRST_RETRY to _LONGEST_RETRY, each shortened at random by up to half.

    >>> retries = _Retries("http://127.0.0.1:1", 10.0)
    >>> 0.0 < retries.next_delay("ConnectError") <= _FIRST_RETRY
    True
    """

    def __init__(self, url: str, patience: float) -> None:
        self._url, self._patience = url, patience
        self._deadline, self._delay = time.monotonic() + patience, _FIRST_RETRY

    def next_delay(self, problem: str) -> float:
        """Return the seconds to wait after `problem`; SessionError beyond `patience`."""
        if time.monotonic() + self._delay > self._deadline:
            raise SessionError(
                f"Client: expected a reply of {self._url} within {self._patience:g} s, got {problem}; "
                "check that the server runs, then repeat the call."
            )
        delay, self._delay = self._delay, min(2 * self._delay, _LONGEST_RETRY)
        return delay * random.uniform(0.5, 1.0)


def _new_key() -> str:
    return secrets.token_urlsafe(16)


def _path_of(kind: str, name: str) -> str:
    """Return the path of a session or race in the API; the name is quoted.

    >>> _path_of("races", "a/b")
    '/v1/races/a%2Fb/'
    """
    return f"/v1/{kind}/{quote(name, safe='')}/"


def _only_name(kind: str, found: dict[str, Any]) -> str:
    """Return the name of the only session or race of a server; else ParameterError."""
    names = [one["name"] for one in found[kind]]
    if len(names) != 1:
        listed = f" ({', '.join(names[:10])})" if names else ""
        raise ParameterError(
            f"Client: expected the name of one of the {len(names)} {kind}{listed}, got none; "
            "write Client(url, token, name)."
        )
    return str(names[0])


def _check_reply(reply: "httpx.Response") -> "httpx.Response":
    """Return a successful reply; raise the error that another one states."""
    if reply.is_success:
        return reply
    try:
        problem = reply.json()
        kind, detail = problem["type"], str(problem["detail"])
    except (KeyError, TypeError, ValueError):
        kind = ""
        detail = f"Client: expected a reply of tombola serve, got status {reply.status_code}; check the address."
    raise _ERRORS.get(kind, SessionError)(detail)


def _json(reply: "httpx.Response") -> dict[str, Any]:
    found: dict[str, Any] = reply.json()
    return found


def _without_none(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _call(found: dict[str, Any]) -> Call:
    return Call(found["ticket"], found["candidate"], found["row"], found["row_index"])


# Requests without parameters, by their results.
_OVERVIEW = _ApiRequest("GET", "/v1", _json)
_STATUS = _ApiRequest("GET", "status", _json)
_RANKING = _ApiRequest("GET", "ranking", _json)
_VERDICT = _ApiRequest("GET", "verdict", _json)
_PENDING_TICKETS = _ApiRequest(
    "GET", "status", lambda reply: [Assignment.from_json(one) for one in reply.json()["pending"]]
)
_PENDING_CALLS = _ApiRequest("GET", "status", lambda reply: [_call(one) for one in reply.json()["pending"]])
_SETTINGS = _ApiRequest("GET", "status", lambda reply: RaceSettings.from_json(reply.json()["settings"]))


def _next_tickets(count: int, reissue_after: float | None) -> _ApiRequest[list[Assignment]]:
    body = {"count": count} | _without_none(reissue_after=reissue_after)
    return _ApiRequest(
        "POST", "next", lambda reply: [Assignment.from_json(one) for one in reply.json()["tickets"]], body, _new_key()
    )


def _record_outcomes(outcomes: Iterable[Outcome]) -> _ApiRequest[int]:
    rows = [{"ticket": o.round} | _without_none(loss=o.loss, reward=o.reward, cost=o.cost) for o in outcomes]
    return _ApiRequest("POST", "record", lambda reply: int(reply.json()["recorded"]), {"outcomes": rows})


def _amend(round: int, loss: Any, reward: Any) -> _ApiRequest[Any]:
    body = {"ticket": round} | _without_none(loss=loss, reward=reward)
    return _ApiRequest("POST", "amend", lambda reply: reply.json()["loss_before"], body)


def _cancel(round: int) -> _ApiRequest[bool]:
    return _ApiRequest("POST", "cancel", lambda reply: bool(reply.json()["new"]), {"ticket": round})


def _ticket(round: int) -> _ApiRequest[Assignment]:
    return _ApiRequest("GET", f"tickets/{int(round)}", lambda reply: Assignment.from_json(reply.json()))


def _columns(round: int) -> _ApiRequest[dict[str, str]]:
    return _ApiRequest("GET", f"tickets/{int(round)}", lambda reply: dict(reply.json()["columns"]))


def _export(path: str | Path) -> _ApiRequest[bytes]:
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise ParameterError(f"Client.export: expected a path ending in .csv or .parquet, got {path}; rename it.")
    return _ApiRequest("GET", f"export{suffix}", lambda reply: bytes(reply.content))


def _next_calls(count: int | None, reissue_after: float | None) -> _ApiRequest[IssuedCalls]:
    def parse(reply: "httpx.Response") -> IssuedCalls:
        found = reply.json()
        return IssuedCalls([_call(one) for one in found["calls"]], bool(found["done"]))

    return _ApiRequest("POST", "next", parse, _without_none(count=count, reissue_after=reissue_after), _new_key())


def _record_answers(answers: Iterable[Event]) -> _ApiRequest[int]:
    rows = [
        {"ticket": one.ticket, "cost": one.cost, "failed": one.failed} | _without_none(loss=one.loss) for one in answers
    ]
    return _ApiRequest("POST", "record", lambda reply: int(reply.json()["recorded"]), {"answers": rows})


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
            self._name = _only_name(self.kind, self.overview())
        return self._name

    def overview(self) -> dict[str, Any]:
        """Return the caller ("you"), the "sessions" and the "races" of the server.

        The caller has name and role; each session and race has its name and settings.
        """
        return self._send(_OVERVIEW)

    def status(self) -> dict[str, Any]:
        """Return progress, pending tickets or calls, and estimates as plain data.

        Keys are those of `Status.to_json` for a session, of `RaceReport.to_json` for a race; further ones are "pending"
        and "paused".
        """
        return self._run(_STATUS)

    def export(self, path: str | Path) -> None:
        """Write all tickets and outcomes, or all answers, to a .csv or .parquet file.

        An existing file is replaced.
        """
        write_atomic(path, self._run(_export(path)))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _run(self, request: _ApiRequest[_T]) -> _T:
        return self._send(request, _path_of(self.kind, self.name))

    def _send(self, request: _ApiRequest[_T], base: str = "") -> _T:
        """Send a request until there is a reply, at most for `patience` seconds."""
        import httpx

        retries, content = _Retries(self.url, self.patience), request.content
        while True:
            try:
                reply = self._http.request(
                    request.method, base + request.path, content=content, headers=request.headers
                )
                if reply.status_code not in _RETRIED_STATUSES:
                    return request.parse(_check_reply(reply))
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
            self._name = _only_name(self.kind, await self.overview())
        return self._name

    async def overview(self) -> dict[str, Any]:
        return await self._send(_OVERVIEW)

    async def status(self) -> dict[str, Any]:
        return await self._run(_STATUS)

    async def export(self, path: str | Path) -> None:
        content: bytes = await self._run(_export(path))
        write_atomic(path, content)

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _run(self, request: _ApiRequest[_T]) -> _T:
        return await self._send(request, _path_of(self.kind, await self.name()))

    async def _send(self, request: _ApiRequest[_T], base: str = "") -> _T:
        """Send a request until there is a reply, at most for `patience` seconds."""
        import httpx

        retries, content = _Retries(self.url, self.patience), request.content
        while True:
            try:
                reply = await self._http.request(
                    request.method, base + request.path, content=content, headers=request.headers
                )
                if reply.status_code not in _RETRIED_STATUSES:
                    return request.parse(_check_reply(reply))
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
        """Issue the next tickets and return them; ExhaustedError if no row is left.

        A ticket is a row of the list with the action to play: fields round (its number), id, action, probability.

        count: number of tickets; fewer are issued if fewer rows are left.
        reissue_after: first offer tickets without an outcome issued at least this many seconds ago, to any
            worker; None for never.
        """
        return self._run(_next_tickets(count, reissue_after))

    def record(self, round: int, *, loss: Any = None, reward: Any = None, cost: Any = None) -> bool:
        """Record the outcome of a ticket; return whether it is new.

        False may also mean that a first attempt succeeded and its reply was lost. A different outcome of the same
        ticket raises ConflictError.

        round: number of the ticket.
        loss, reward: one of them (reward = 1 - loss), in [0, 1]; with full feedback a list with one number per action.
        cost: under a budget, one number per resource; None if the budget states its price, or without a budget.
        """
        return self.record_all([Outcome(round, loss, reward, cost)]) == 1

    def record_all(self, outcomes: Iterable[Outcome]) -> int:
        """Record many outcomes, all or none; return how many are new.

        A different outcome of an answered ticket raises ConflictError.

        outcomes: each with the ticket number, loss or reward, and cost.
        """
        return self._run(_record_outcomes(outcomes))

    def amend(self, round: int, *, loss: Any = None, reward: Any = None) -> Any:
        """Replace a wrong outcome and return its old loss, or list of losses.

        FeedbackError under a budget, ConflictError if the ticket has no outcome yet.

        round: number of the ticket.
        loss, reward: the right outcome, one of them (reward = 1 - loss), in [0, 1]; with full feedback a list with one
            number per action.
        """
        return self._run(_amend(round, loss, reward))

    def cancel(self, round: int) -> bool:
        """Cancel a ticket that will never be answered; return whether that is new.

        False if it was cancelled before; ConflictError if it has an outcome.

        round: number of the ticket.
        """
        return self._run(_cancel(round))

    @property
    def pending(self) -> list[Assignment]:
        """The issued tickets without an outcome that were not cancelled, of all workers."""
        return self._run(_PENDING_TICKETS)

    def ranking(self) -> dict[str, Any]:
        """Return the actions, the best first, with intervals of their mean losses.

        Keys: actions (list of dicts with name, plays, known, the number of known losses, mean, and low and high, the
        ends of the interval), best (name), within (bound on its distance from the best mean), level (error
        probability), estimate (a sentence). Numbers are in the unit of the session.
        """
        return self._run(_RANKING)

    def assignment(self, round: int) -> Assignment:
        """Return the issued ticket with this number: row id, action and probability.

        FeedbackError if it was not issued.
        """
        return self._run(_ticket(round))

    def columns(self, round: int) -> dict[str, str]:
        """Return the cells of a ticket's row in the user's list, by column name.

        Without blank cells and the id.

        round: number of the ticket.
        """
        return self._run(_columns(round))


@_documented_as(Client)
class AsyncClient(_AsyncConnection):
    """A session behind `tombola serve`; `Client` for async functions.

    Methods are coroutines with the parameters and results of those of `Client`; `pending` and `name()` are awaited too.

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
        return await self._run(_next_tickets(count, reissue_after))

    async def record(self, round: int, *, loss: Any = None, reward: Any = None, cost: Any = None) -> bool:
        return await self.record_all([Outcome(round, loss, reward, cost)]) == 1

    async def record_all(self, outcomes: Iterable[Outcome]) -> int:
        return await self._run(_record_outcomes(outcomes))

    async def amend(self, round: int, *, loss: Any = None, reward: Any = None) -> Any:
        return await self._run(_amend(round, loss, reward))

    async def cancel(self, round: int) -> bool:
        return await self._run(_cancel(round))

    @property
    def pending(self) -> Awaitable[list[Assignment]]:
        return self._run(_PENDING_TICKETS)

    async def ranking(self) -> dict[str, Any]:
        return await self._run(_RANKING)

    async def assignment(self, round: int) -> Assignment:
        return await self._run(_ticket(round))

    async def columns(self, round: int) -> dict[str, str]:
        return await self._run(_columns(round))


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

        A call is a candidate to evaluate on a row. No calls and not done: the race waits for answers.

        count: number of calls; None for all that the next row needs.
        reissue_after: first offer calls without an answer issued at least this many seconds ago; None for
            never.
        """
        return self._run(_next_calls(count, reissue_after))

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

        A different answer to an answered call raises ConflictError.

        answers: events of the kind "answer", each with ticket, loss (None if failed), cost and failed.
        """
        return self._run(_record_answers(answers))

    @property
    def settings(self) -> RaceSettings:
        """The settings of the race: candidates, level, range of the values, limits."""
        return self._run(_SETTINGS)

    @property
    def pending(self) -> list[Call]:
        """The issued calls without an answer whose candidates are still in the race."""
        return self._run(_PENDING_CALLS)

    def verdict(self) -> dict[str, Any]:
        """Return the answer of the race so far, as plain data.

        Keys: verdict and progress (sentences), proved (True, False if refuted, None while undecided), answer (names of
        the candidates that are possible answers), done (whether the race has ended), active (candidates left), leader
        (name), calls (number of calls made) and calls_saved (number of pairs of a row and a candidate that were neither
        evaluated nor known before).
        """
        return self._run(_VERDICT)


@_documented_as(RaceClient)
class AsyncRaceClient(_AsyncConnection):
    """A race behind `tombola serve`; `RaceClient` for async functions.

    Methods are coroutines with the parameters and results of those of `RaceClient`; `pending`, `settings` and `name()`
    are awaited too.

    url: address of the server. token: token of a worker, or "".
    name: name of the race; may be empty if the server has only one.
    patience: seconds for which a request is repeated while the server does not reply.
    transport: transport of httpx, for tests.
    """

    kind = "races"

    async def calls(self, count: int | None = None, *, reissue_after: float | None = None) -> list[Call]:
        return (await self.next(count, reissue_after=reissue_after)).calls

    async def next(self, count: int | None = None, *, reissue_after: float | None = None) -> IssuedCalls:
        return await self._run(_next_calls(count, reissue_after))

    async def record(self, ticket: int, *, loss: float | None = None, cost: float = 0.0, failed: bool = False) -> bool:
        return await self.record_all([Event("answer", ticket, loss, cost, failed)]) == 1

    async def record_all(self, answers: Iterable[Event]) -> int:
        return await self._run(_record_answers(answers))

    @property
    def settings(self) -> Awaitable[RaceSettings]:
        return self._run(_SETTINGS)

    @property
    def pending(self) -> Awaitable[list[Call]]:
        return self._run(_PENDING_CALLS)

    async def verdict(self) -> dict[str, Any]:
        return await self._run(_VERDICT)
