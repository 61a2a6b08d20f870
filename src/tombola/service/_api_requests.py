"""Requests of the clients as data, without input or output.

The sync and the async clients share them; parameters are those of the client's method of the same name.
"""

import json
import random
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote

from tombola.errors import ConflictError, ExhaustedError, FeedbackError, ParameterError, SessionError
from tombola.persistence.session_events import Outcome
from tombola.persistence.session_file import Assignment
from tombola.racing.events import Call, Event
from tombola.racing.options import RaceSettings

if TYPE_CHECKING:
    import httpx

# Seconds before the first retry: long enough for a server that restarts to bind its port, short for a lost reply.
FIRST_RETRY = 0.05
# Seconds between two retries at most; the delays double up to it.
LONGEST_RETRY = 2.0
# HTTP statuses after which a client repeats a request: 502 and 504 of a proxy without its server, 503 of a server
# whose file is locked. Nothing was changed in these cases.
RETRIED_STATUSES = frozenset({502, 503, 504})
# Type of a problem reply -> error that the client raises; SessionError for all other types.
_ERRORS: dict[str, type[SessionError]] = {
    "urn:tombola:exhausted": ExhaustedError,
    "urn:tombola:conflict": ConflictError,
    "urn:tombola:invalid": FeedbackError,
}

# Result of a request, as parsed from its reply.
_T = TypeVar("_T")


class IssuedCalls(NamedTuple):
    """Calls of a race to make, and whether the race is done.

    No call and not done: other answers must come first.

    calls: to be made now; a call is a candidate to evaluate on a row.
    done: whether the race has ended.
    """

    calls: list[Call]
    done: bool


@dataclass(frozen=True)
class ApiRequest(Generic[_T]):
    """One request of the JSON API, with the parser of its reply; the clients send it.

    path: appended to the path of the session or race, see `path_of`; absolute for `overview`.
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


class Retries:
    """Delays between the attempts of one request, for at most `patience` seconds.

    Delays double from FIRST_RETRY to LONGEST_RETRY, each shortened at random by up to half.

    >>> retries = Retries("http://127.0.0.1:1", 10.0)
    >>> 0.0 < retries.next_delay("ConnectError") <= FIRST_RETRY
    True
    """

    def __init__(self, url: str, patience: float) -> None:
        self._url, self._patience = url, patience
        self._deadline, self._delay = time.monotonic() + patience, FIRST_RETRY

    def next_delay(self, problem: str) -> float:
        """Return the seconds to wait after `problem`; SessionError beyond `patience`."""
        if time.monotonic() + self._delay > self._deadline:
            raise SessionError(
                f"Client: expected a reply of {self._url} within {self._patience:g} s, got {problem}; "
                "check that the server runs, then repeat the call."
            )
        delay, self._delay = self._delay, min(2 * self._delay, LONGEST_RETRY)
        return delay * random.uniform(0.5, 1.0)


def new_key() -> str:
    """Return a random idempotency key: 22 characters, safe in URLs."""
    return secrets.token_urlsafe(16)


def overview() -> ApiRequest[dict[str, Any]]:
    """Return the request for the overview of the server: you, sessions and races."""
    return ApiRequest("GET", "/v1", _json)


def path_of(kind: str, name: str) -> str:
    """Return the path of a session or race in the API; the name is quoted.

    >>> path_of("races", "a/b")
    '/v1/races/a%2Fb/'
    """
    return f"/v1/{kind}/{quote(name, safe='')}/"


def only_name(kind: str, found: dict[str, Any]) -> str:
    """Return the name of the only session or race of a server; else ParameterError."""
    names = [one["name"] for one in found[kind]]
    if len(names) != 1:
        listed = f" ({', '.join(names[:10])})" if names else ""
        raise ParameterError(
            f"Client: expected the name of one of the {len(names)} {kind}{listed}, got none; "
            "write Client(url, token, name)."
        )
    return str(names[0])


def next_tickets(count: int, reissue_after: float | None) -> ApiRequest[list[Assignment]]:
    """Return the request for the next tickets of a session: rows with actions."""
    body = {"count": count} | _without_none(reissue_after=reissue_after)
    return ApiRequest("POST", "next", lambda reply: [_assignment(t) for t in reply.json()["tickets"]], body, new_key())


def record_outcomes(outcomes: Iterable[Outcome]) -> ApiRequest[int]:
    """Return the request that records outcomes; its result is the number of new ones."""
    rows = [{"ticket": o.round} | _without_none(loss=o.loss, reward=o.reward, cost=o.cost) for o in outcomes]
    return ApiRequest("POST", "record", lambda reply: int(reply.json()["recorded"]), {"outcomes": rows})


def amend(round: int, loss: Any, reward: Any) -> ApiRequest[Any]:
    """Return the request that replaces an outcome; its result is the old loss."""
    body = {"ticket": round} | _without_none(loss=loss, reward=reward)
    return ApiRequest("POST", "amend", lambda reply: reply.json()["loss_before"], body)


def cancel(round: int) -> ApiRequest[bool]:
    """Return the request that cancels a ticket; its result is False if it was before."""
    return ApiRequest("POST", "cancel", lambda reply: bool(reply.json()["new"]), {"ticket": round})


def status() -> ApiRequest[dict[str, Any]]:
    """Return the request for the status of a session or race as plain data."""
    return ApiRequest("GET", "status", _json)


def pending_tickets() -> ApiRequest[list[Assignment]]:
    """Return the request for the issued tickets of a session without an outcome."""
    return ApiRequest("GET", "status", lambda reply: [_assignment(t) for t in reply.json()["pending"]])


def ranking() -> ApiRequest[dict[str, Any]]:
    """Return the request for the actions by mean loss, the best first."""
    return ApiRequest("GET", "ranking", _json)


def assignment(round: int) -> ApiRequest[Assignment]:
    """Return the request for one issued ticket."""
    return ApiRequest("GET", f"tickets/{int(round)}", lambda reply: _assignment(reply.json()))


def columns(round: int) -> ApiRequest[dict[str, str]]:
    """Return the request for the cells of the row of a ticket by column."""
    return ApiRequest("GET", f"tickets/{int(round)}", lambda reply: dict(reply.json()["columns"]))


def export(path: str | Path) -> ApiRequest[bytes]:
    """Return the request for all tickets or answers as a .csv or .parquet file."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise ParameterError(f"Client.export: expected a path ending in .csv or .parquet, got {path}; rename it.")
    return ApiRequest("GET", f"export{suffix}", lambda reply: bytes(reply.content))


