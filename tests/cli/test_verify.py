"""`session verify` and `race verify`: a whole file, and one with a changed event."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tombola import UCB1
from tombola.cli.app import app
from tombola.errors import SessionError
from tombola.racing import RaceSettings
from tombola.worklists import RaceFile, SessionFile


def start(kind: str, path: Path) -> None:
    if kind == "session":
        with SessionFile.start(path, list("abcdef"), ["x", "y"], UCB1(), seed=1) as run:
            for ticket in run.next(4):
                run.record(ticket.ticket, loss=0.5)
    else:
        with RaceFile.start(path, RaceSettings(("x", "y"), seed=1), list("abcdef")) as race:
            for ticket in race.next(4):
                race.record(ticket.ticket, loss=0.5)


@pytest.mark.parametrize("kind", ["session", "race"])
def test_verify(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "my.file"
    start(kind, path)
    done = CliRunner().invoke(app, [kind, "verify", str(path)], catch_exceptions=False)
    assert "6 rows and 8 events fit their digests" in " ".join(done.output.split())
    done = CliRunner().invoke(app, [kind, "verify", str(path), "--json"], catch_exceptions=False)
    printed: Any = json.loads(done.output)
    assert (printed["rows"], printed["events"]) == (6, 8)
    for change in ("events SET key = 2 WHERE number = 5", "pool SET cells = '[1]' WHERE place = 4"):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"UPDATE {change}")
            connection.commit()
        with pytest.raises(SessionError, match="changed"):
            CliRunner().invoke(app, [kind, "verify", str(path)], catch_exceptions=False)
        path.unlink()
        start(kind, path)
