"""Clients of `tombola serve`: sessions and races over HTTP, with retries.

`Client` and `RaceClient` block; `AsyncClient` and `AsyncRaceClient` have the same methods for async functions.
"""

import asyncio
import json
import logging
import random
import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Generic, NamedTuple, ParamSpec, Self, TypeVar, cast
from urllib.parse import quote

from tombola._files import write_atomic
from tombola._formatting import option_text
from tombola.errors import ConflictError, ExhaustedError, FeedbackError, ParameterError, SessionError
from tombola.persistence.session_events import Outcome
from tombola.persistence.session_file import Assignment
from tombola.racing.events import Call, Event
from tombola.racing.options import RaceSettings

if TYPE_CHECKING:
    import httpx

__all__ = ["AsyncClient", "AsyncRaceClient", "Client", "IssuedCalls", "RaceClient"]

# Log of requests that wait; Python prints warnings to standard error unless a program configures logging.
_LOG = logging.getLogger("tombola.client")
# Seconds without a reply after which a waiting request is logged: longer than a lost reply takes to repeat.
_LOGGED_WAIT = 0.3
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
# Parameters of a method.
_P = ParamSpec("_P")


class IssuedCalls(NamedTuple):
    """Calls of a race to make, and whether it is done.

    If there is no call and it is not done, the race waits for answers.
    """

    calls: list[Call]
    done: bool


@dataclass(frozen=True)
class _ApiRequest(Generic[_T]):
    """One request of the JSON API, with the parser of its reply; the clients send it.

    path: below that of the session or race, see `_path_of`; absolute for `overview`.
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

    Delays double from _FIRST_RETRY to _LONGEST_RETRY, each shortened at random by up to half. A request that waits
    longer than _LOGGED_WAIT is logged once.

    >>> retries = _Retries("http://127.0.0.1:1", 10.0)
    >>> 0.0 < retries.next_delay("ConnectError") <= _FIRST_RETRY
    True
    """

    def __init__(self, url: str, patience: float) -> None:
        self._url, self._patience = url, patience
        self._start, self._delay, self._logged = time.monotonic(), _FIRST_RETRY, False

    def next_delay(self, problem: str) -> float:
        """Return the seconds to wait after `problem`; SessionError beyond `patience`."""
        waited = time.monotonic() - self._start
        if waited + self._delay > self._patience:
            raise SessionError(
                f"Client: expected a reply of {self._url} within {self._patience:g} s, got {problem}; "
                "check that the server runs, then repeat the call."
            )
        if waited > _LOGGED_WAIT and not self._logged:
            self._logged = True
            _LOG.warning("waiting for %s, at most %g s: %s", self._url, self._patience, problem)
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


def _record_outcomes(outcomes: Iterable[Outcome], result: Callable[[int], _T]) -> _ApiRequest[_T]:
    rows = [{"ticket": o.round} | _without_none(loss=o.loss, reward=o.reward, cost=o.cost) for o in outcomes]
    return _ApiRequest("POST", "record", lambda reply: result(reply.json()["recorded"]), {"outcomes": rows})


def _export(path: str | Path) -> _ApiRequest[None]:
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise ParameterError(f"Client.export: expected a path ending in .csv or .parquet, got {path}; rename it.")
    return _ApiRequest("GET", f"export{suffix}", lambda reply: write_atomic(path, reply.content))


def _next_calls(count: int | None, reissue_after: float | None, result: Callable[[IssuedCalls], _T]) -> _ApiRequest[_T]:
    def parse(reply: "httpx.Response") -> _T:
        found = reply.json()
        return result(IssuedCalls([_call(one) for one in found["calls"]], bool(found["done"])))

    return _ApiRequest("POST", "next", parse, _without_none(count=count, reissue_after=reissue_after), _new_key())


def _record_answers(answers: Iterable[Event], result: Callable[[int], _T]) -> _ApiRequest[_T]:
    rows = [
        {"ticket": one.ticket, "cost": one.cost, "failed": one.failed} | _without_none(loss=one.loss) for one in answers
    ]
    return _ApiRequest("POST", "record", lambda reply: result(reply.json()["recorded"]), {"answers": rows})


