"""A list of a `tombola serve` server as a work list: commands with --url use it."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tombola.errors import FeedbackError, ParameterError
from tombola.service.client import Client
from tombola.worklists.race_file import ticket_of_run
from tombola.worklists.work_file import Assignment, Description


class RemoteList:
    """A list of a server, with the part of `WorkFile` that commands use.

    ParameterError if the server has no list of this name and kind. Other methods are those of
    `Client`.
    """

    def __init__(self, url: str, token: str, name: str, kind: str) -> None:
        self._client = Client(url, token, name)
        try:
            self._about = self._client.describe()
            if self._about.kind != kind:
                raise ParameterError(
                    f"{url}: expected a {kind}, got {name!r}, a {self._about.kind}; write tombola "
                    f"{self._about.kind} instead."
                )
        except BaseException:
            self._client.close()
            raise

    def describe(self) -> Description:
        """Return the settings that do not change."""
        return self._about

    def reading(self) -> AbstractContextManager[Any]:
        """Do nothing: every request is a transaction of the server."""
        return nullcontext()

    def writing(self) -> AbstractContextManager[Any]:
        """Do nothing, as `reading`."""
        return nullcontext()

    def lease(
        self, request: str, count: int | None, *, reissue_after: float | None = None
    ) -> list[Assignment]:
        """Issue tickets; the client draws the key of the request."""
        return self._client.next(count, reissue_after=reissue_after)

    def to_json(self) -> dict[str, Any]:
        """Return all that is known now."""
        return self._client.status()

    def summary(self) -> str:
        """Return one line on the state."""
        return str(self.to_json()["summary"])

    @property
    def done(self) -> bool:
        """Whether no further ticket will be issued."""
        return bool(self.to_json()["done"])

    def ticket_of(self, id: str, action: str = "", run: int | None = None) -> int:
        """Return the ticket of a pending call of a race; in a session raise FeedbackError."""
        if self._about.kind == "session":
            raise FeedbackError(
                "session record: expected the column ticket with --url, got a table with ids such "
                f"as {id!r}; take the table that `session next --out` wrote."
            )
        pending = [
            ticket for ticket in self._client.pending if (ticket.id, ticket.action) == (id, action)
        ]
        return ticket_of_run(pending, id, action, run)

    def rows_of(self, assignments: Sequence[Assignment]) -> list[tuple[str, ...]]:
        """Return rows of tickets, in the order of the columns; one request per ticket."""
        rows = []
        for ticket in assignments:
            cells = {
                self._about.id_column: ticket.id,
                **self._client.columns(ticket.ticket),
            }
            rows.append(tuple(cells.get(name, "") for name in self._about.columns))
        return rows

    def export(self, path: Path) -> int:
        """Write all tickets to a table; return the number of those with an outcome."""
        self._client.export(path)
        now = self._client.status()
        return int(now["played"] if self._about.kind == "session" else now["calls"])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()
