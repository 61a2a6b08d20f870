"""Ten results on all their surfaces: one statement, four renderings, no disagreement."""

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import tombola
from tombola import Race, rank
from tombola.learners import Exp3
from tombola.racing.report import RaceReport
from tombola.service.pages import _plain_words
from tombola.statements import Statement
from tombola.worklists import SessionFile
from tombola.worklists.session_page import session_page
from tombola.worklists.session_text import status_lines

pytestmark = pytest.mark.usefixtures("plainly")

RNG = np.random.default_rng(7)
TABLE = (RNG.random((60, 3)) < [0.2, 0.5, 0.8]).astype(float)


class Surfaces(NamedTuple):
    """One result: its statements, and what terminal, page, card and JSON show."""

    statements: tuple[Statement, ...]
    terminal: str
    page: str
    card: str
    data: Any


def of_race(
    rows: int, *, answered: int | None = None, table: Any = TABLE, **options: Any
) -> Surfaces:
    settings: dict[str, Any] = {"answers": "fixed", "seed": 2, **options}
    race = Race("abc", rows, **settings)
    while not race.done and (answered is None or race.calls_made < answered):
        for call in race.calls():
            race.record(call, loss=float(table[call.row_index]["abc".index(call.candidate)]))
    report = RaceReport.from_race(race)
    return Surfaces(
        (race.statement,), race.verdict, report.to_html(), race._repr_html_(),
        {"statement": race.statement.to_json(), "verdict": race.verdict},
    )  # fmt: skip


def of_result(result: Any) -> Surfaces:
    data = result.to_json()
    return Surfaces(result.statements, str(result), result.to_page(), result._repr_html_(), data)


def session(folder: Path) -> Surfaces:
    ids = [str(row) for row in range(60)]
    with SessionFile.start(folder / "s", ids, ["a", "b"], Exp3(), seed=2) as file:
        file.interpreted = True
        tasks = file.next(40)
        for task in tasks[:-6]:
            file.record(task.ticket, loss=float(task.action == "a"))
        now = file.status()
        assert len(now.pending) == 6
        return Surfaces(
            (now.statement,), "\n".join([*status_lines(now, "s"), _plain_words(now)]),
            session_page(file), file._repr_html_() or "", now.to_json(),
        )  # fmt: skip


def routed() -> Surfaces:
    from tombola.policies import certify_rows

    losses = np.tile([[0.0, 1.0], [1.0, 0.0]], (200, 1))
    found = certify_rows(losses, losses.argmin(axis=1), population=1000, block=1)
    # A router's certificate is a line of the status of its session, on every surface.
    text = found.text
    return Surfaces((found.statement,), text, text, text, {"statement": found.statement.to_json()})


RESULTS: dict[str, Callable[[Path], Surfaces]] = {
    "running": lambda _: of_race(60, answered=9),
    "decided": lambda _: of_race(60),
    "capped": lambda _: of_race(60, table=np.full((60, 3), 0.5), max_calls=30),
    "exact": lambda _: of_result(rank(TABLE, kind="losses", names="abc", reading="recorded")),
    "refuted": lambda _: of_result(
        tombola.audit([{"ok": value} for value in TABLE[:, 2]], "mean(ok) < 0.5")
    ),
    "groups": lambda _: of_race(60, strata=["x", "y"] * 30),
    "clusters": lambda _: of_result(
        rank(TABLE, kind="losses", names="abc", clusters=[row // 3 for row in range(60)])
    ),
    "sample": lambda _: of_result(
        tombola.certify(
            iter([{"a": a, "b": b} for a, b, _ in TABLE.tolist()]), rows=4000, kind="losses",
            within=0.3,
        )
    ),
    "routed": lambda _: routed(),
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
    assert [data["text"] for data in in_json] == [str(item) for item in surfaces.statements]
    for statement, data in zip(surfaces.statements, in_json, strict=True):
        assert (data["verdict"], data["level"]) == (statement.verdict, statement.level)
        for surface, text in shown.items():
            for claim in claims(statement):
                assert claim in text, (surface, claim, text[:400])
    levels = {statement.level for statement in surfaces.statements if statement.conclusions}
    for surface, text in shown.items():
        # No surface is surer than the statements: neither certain, nor at another level.
        if 0.0 not in levels:
            assert "for certain" not in text, surface
        for number in re.findall(r"with probability ([\d.]+) or more", text):
            assert float(number) in {round(1.0 - level, 4) for level in levels}, (surface, number)
