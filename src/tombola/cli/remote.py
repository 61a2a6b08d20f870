"""Session of a `tombola serve` server, for the session commands with --url."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import Any, Self

from tombola._formatting import unknown_name_text
from tombola.budget.budget import Budget
from tombola.errors import FeedbackError, ParameterError
from tombola.service.client import Client
from tombola.units import Units
from tombola.worklists.session_file import Assignment
from tombola.worklists.session_status import Status


class RemoteSession:
    """A session of a server, with the interface of `SessionFile` that commands use.

    ParameterError if the server has no session of this name. Other methods are those of `Client`.

    reissue_after: `next` first returns pending tickets issued at least this many seconds ago; None:
        only new ones.
    """

    def __init__(self, url: str, token: str, name: str, reissue_after: float | None = None) -> None:
        self._client, self._reissue_after = Client(url, token, name), reissue_after
        sessions = {one["name"]: one for one in self._client.overview()["sessions"]}
        found = sessions.get(name)
        if found is None:
            self._client.close()
            raise ParameterError(f"{url}: {unknown_name_text('session', name, list(sessions))}")
        self.path, self.horizon = Path(name), int(found["rows"])
        self.names = tuple(found["actions"])
        self.kind, (low, high) = found["direction"], found["range"]
        self.range = (float(low), float(high))
        self.columns, self.id_column, self.delimiter = (
            tuple(found["columns"]),
            found["id_column"],
            found["delimiter"],
        )
        self.budget = None if found["budget"] is None else Budget(*found["budget"])
        self.feedback_model = SimpleNamespace(
            full_feedback=found["full_feedback"], n_listed_actions=found["n_listed_actions"]
        )

    def next(self, count: int) -> list[Assignment]:
        """Issue at most `count` tickets; with `reissue_after`, expired ones first."""
        return self._client.next(count, reissue_after=self._reissue_after)

    @property
    def round(self) -> int:
        """The number of tickets issued so far."""
        return int(self._client.status()["played"])

    def status(self) -> Status:
        """Return progress and estimates of the session."""
        return Status.from_json(
            self._client.status(), Units(*self.range, scores=self.kind == "scores")
        )

    def lease_times(self) -> dict[int, float]:
        """Return the Unix time of the last issue of each pending ticket, if it is known."""
        pending = self._client.status()["pending"]
        return {one["ticket"]: one["since"] for one in pending if one["since"] is not None}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def round_of(self, id: str) -> int:
        """Always raise FeedbackError: the server does not search tickets by row id."""
        raise FeedbackError(
            "session record: expected the column ticket with --url, got a table with ids such "
            f"as {id!r}; take the "
            "table that `session next --out` wrote."
        )

    def rows_of(self, assignments: Sequence[Assignment]) -> list[tuple[str, ...]]:
        """Return rows of tickets, in the order of `columns`; one request per ticket."""
        rows = [
            {self.id_column: task.id, **self._client.columns(task.round)} for task in assignments
        ]
        return [tuple(cells.get(name, "") for name in self.columns) for cells in rows]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()
