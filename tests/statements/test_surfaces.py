"""Ten results on all their surfaces: one statement, all renderings, no disagreement."""

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner

import tombola
from service_cases import api_of
from tombola import rank
from tombola.cli.app import app
from tombola.learners import Exp3
from tombola.policies import Routed
from tombola.racing import Event, RaceSettings
from tombola.racing.report import RaceReport
from tombola.racing.strata import Strata
from tombola.statements import Statement
from tombola.worklists import RaceFile, SessionFile
from tombola.worklists.session_page import session_page
from tombola.worklists.session_text import status_lines

pytestmark = pytest.mark.usefixtures("plainly")

RNG = np.random.default_rng(7)
TABLE = (RNG.random((60, 3)) < [0.2, 0.5, 0.8]).astype(float)


class Surfaces(NamedTuple):
    """One result: its statements, and what terminal, page, card, JSON and service show."""

    statements: tuple[Statement, ...]
    terminal: str
    page: str
    card: str
    data: Any
    service: str = ""


def of_race(
    folder: Path, *, answered: int | None = None, table: Any = TABLE, strata: Any = None,
    **options: Any,
) -> Surfaces:  # fmt: skip
    """A race file, its command, page and card, and the service that has it."""
    settings = RaceSettings(tuple("abc"), seed=2, answers="fixed", **options)
    path = folder / "r"
    rows = [str(row) for row in range(len(table))]
    strata = None if strata is None else Strata.of(strata, len(table))
    with RaceFile.start(path, settings, rows, strata=strata) as file:
        while not file.race.done and (answered is None or file.race.calls_made < answered):
            for call in file.race.calls():
                loss = float(table[call.row_index]["abc".index(call.candidate)])
                file.append(Event("answer", call.ticket, loss))
        race = file.race
        shown = CliRunner().invoke(app, ["race", "status", str(path)])
        found = Surfaces(
            (race.statement,), shown.stdout, RaceReport.from_file(file).to_html(),
            race._repr_html_(), {"statement": race.statement.to_json(), "verdict": race.verdict},
        )  # fmt: skip
    return served(found, path)


def served(surfaces: Surfaces, path: Path) -> Surfaces:
    """Add the page and the JSON of the service that has the file."""
    with api_of(path) as api:
        page = api("GET", f"/lists/{path.name}").text
        data = api("GET", f"/v1/lists/{path.name}/status").json()
    return surfaces._replace(service=page, data=[surfaces.data, data["statement"]])


def of_result(result: Any) -> Surfaces:
    data = result.to_json()
    return Surfaces(result.statements, str(result), result.to_page(), result._repr_html_(), data)


def of_session(file: SessionFile) -> Surfaces:
    now = file.status()
    return Surfaces(
        (now.statement,), "\n".join([now.router, *status_lines(now, "s")]), session_page(file),
        file._repr_html_() or "", now.to_json(),
    )  # fmt: skip


def session(folder: Path) -> Surfaces:
    ids = [str(row) for row in range(60)]
    with SessionFile.start(folder / "s", ids, ["a", "b"], Exp3(), kind="losses", seed=2) as file:
        file.interpreted = True
        tasks = file.next(40)
        for task in tasks[:-6]:
            file.record(task.ticket, loss=float(task.action == "a"))
        assert len(file.status().pending) == 6
        found = of_session(file)
    return served(found, folder / "s")


def routed(folder: Path) -> Surfaces:
    """A session with a router whose certificate is proved: it stands on every surface, too."""
    sides = np.random.default_rng(1).integers(0, 2, 400).astype(float)
    ids = [str(row) for row in range(400)]
    with SessionFile.start(
        folder / "s", ids, ["a", "b"], Routed(), kind="losses", seed=2, features=sides[:, None],
        feature_names=["side"],
    ) as file:  # fmt: skip
        file.interpreted = True
        for _ in range(4):
            for task in file.next(50):
                side = sides[int(task.id)]
                file.record(task.ticket, loss=[side, 1.0 - side])
        found = of_session(file)
        router = file.status().router
    found = served(found, folder / "s")
    assert "the present router is better than any single action by more than" in router
    for text in (found.terminal, found.page, found.card, found.service):
        assert router[1:] in plain(text), text[:400]
    assert found.data[0]["router"] == router
    return found


