"""Requests of the clients as data, without input or output.

The sync and the async clients share them.
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

if TYPE_CHECKING:
    import httpx

# Seconds before the first retry, doubled up to the longest one. Random, so that clients do not retry in step.
FIRST_RETRY, LONGEST_RETRY = 0.05, 2.0
# Replies of a proxy without its server, and of a server whose file is locked: nothing was changed.
RETRIED_STATUSES = frozenset({502, 503, 504})
ERRORS: dict[str, type[SessionError]] = {
    "urn:tombola:exhausted": ExhaustedError,
    "urn:tombola:conflict": ConflictError,
    "urn:tombola:invalid": FeedbackError,
}

T = TypeVar("T")


class IssuedCalls(NamedTuple):
    """Calls of a race to make, and whether the race is done.

    No call and not done: other answers must come first.
    """

    calls: list[Call]
    done: bool


@dataclass(frozen=True)
class ApiRequest(Generic[T]):
    """One request: method, path, JSON body, and the parser of the reply.

    path: below that of the file.

    A `key` makes the request idempotent: all its repetitions carry the same one.
    """

    method: str
    path: str
    parse: Callable[["httpx.Response"], T]
    body: Any = None
    key: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """The headers beside those of the client."""
        json_type = {} if self.body is None else {"content-type": "application/json"}
        return json_type | ({"idempotency-key": self.key} if self.key else {})

    @property
    def content(self) -> bytes | None:
        """The body as bytes."""
        try:
            return None if self.body is None else json.dumps(self.body, allow_nan=False).encode()
        except (TypeError, ValueError):
            raise FeedbackError(
                "Client: expected finite numbers and lists of them, got something else; convert with float()."
            ) from None


class Retries:
    """Delays between the attempts of one request, for at most `patience` seconds.

    >>> retries = Retries("http://127.0.0.1:1", 10.0)
    >>> 0.0 < retries.next_delay("ConnectError") <= FIRST_RETRY
    True
    """

    def __init__(self, url: str, patience: float) -> None:
        self._url, self._patience = url, patience
        self._deadline, self._delay = time.monotonic() + patience, FIRST_RETRY

    def next_delay(self, problem: str) -> float:
        """Return the seconds to wait before the next attempt.

        Raises SessionError if the patience is over.

        problem: named in the error message.
        """
        if time.monotonic() + self._delay > self._deadline:
            raise SessionError(
                f"Client: expected a reply of {self._url} within {self._patience:g} s, got {problem}; "
                "check that the server runs, then repeat the call."
            )
        delay, self._delay = self._delay, min(2 * self._delay, LONGEST_RETRY)
        return delay * random.uniform(0.5, 1.0)


def new_key() -> str:
    """Return a random idempotency key."""
    return secrets.token_urlsafe(16)


def overview() -> ApiRequest[dict[str, Any]]:
    """Request name and role of the caller, and the files of the server."""
    return ApiRequest("GET", "/v1", _json)


def path_of(kind: str, name: str) -> str:
    """Return the path of a session ("sessions") or race ("races").

    >>> path_of("races", "a/b")
    '/v1/races/a%2Fb/'
    """
    return f"/v1/{kind}/{quote(name, safe='')}/"


def only_name(kind: str, found: dict[str, Any]) -> str:
    """Return the name of the only session or race of an overview.

    Raises ParameterError if there are others.

    kind: "sessions" or "races".
    found: the overview.
    """
    names = [one["name"] for one in found[kind]]
    if len(names) != 1:
        listed = f" ({', '.join(names[:10])})" if names else ""
        raise ParameterError(
            f"Client: expected the name of one of the {len(names)} {kind}{listed}, got none; "
            "write Client(url, token, name)."
        )
    return str(names[0])


def next_tickets(count: int, reissue_after: float | None) -> ApiRequest[list[Assignment]]:
    """Request tickets.

    count: number of tickets.
    reissue_after: offer pending tickets of so many seconds ago first.
    """
    body = {"count": count} | _without_none(reissue_after=reissue_after)
    return ApiRequest("POST", "next", lambda reply: [_assignment(t) for t in reply.json()["tickets"]], body, new_key())


def record_outcomes(outcomes: Iterable[Outcome]) -> ApiRequest[int]:
    """Send outcomes; the number of new ones is returned."""
    rows = [{"ticket": o.round} | _without_none(loss=o.loss, reward=o.reward, cost=o.cost) for o in outcomes]
    return ApiRequest("POST", "record", lambda reply: int(reply.json()["recorded"]), {"outcomes": rows})


def amend(round: int, loss: Any, reward: Any) -> ApiRequest[Any]:
    """Replace an outcome; its old losses are returned."""
    body = {"ticket": round} | _without_none(loss=loss, reward=reward)
    return ApiRequest("POST", "amend", lambda reply: reply.json()["loss_before"], body)


def cancel(round: int) -> ApiRequest[bool]:
    """Cancel a ticket."""
    return ApiRequest("POST", "cancel", lambda reply: bool(reply.json()["new"]), {"ticket": round})


def status() -> ApiRequest[dict[str, Any]]:
    """Request the status of a session or race."""
    return ApiRequest("GET", "status", _json)


def pending_tickets() -> ApiRequest[list[Assignment]]:
    """Request the pending tickets of a session."""
    return ApiRequest("GET", "status", lambda reply: [_assignment(t) for t in reply.json()["pending"]])


def ranking() -> ApiRequest[dict[str, Any]]:
    """Request the actions of a session, the best first."""
    return ApiRequest("GET", "ranking", _json)


def assignment(round: int) -> ApiRequest[Assignment]:
    """Request one ticket."""
    return ApiRequest("GET", f"tickets/{int(round)}", lambda reply: _assignment(reply.json()))


def columns(round: int) -> ApiRequest[dict[str, str]]:
    """Request the cells of the row of a ticket."""
    return ApiRequest("GET", f"tickets/{int(round)}", lambda reply: dict(reply.json()["columns"]))


def export(path: str | Path) -> ApiRequest[bytes]:
    """Request all tickets or answers as a table of the type of `path`."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise ParameterError(f"Client.export: expected a path ending in .csv or .parquet, got {path}; rename it.")
    return ApiRequest("GET", f"export{suffix}", lambda reply: bytes(reply.content))


