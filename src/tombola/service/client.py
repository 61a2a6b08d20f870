"""Clients of `tombola serve`: sessions and races over HTTP, with retries.

`Client` blocks; `AsyncClient` has the same methods for async functions.
"""

import asyncio
import logging
import random
import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Concatenate,
    ParamSpec,
    Self,
    TypeVar,
    cast,
)
from urllib.parse import quote

from tombola._files import write_atomic
from tombola._formatting import is_cli_style, unknown_name_text
from tombola.errors import (
    MALFORMED_DATA_ERRORS,
    ConflictError,
    ExhaustedError,
    FeedbackError,
    ParameterError,
    SessionError,
    TombolaError,
)
from tombola.worklists.work_file import Assignment, Description, Outcome

if TYPE_CHECKING:
    import httpx

__all__ = ["AsyncClient", "Client"]

# Log of requests that wait; Python prints warnings to standard error unless a program configures
# logging.
_LOG = logging.getLogger("tombola.client")
# Seconds without a reply after which a waiting request is logged: longer than a lost reply takes to
# repeat.
_LOGGED_WAIT = 0.3
# Seconds before the first retry: long enough for a server that restarts to bind its port, short for
# a lost reply.
_FIRST_RETRY = 0.05
# Seconds between two retries at most; the delays double up to it.
_LONGEST_RETRY = 2.0
# HTTP statuses after which a client repeats a request: 502 and 504 of a proxy without its server,
# 503 of a server whose file is locked. Nothing was changed in these cases.
_RETRIED_STATUSES = frozenset({502, 503, 504})
# Type of a problem reply -> error that the client raises; SessionError for all other types.
_ERRORS: dict[str, type[SessionError]] = {
    "urn:tombola:exhausted": ExhaustedError,
    "urn:tombola:conflict": ConflictError,
    "urn:tombola:invalid": FeedbackError,
}

# Media types of replies that are files.
_FILE_TYPES = ("text/csv", "application/vnd.apache.parquet")
# Seconds without a byte of a reply after which the request is repeated.
_READ_TIMEOUT = 30.0
# Result of a request.
_T = TypeVar("_T")
# Parameters of a method.
_P = ParamSpec("_P")


class _Retries:
    """Delays between the attempts of one request, for at most `patience` seconds.

    Delays double from _FIRST_RETRY to _LONGEST_RETRY, each shortened at random by up to half. A
    request that waits longer than _LOGGED_WAIT is logged once.
    """

    def __init__(self, url: str, patience: float) -> None:
        self._url = url
        self._patience = patience
        self._start = time.monotonic()
        self._delay = _FIRST_RETRY
        self._logged = False

    def delay_after(self, reply: "httpx.Response | httpx.TransportError") -> float | None:
        """Return the seconds until the next attempt, None if there is a reply.

        SessionError beyond `patience`.
        """
        if isinstance(reply, Exception):
            problem = f"{type(reply).__name__}: {reply}"
        elif reply.status_code in _RETRIED_STATUSES:
            problem = f"status {reply.status_code}"
        else:
            return None
        waited = time.monotonic() - self._start
        if waited + self._delay > self._patience:
            raise SessionError(
                f"Client: expected a reply of {self._url} within {self._patience:g} s, got "
                f"{problem}; "
                "check that the server runs, then repeat the call."
            )
        if waited > _LOGGED_WAIT and not self._logged:
            self._logged = True
            _LOG.warning("waiting for %s, at most %g s: %s", self._url, self._patience, problem)
        delay = self._delay
        self._delay = min(2 * self._delay, _LONGEST_RETRY)
        return delay * random.uniform(0.5, 1.0)


def _new_key() -> str:
    return secrets.token_urlsafe(16)