RESULTS: dict[str, Callable[[Path], Surfaces]] = {
    "running": lambda folder: of_race(folder, answered=9),
    "decided": of_race,
    "capped": lambda folder: of_race(folder, table=np.full((60, 3), 0.5), max_calls=30),
    "exact": lambda _: of_result(rank(TABLE, kind="losses", names="abc", reading="recorded")),
    "refuted": lambda _: of_result(
        tombola.audit([{"ok": value} for value in TABLE[:, 2]], "mean(ok) < 0.5")
    ),
    "groups": lambda folder: of_race(folder, strata=["x", "y"] * 30),
    "clusters": lambda _: of_result(
        rank(TABLE, kind="losses", names="abc", clusters=[row // 3 for row in range(60)])
    ),
    "sample": lambda _: of_result(
        tombola.certify(
            iter([{"a": a, "b": b} for a, b, _ in TABLE.tolist()]), rows=4000, kind="losses",
            within=0.3,
        )
    ),
    "routed": routed,
    "session with pending tickets": session,
}  # fmt: skip


def plain(text: str) -> str:
    """Return the words of a page or a card, without its tags."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def claims(statement: Statement) -> list[str]:
    """Return what every surface must say: scope with confidence, or that nothing is proved."""
    if not statement.conclusions:
        return ["nothing is proved"]
    return [statement.scope, statement.confidence]


def saved(name: str, surfaces: Surfaces, folder: Path) -> None:
    """Write the four renderings side by side, for a look at them."""
    place = folder / name.replace(" ", "_")
    place.mkdir(parents=True, exist_ok=True)
    (place / "terminal.txt").write_text(surfaces.terminal, encoding="utf-8")
    (place / "page.html").write_text(surfaces.page, encoding="utf-8")
    (place / "card.html").write_text(surfaces.card, encoding="utf-8")
    (place / "service.html").write_text(surfaces.service, encoding="utf-8")
    (place / "data.json").write_text(json.dumps(surfaces.data, indent=1), encoding="utf-8")


def statements_in(data: Any) -> list[Any]:
    """Return all statements of JSON data, wherever they are."""
    if isinstance(data, dict):
        own = [data] if {"text", "verdict", "conclusions"} <= data.keys() else []
        return own or [item for value in data.values() for item in statements_in(value)]
    return (
        [item for value in data for item in statements_in(value)] if isinstance(data, list) else []
    )


@pytest.mark.parametrize("name", RESULTS)
def test_all_surfaces_of_a_result_say_its_statement(name: str, tmp_path: Path) -> None:
    surfaces = RESULTS[name](tmp_path)
    saved(name, surfaces, tmp_path)
    shown = {
        "terminal": plain(surfaces.terminal),
        "page": plain(surfaces.page),
        "card": plain(surfaces.card),
    }
    in_json = statements_in(json.loads(json.dumps(surfaces.data, allow_nan=False)))
    # A file is served, too: its page, and its statement in JSON again.
    shown |= {"service": plain(surfaces.service)} if surfaces.service else {}
    expected = surfaces.statements * (2 if surfaces.service else 1)
    assert [data["text"] for data in in_json] == [str(item) for item in expected]
    for statement, data in zip(expected, in_json, strict=True):
        assert (data["verdict"], data["level"]) == (statement.verdict, statement.level)
        for surface, text in shown.items():
            for claim in claims(statement):
                assert claim in text, (surface, claim, text[:400])
    if surfaces.service:
        # Files are shown as they are: word by word, without the first letter, which may be a capital.
        for surface, text in shown.items():
            assert surfaces.statements[0].sentence[1:] in text, (surface, text[:400])
    levels = {statement.level for statement in surfaces.statements if statement.conclusions}
    for surface, text in shown.items():
        # No surface is surer than the statements: neither certain, nor at another level.
        if 0.0 not in levels:
            assert "for certain" not in text, surface
        # The certificate of a router has the level of its session.
        for number in re.findall(r"with probability ([\d.]+) or more", text):
            assert float(number) in {round(1.0 - level, 4) for level in levels}, (surface, number)


def test_service_calls_no_equal_candidate_the_leader(tmp_path: Path) -> None:
    """ "Leader: a" stood beside "where a, b and c are level"."""
    surfaces = of_race(tmp_path, answered=9, table=np.full((60, 3), 0.5))
    words = plain(surfaces.service)
    assert "where a, b and c are level" in words
    assert "Level a, b, c Calls" in words
    assert "Leader" not in words