def next_calls(count: int | None, reissue_after: float | None) -> ApiRequest[IssuedCalls]:
    """Request calls of a race.

    count: number of calls; None for all that the next row needs.
    reissue_after: offer pending calls of so many seconds ago first.
    """

    def parse(reply: "httpx.Response") -> IssuedCalls:
        found = reply.json()
        return IssuedCalls([_call(one) for one in found["calls"]], bool(found["done"]))

    body = _without_none(count=count, reissue_after=reissue_after)
    return ApiRequest("POST", "next", parse, body, new_key())


def record_answers(answers: Iterable[Event]) -> ApiRequest[int]:
    """Send answers of a race; the number of new ones is returned."""
    rows = [
        {"ticket": one.ticket, "cost": one.cost, "failed": one.failed} | _without_none(loss=one.loss) for one in answers
    ]
    return ApiRequest("POST", "record", lambda reply: int(reply.json()["recorded"]), {"answers": rows})


def pending_calls() -> ApiRequest[list[Call]]:
    """Request the pending calls of a race."""
    return ApiRequest("GET", "status", lambda reply: [_call(one) for one in reply.json()["pending"]])


def verdict() -> ApiRequest[dict[str, Any]]:
    """Request the answer of a race."""
    return ApiRequest("GET", "verdict", _json)


def checked(reply: "httpx.Response") -> "httpx.Response":
    """Return a successful reply; raise the error of any other one."""
    if reply.is_success:
        return reply
    try:
        problem = reply.json()
        kind, detail = problem["type"], str(problem["detail"])
    except (KeyError, TypeError, ValueError):
        kind = ""
        detail = f"Client: expected a reply of tombola serve, got status {reply.status_code}; check the address."
    raise ERRORS.get(kind, SessionError)(detail)


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