def _parse_reply(reply: "httpx.Response", parse: Callable[[Any], _T]) -> _T:
    """Parse the JSON data or the bytes of a reply; raise the error that it states.

    SessionError if the reply is not one of tombola serve.
    """
    media_type = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    got = f"status {reply.status_code} and content of type {media_type or 'unknown'}"
    foreign = SessionError(
        f"Client: expected a reply of tombola serve, got {got} from {reply.url}; check the address."
    )
    try:
        if reply.is_success:
            return parse(reply.content if media_type in _FILE_TYPES else reply.json())
        problem = reply.json()
        kind = str(problem["type"])
        detail = str(problem["detail"])
        is_problem = kind.startswith("urn:tombola:")
    except TombolaError:
        raise
    except MALFORMED_DATA_ERRORS:
        raise foreign from None
    raise _ERRORS.get(kind, SessionError)(detail) if is_problem else foreign


def _overview(reply: dict[str, Any]) -> dict[str, Any]:
    """Return the overview of a server with all of its keys."""
    return {**reply, **{name: reply[name] for name in ("you", "lists")}}


def _object(reply: dict[str, Any]) -> dict[str, Any]:
    return {**reply}


def _without_none(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _tickets(reply: list[Any]) -> list[Assignment]:
    return [Assignment.from_json(ticket) for ticket in reply]


def _outcomes_body(outcomes: Iterable[Outcome]) -> dict[str, Any]:
    bodies = [
        _without_none(
            ticket=outcome.ticket,
            loss=outcome.loss,
            reward=outcome.reward,
            cost=outcome.cost,
            failed=outcome.failed or None,
        )
        for outcome in outcomes
    ]
    return {"outcomes": bodies}


def _awaited(
    method: Callable[Concatenate[Any, _P], _T],
) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]]:
    """Return a blocking method for the async twin, where `_run` returns a coroutine.

    Wrong arguments raise at the call, not when the result is awaited.
    """
    return cast("Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]]", method)