def _awaited(method: Callable[Concatenate[Any, _P], _T]) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]]:
    """Return a blocking method for the async twin, where `_run` returns a coroutine.

    Wrong arguments raise at the call, not when the result is awaited.
    """
    return cast("Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]]", method)


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
            # Without a scheme, every request would fail as if the server did not run.
            valid = self._http.base_url.scheme in ("http", "https") and bool(self._http.base_url.host)
            host = url.rpartition("://")[2]
        except (httpx.InvalidURL, UnicodeEncodeError):
            valid, host = False, ""
        if not valid:
            example = f"http://{host or '127.0.0.1:8787'}"
            raise ParameterError(
                f"Client: expected an address such as http://127.0.0.1:8787, got {url!r}; write "
                f"{option_text('url', example)}."
            )

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

        Keys are those of `Status.to_json` or `RaceReport.to_json`, "pending" and "paused".
        """
        return self._run(_STATUS)

    def export(self, path: str | Path) -> None:
        """Write all tickets and outcomes, or all answers, to a .csv or .parquet file.

        An existing file is replaced.
        """
        return self._run(_export(path))

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
                problem = f"{type(error).__name__}: {error}"
            time.sleep(retries.next_delay(problem))


class _AsyncConnection(_Connection):
    """Requests of async functions, with retries."""

    _http_type = "AsyncClient"

    async def name(self) -> str:
        """Return the name of the session or race."""
        if not self._name:
            self._name = _only_name(self.kind, await self.overview())
        return self._name

    overview = _awaited(_SyncConnection.overview)
    status = _awaited(_SyncConnection.status)
    export = _awaited(_SyncConnection.export)

    async def close(self) -> None:
        """Close the connections."""
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
                problem = f"{type(error).__name__}: {error}"
            await asyncio.sleep(retries.next_delay(problem))


class Client(_SyncConnection):
    """A session behind `tombola serve`, with the methods of `SessionFile`.

    url: address of the server, such as "http://127.0.0.1:8787".
    token: token of a worker; empty if the server has none.
    name: name of the session; may be empty if the server has only one.
    patience: seconds for which a request is repeated while the server does not reply.
    transport: transport of httpx, for tests.

    Every request may be repeated safely: `next` sends an idempotency key, which is the same in all repetitions, and the
    same outcome twice is ignored. So a lost reply loses no ticket and doubles none.

        with tombola.Client("http://127.0.0.1:8787", token) as client:
            for ticket in client.next(10):
                client.record(ticket.round, loss=call(ticket.id, ticket.action))
    """

    kind = "sessions"

    def next(self, count: int = 1, *, reissue_after: float | None = None) -> list[Assignment]:
        """Issue the next tickets and return them; ExhaustedError if no row is left.

        count: fewer are issued if fewer rows are left.
        reissue_after: first offer tickets without an outcome issued at least this many seconds ago; None for never.
        """
        return self._run(_next_tickets(count, reissue_after))

    def record(self, round: int, *, loss: Any = None, reward: Any = None, cost: Any = None) -> bool:
        """Record a ticket's outcome, as `SessionFile.record`; return whether it is new.

        False may also mean that a first attempt succeeded and its reply was lost.
        """
        return self._run(_record_outcomes([Outcome(round, loss, reward, cost)], bool))

    def record_all(self, outcomes: Iterable[Outcome]) -> int:
        """Record many outcomes, all or none; return how many are new."""
        return self._run(_record_outcomes(outcomes, int))

    def amend(self, round: int, *, loss: Any = None, reward: Any = None) -> Any:
        """Replace a wrong outcome, as `SessionFile.amend`.

        Return its old loss, or list of losses.
        """
        body = {"ticket": round} | _without_none(loss=loss, reward=reward)
        return self._run(_ApiRequest("POST", "amend", lambda reply: reply.json()["loss_before"], body))

    def cancel(self, round: int) -> bool:
        """Cancel a ticket that will never be answered; return whether that is new."""
        return self._run(_ApiRequest("POST", "cancel", lambda reply: bool(reply.json()["new"]), {"ticket": round}))

    @property
    def pending(self) -> list[Assignment]:
        """The issued tickets without an outcome that were not cancelled, of all workers."""
        return self._run(_PENDING_TICKETS)

    def ranking(self) -> dict[str, Any]:
        """Return the actions, the best first, with intervals of their mean losses.

        Keys: actions (dicts with name, plays, known, mean, low and high), best (name), within (bound on its distance
        from the best mean), level (error probability) and estimate (a sentence).
        """
        return self._run(_RANKING)

    def assignment(self, round: int) -> Assignment:
        """Return the issued ticket with this number; FeedbackError if it was not issued."""
        return self._run(_ApiRequest("GET", f"tickets/{int(round)}", lambda reply: Assignment.from_json(reply.json())))

    def columns(self, round: int) -> dict[str, str]:
        """Return filled cells of a ticket's row in the user's list, by column, without id."""
        return self._run(_ApiRequest("GET", f"tickets/{int(round)}", lambda reply: dict(reply.json()["columns"])))


class AsyncClient(_AsyncConnection):
    """A session behind `tombola serve`; `Client` for async functions.

    Parameters and methods are those of `Client`; every result is awaited, also `pending` and `name()`.

        async with tombola.AsyncClient("http://127.0.0.1:8787", token) as client:
            for ticket in await client.next(10):
                await client.record(ticket.round, loss=await call(ticket.id, ticket.action))
    """

    kind = "sessions"

    next = _awaited(Client.next)
    record = _awaited(Client.record)
    record_all = _awaited(Client.record_all)
    amend = _awaited(Client.amend)
    cancel = _awaited(Client.cancel)
    ranking = _awaited(Client.ranking)
    assignment = _awaited(Client.assignment)
    columns = _awaited(Client.columns)

    @property
    def pending(self) -> Awaitable[list[Assignment]]:
        """The issued tickets without an outcome that were not cancelled, of all workers."""
        return self._run(_PENDING_TICKETS)


class RaceClient(_SyncConnection):
    """A race behind `tombola serve`, with the methods of `RaceFile`.

    The parameters are those of `Client`.

    with tombola.RaceClient("http://127.0.0.1:8787", token) as race:
        for call in race.calls():
            race.record(call.ticket, loss=evaluate(call.candidate, call.row))
    """

    kind = "races"

    def calls(self, count: int | None = None, *, reissue_after: float | None = None) -> list[Call]:
        """Issue the next calls, as `next`; none if the race is done, or waits for answers."""
        return self._run(_next_calls(count, reissue_after, lambda issued: issued.calls))

    def next(self, count: int | None = None, *, reissue_after: float | None = None) -> IssuedCalls:
        """Issue the next calls, candidates to evaluate on rows.

        Return also whether the race is done.

        count: number of calls; None for all that the next row needs.
        reissue_after: first offer calls without an answer issued at least this many seconds ago; None for never.
        """
        return self._run(_next_calls(count, reissue_after, lambda issued: issued))

    def record(self, ticket: int, *, loss: float | None = None, cost: float = 0.0, failed: bool = False) -> bool:
        """Record the answer to a call, as `RaceFile.record`; return whether it is new.

        False may also mean that a first attempt succeeded and its reply was lost.
        """
        return self._run(_record_answers([Event("answer", ticket, loss, cost, failed)], bool))

    def record_all(self, answers: Iterable[Event]) -> int:
        """Record answers, events of kind "answer", all or none; return how many are new."""
        return self._run(_record_answers(answers, int))

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

        Keys: verdict and progress (sentences), proved (None while undecided), answer (names of possible answers), done
        (whether the race is over), active (candidates left), leader, calls and calls_saved (their numbers).
        """
        return self._run(_VERDICT)


class AsyncRaceClient(_AsyncConnection):
    """A race behind `tombola serve`; `RaceClient` for async functions.

    Every result is awaited, also `pending`, `settings` and `name()`.
    """

    kind = "races"

    calls = _awaited(RaceClient.calls)
    next = _awaited(RaceClient.next)
    record = _awaited(RaceClient.record)
    record_all = _awaited(RaceClient.record_all)
    verdict = _awaited(RaceClient.verdict)

    @property
    def settings(self) -> Awaitable[RaceSettings]:
        """The settings of the race: candidates, level, range of the values, limits."""
        return self._run(_SETTINGS)

    @property
    def pending(self) -> Awaitable[list[Call]]:
        """The issued calls without an answer whose candidates are still in the race."""
        return self._run(_PENDING_CALLS)
