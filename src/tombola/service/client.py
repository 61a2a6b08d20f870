"""Client of `tombola serve`: the methods of `SessionFile` over HTTP, with retries."""

import json
import random
import secrets
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tombola._files import write_atomic
from tombola.errors import ConflictError, ExhaustedError, FeedbackError, ParameterError, SessionError
from tombola.persistence.session_events import Outcome
from tombola.persistence.session_file import Assignment

if TYPE_CHECKING:
    import httpx

__all__ = ["Client"]

# Seconds before the first retry, doubled up to the longest one. Random, so that clients do not retry in step.
FIRST_RETRY, LONGEST_RETRY = 0.05, 2.0
# Replies of a proxy without its server, and of a server whose file is locked: nothing was changed.
RETRIED_STATUSES = frozenset({502, 503, 504})
ERRORS: dict[str, type[SessionError]] = {
    "urn:tombola:exhausted": ExhaustedError,
    "urn:tombola:conflict": ConflictError,
    "urn:tombola:invalid": FeedbackError,
}


class Client:
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

    def __init__(
        self,
        url: str,
        token: str = "",
        name: str = "",
        *,
        patience: float = 60.0,
        transport: "httpx.BaseTransport | None" = None,
    ) -> None:
        try:
            import httpx
        except ImportError:
            raise ParameterError(
                "Client: expected the package httpx, found none; write pip install 'tombola[serve]'."
            ) from None

        headers = {"authorization": f"Bearer {token}"} if token else {}
        try:
            self._http = httpx.Client(base_url=url, headers=headers, timeout=30.0, transport=transport)
        except (httpx.InvalidURL, UnicodeEncodeError):
            raise ParameterError(
                f"Client: expected an address such as http://127.0.0.1:8787, got {url!r}; repair it."
            ) from None
        self.url, self.patience = url, patience
        self._name = name

    @property
    def name(self) -> str:
        """The name of the session."""
        if not self._name:
            found = [session["name"] for session in self.overview()["sessions"]]
            if len(found) != 1:
                raise ParameterError(
                    f"Client: expected the name of a session, got none for {len(found)} of them "
                    f"({', '.join(found[:10])}); write Client(url, token, name)."
                )
            self._name = found[0]
        return self._name

    def overview(self) -> dict[str, Any]:
        """Return your name and role, and the sessions and races of the server."""
        found: dict[str, Any] = self._request("GET", "/v1")
        return found

    def next(self, count: int = 1, *, reissue_after: float | None = None) -> list[Assignment]:
        """Issue the next tickets; `reissue_after` offers pending ones of so many seconds ago first."""
        body = {"count": count} | ({} if reissue_after is None else {"reissue_after": reissue_after})
        found = self._request("POST", self._path("next"), body, {"idempotency-key": self._new_key()})
        return [_assignment(ticket) for ticket in found["tickets"]]

    def record(self, round: int, *, loss: Any = None, reward: Any = None, cost: Any = None) -> bool:
        """Record the outcome of a ticket; return whether it is new.

        False may also mean that a first attempt succeeded and its reply was lost.
        """
        return self.record_all([Outcome(round, loss, reward, cost)]) == 1

    def record_all(self, outcomes: Iterable[Outcome]) -> int:
        """Record many outcomes, all or none; return how many are new."""
        rows = [
            {"ticket": ticket, **{name: value for name, value in given.items() if value is not None}}
            for ticket, given in ((o.round, {"loss": o.loss, "reward": o.reward, "cost": o.cost}) for o in outcomes)
        ]
        return int(self._request("POST", self._path("record"), {"outcomes": rows})["recorded"])

    def amend(self, round: int, *, loss: Any = None, reward: Any = None) -> Any:
        """Replace a wrong outcome and return its old losses."""
        given = {"loss": loss, "reward": reward}
        body = {"ticket": round, **{name: value for name, value in given.items() if value is not None}}
        return self._request("POST", self._path("amend"), body)["loss_before"]

    def cancel(self, round: int) -> bool:
        """Cancel a ticket that will never be answered; return whether that is new."""
        return bool(self._request("POST", self._path("cancel"), {"ticket": round})["new"])

    def status(self) -> dict[str, Any]:
        """Return progress, pending tickets and estimates as plain data."""
        found: dict[str, Any] = self._request("GET", self._path("status"))
        return found

    @property
    def pending(self) -> list[Assignment]:
        """The tickets without an outcome, issued to any worker."""
        return [_assignment(ticket) for ticket in self.status()["pending"]]

    def assignment(self, round: int) -> Assignment:
        """Return the ticket with this number."""
        return _assignment(self._request("GET", self._path(f"tickets/{int(round)}")))

    def columns(self, round: int) -> dict[str, str]:
        """Return the cells of the row of a ticket, as the list of the server has them."""
        found: dict[str, str] = self._request("GET", self._path(f"tickets/{int(round)}"))["columns"]
        return found

    def export(self, path: str | Path) -> None:
        """Write all tickets and outcomes to a .csv or .parquet file."""
        suffix = Path(path).suffix.lower()
        if suffix not in (".csv", ".parquet"):
            raise ParameterError(f"Client.export: expected a path ending in .csv or .parquet, got {path}; rename it.")
        write_atomic(path, self._send("GET", self._path(f"export{suffix}"), None, {}).content)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def _path(self, end: str) -> str:
        return f"/v1/sessions/{quote(self.name, safe='')}/{end}"

    def _new_key(self) -> str:
        return secrets.token_urlsafe(16)

    def _request(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        return self._send(method, path, body, headers or {}).json()

    def _send(self, method: str, path: str, body: Any, headers: dict[str, str]) -> "httpx.Response":
        """Send a request until there is a reply, at most for `patience` seconds."""
        import httpx

        try:
            content = None if body is None else json.dumps(body, allow_nan=False).encode()
        except (TypeError, ValueError):
            raise FeedbackError(
                "Client: expected finite numbers and lists of them, got something else; convert with float()."
            ) from None
        if content is not None:
            headers = {**headers, "content-type": "application/json"}
        deadline, delay = time.monotonic() + self.patience, FIRST_RETRY
        while True:
            problem = ""
            try:
                reply = self._http.request(method, path, content=content, headers=headers)
                if reply.status_code not in RETRIED_STATUSES:
                    return _checked(reply)
                problem = f"status {reply.status_code}"
            except httpx.TransportError as error:
                problem = type(error).__name__
            if time.monotonic() + delay > deadline:
                raise SessionError(
                    f"Client: expected a reply of {self.url} within {self.patience:g} s, got {problem}; "
                    "check that the server runs, then repeat the call."
                )
            time.sleep(delay * random.uniform(0.5, 1.0))
            delay = min(2 * delay, LONGEST_RETRY)


def _assignment(found: dict[str, Any]) -> Assignment:
    probability = found["probability"]
    return Assignment(
        found["ticket"], found["id"], found["action"], float("nan") if probability is None else probability
    )


def _checked(reply: "httpx.Response") -> "httpx.Response":
    if reply.is_success:
        return reply
    try:
        problem = reply.json()
        kind, detail = problem["type"], str(problem["detail"])
    except (KeyError, TypeError, ValueError):
        kind = ""
        detail = f"Client: expected a reply of tombola serve, got status {reply.status_code}; check the address."
    raise ERRORS.get(kind, SessionError)(detail)