def next_calls(count: int | None, reissue_after: float | None) -> ApiRequest[IssuedCalls]:
    """Return the request for calls of a race: candidates to evaluate on rows."""

    def parse(reply: "httpx.Response") -> IssuedCalls:
        found = reply.json()
        return IssuedCalls([_call(one) for one in found["calls"]], bool(found["done"]))

    body = _without_none(count=count, reissue_after=reissue_after)
    return ApiRequest("POST", "next", parse, body, new_key())


def record_answers(answers: Iterable[Event]) -> ApiRequest[int]:
    """Return the request that records answers; its result is the number of new ones."""
    rows = [
        {"ticket": one.ticket, "cost": one.cost, "failed": one.failed} | _without_none(loss=one.loss) for one in answers
    ]
    return ApiRequest("POST", "record", lambda reply: int(reply.json()["recorded"]), {"answers": rows})


def pending_calls() -> ApiRequest[list[Call]]:
    """Return the request for the issued calls of a race without an answer."""
    return ApiRequest("GET", "status", lambda reply: [_call(one) for one in reply.json()["pending"]])


def race_settings() -> ApiRequest[RaceSettings]:
    """Return the request for the settings of a race."""
    return ApiRequest("GET", "status", lambda reply: RaceSettings.from_json(reply.json()["settings"]))


def verdict() -> ApiRequest[dict[str, Any]]:
    """Return the request for the answer of a race so far."""
    return ApiRequest("GET", "verdict", _json)


def check_reply(reply: "httpx.Response") -> "httpx.Response":
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


def _assignment(found: dict[str, Any]) -> Assignment:
    probability = found["probability"]
    return Assignment(
        found["ticket"], found["id"], found["action"], float("nan") if probability is None else probability
    )


def _call(found: dict[str, Any]) -> Call:
    return Call(found["ticket"], found["candidate"], found["row"], found["row_index"])