class _Connection:
    """Address, token and name, which sync and async clients share; see `Client`."""

    _http_type: ClassVar[str]  # name of the client of httpx

    def __init__(
        self,
        url: str,
        token: str = "",
        name: str = "",
        *,
        patience: float = 60.0,
        transport: Any = None,
    ) -> None:
        self.url = url
        self.patience = patience
        self._name = name
        try:
            import httpx
        except ImportError:
            raise ParameterError(
                "Client: expected the package httpx, found none; write pip install "
                "'tombola[serve]'."
            ) from None
        # A header of HTTP has no other characters. The message shows one of them, and never the
        # token.
        if wrong := next((c for c in token if not (c.isascii() and c.isprintable())), ""):
            place = "--token or TOMBOLA_TOKEN" if is_cli_style() else "token"
            raise ParameterError(
                f"Client: expected printable ASCII characters in the token, got {wrong!r}; "
                f"correct {place}."
            )
        headers = {"authorization": f"Bearer {token}"} if token else {}
        try:
            self._http: Any = getattr(httpx, self._http_type)(
                base_url=url, headers=headers, timeout=_READ_TIMEOUT, transport=transport
            )
            # Without a scheme, every request would fail as if the server did not run.
            valid = self._http.base_url.scheme in ("http", "https") and bool(
                self._http.base_url.host
            )
        except (httpx.InvalidURL, UnicodeEncodeError):
            valid = False
        if not valid:
            raise ParameterError(
                f"Client: expected an address such as http://127.0.0.1:8787, got {url!r}; write "
                "http:// and a host."
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def _find(self, overview: dict[str, Any]) -> Description:
        """Return the description of the list, or of the only one; else ParameterError."""
        lists = {entry["name"]: entry for entry in overview["lists"]}
        if not self._name and len(lists) == 1:
            [self._name] = lists
        if not self._name:
            names = f" ({', '.join([*lists][:10])})" if lists else ""
            raise ParameterError(
                f"Client: expected the name of one of the {len(lists)} lists{names}, got none; "
                "write Client(url, token, name)."
            )
        if self._name not in lists:
            raise ParameterError(f"{self.url}: {unknown_name_text('list', self._name, [*lists])}")
        return Description.from_json(lists[self._name])

    def _build(
        self, name: str, path: str, body: dict[str, Any] | None = None, key: str = ""
    ) -> "httpx.Request":
        """Return a request about a list; about the server without a name.

        body: None for a GET request; else its fields; those that are None are left out.
        key: idempotency key. All repetitions of the request carry it, so the server acts once. ""
            for none.
        """
        address = f"/v1/lists/{quote(name, safe='')}/{path}" if name else "/v1"
        headers = {"idempotency-key": key} if key else {}
        method = "GET" if body is None else "POST"
        content = None if body is None else _without_none(**body)
        try:
            request: httpx.Request = self._http.build_request(
                method, address, json=content, headers=headers
            )
        except (TypeError, ValueError):
            raise FeedbackError(
                "Client: expected finite numbers and lists of them, got something else; convert "
                "with float()."
            ) from None
        return request


class _SyncConnection(_Connection):
    """Blocking requests with retries."""

    _http_type = "Client"

    @property
    def name(self) -> str:
        """The name of the list."""
        if not self._name:
            self.describe()
        return self._name

    def overview(self) -> dict[str, Any]:
        """Return the caller ("you") and the "lists" of the server.

        The caller has name and role; each list has its name and the fields of `Description`.
        """
        return self._send(self._build("", ""), _overview)

    def describe(self) -> Description:
        """Return the settings of the list; ParameterError if the server has none of its name."""
        return self._send(self._build("", ""), lambda reply: self._find(_overview(reply)))

    def status(self) -> dict[str, Any]:
        """Return progress, pending tickets, and estimates or the answer, as plain data.

        Keys are those of `Status.to_json` or `RaceReport.to_json`, "kind", "pending", "done" and
        "paused".
        """
        return self._run("status", _object)

    def export(self, path: str | Path) -> None:
        """Write all tickets and outcomes to a .csv or .parquet file, which is replaced."""
        suffix = Path(path).suffix.lower()
        if suffix not in (".csv", ".parquet"):
            raise ParameterError(
                f"Client.export: expected a path ending in .csv or .parquet, got {path}; rename it."
            )
        return self._run(f"export{suffix}", lambda content: write_atomic(path, content))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _run(
        self,
        path: str,
        parse: Callable[[Any], _T],
        body: dict[str, Any] | None = None,
        key: str = "",
    ) -> _T:
        """Send a request about the list, as `_build`; return the parsed reply."""
        return self._send(self._build(self.name, path, body, key), parse)

    def _send(self, request: "httpx.Request", parse: Callable[[Any], _T]) -> _T:
        """Send a request until there is a reply, at most for `patience` seconds."""
        from httpx import TransportError

        retries = _Retries(self.url, self.patience)
        while True:
            try:
                reply = self._http.send(request)
            except TransportError as error:
                reply = error
            if (delay := retries.delay_after(reply)) is None:
                return _parse_reply(reply, parse)
            time.sleep(delay)


class _AsyncConnection(_Connection):
    """Requests of async functions, with retries."""

    _http_type = "AsyncClient"

    async def name(self) -> str:
        """Return the name of the list."""
        if not self._name:
            await self.describe()
        return self._name

    overview = _awaited(_SyncConnection.overview)
    describe = _awaited(_SyncConnection.describe)
    status = _awaited(_SyncConnection.status)
    export = _awaited(_SyncConnection.export)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _run(
        self,
        path: str,
        parse: Callable[[Any], _T],
        body: dict[str, Any] | None = None,
        key: str = "",
    ) -> _T:
        """Send a request about the list, as `_build`; return the parsed reply."""
        return await self._send(self._build(await self.name(), path, body, key), parse)

    async def _send(self, request: "httpx.Request", parse: Callable[[Any], _T]) -> _T:
        """Send a request until there is a reply, at most for `patience` seconds."""
        from httpx import TransportError

        retries = _Retries(self.url, self.patience)
        while True:
            try:
                reply = await self._http.send(request)
            except TransportError as error:
                reply = error
            if (delay := retries.delay_after(reply)) is None:
                return _parse_reply(reply, parse)
            await asyncio.sleep(delay)


class Client(_SyncConnection):
    """A session or race behind `tombola serve`, with the methods of `SessionFile` and `RaceFile`.

    url: address of the server, such as "http://127.0.0.1:8787".
    token: token of a worker; empty if the server has none.
    name: name of the list; may be empty if the server has only one.
    patience: seconds for which a request is repeated while the server does not reply.
    transport: transport of httpx, for tests.

    Every request may be repeated safely: `next` sends an idempotency key, which is the same in all
    repetitions, and the same outcome twice is ignored. So a lost reply loses no ticket and doubles
    none.

        with tombola.Client("http://127.0.0.1:8787", token) as client:
            for ticket in client.next(10):
                client.record(ticket.ticket, loss=call(ticket.id, ticket.action))
    """

    def next(
        self, count: int | None = None, *, reissue_after: float | None = None
    ) -> list[Assignment]:
        """Issue the next tickets and return them, as `SessionFile.next`.

        At the end of the list a session raises ExhaustedError. A race returns an empty list if it
        is over (`status()["done"]`), or waits for answers.

        count: fewer are issued if fewer rows are left; None: one, in a race all that the next row
            needs.
        reissue_after: first offer tickets without an outcome issued at least this many seconds ago
            (a second draw if answers are random, which favours faster ones);
            None for never.
        """
        body = {"count": count, "reissue_after": reissue_after}
        return self._run("next", lambda reply: _tickets(reply["tickets"]), body, _new_key())

    def record(
        self,
        ticket: int,
        *,
        loss: Any = None,
        reward: Any = None,
        cost: Any = None,
        failed: bool = False,
    ) -> bool:
        """Record a ticket's outcome, as `SessionFile.record`; return whether it is new.

        False may also mean that a first attempt succeeded and its reply was lost.
        """
        body = _outcomes_body([Outcome(ticket, loss, reward, cost, failed=failed)])
        return self._run("record", lambda reply: bool(reply["recorded"]), body)

    def record_all(self, outcomes: Iterable[Outcome]) -> int:
        """Record many outcomes, all or none; return how many are new."""
        return self._run("record", lambda reply: int(reply["recorded"]), _outcomes_body(outcomes))

    def amend(self, ticket: int, *, loss: Any = None, reward: Any = None) -> Any:
        """Replace a wrong outcome of a session; return its old loss, or list of losses."""
        body = {"ticket": ticket, "loss": loss, "reward": reward}
        return self._run("amend", lambda reply: reply["loss_before"], body)

    def cancel(self, ticket: int) -> bool:
        """Cancel a ticket that will never be answered; return whether that is new."""
        return self._run("cancel", lambda reply: bool(reply["new"]), {"ticket": ticket})

    @property
    def pending(self) -> list[Assignment]:
        """The issued tickets without an outcome that were not cancelled, of all workers."""
        return self._run("status", lambda reply: _tickets(reply["pending"]))

    def assignment(self, ticket: int) -> Assignment:
        """Return the issued ticket with this number; FeedbackError if it was not issued."""
        return self._run(f"tickets/{int(ticket)}", Assignment.from_json)

    def columns(self, ticket: int) -> dict[str, str]:
        """Return filled cells of a ticket's row in the user's list, by column, without id."""
        return self._run(f"tickets/{int(ticket)}", lambda reply: dict(reply["columns"]))


class AsyncClient(_AsyncConnection):
    """A session or race behind `tombola serve`; `Client` for async functions.

    Parameters and methods are those of `Client`; every result is awaited, also `pending` and
    `name()`.

        async with tombola.AsyncClient("http://127.0.0.1:8787", token) as client:
            for ticket in await client.next(10):
                await client.record(ticket.ticket, loss=await call(ticket.id, ticket.action))
    """

    next = _awaited(Client.next)
    record = _awaited(Client.record)
    record_all = _awaited(Client.record_all)
    amend = _awaited(Client.amend)
    cancel = _awaited(Client.cancel)
    assignment = _awaited(Client.assignment)
    columns = _awaited(Client.columns)

    # In the async client, `_run` of this property returns a coroutine.
    pending: Awaitable[list[Assignment]] = cast("Any", Client.pending)
