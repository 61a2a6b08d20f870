"""Objects in notebooks: short `__repr__`, escaped `_repr_html_`, figures that display."""

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola import (
    UCB1,
    Budget,
    FixedAction,
    Hedge,
    Pool,
    Race,
    Session,
    SessionFile,
    compare,
    play,
)
from tombola._formatting import MAX_ROWS, HtmlTable, html_block
from tombola.advice.default_learners import Conditions
from tombola.advice.report import run_comparison
from tombola.advice.request import CompareRequest
from tombola.evidence import certify_plays
from tombola.learners import EmpiricalLP
from tombola.tables import read_table

pytestmark = pytest.mark.usefixtures("plainly")

# A name that would run a script, one that would reverse text, and one longer than a line.
NAMES = ("<script>alert(1)</script>", 'a & "b" \u202e\x1b', "n" * 500)
ALLOWED_TAGS = {"div", "strong", "table", "thead", "tbody", "tr", "th", "td"}


def pool(rows: int = 40) -> Pool:
    return Pool(np.random.default_rng(0).integers(0, 2, (rows, 3)) * 1.0, actions=NAMES)


def race() -> Race:
    race = Race(NAMES, rows=200, seed=1)
    while not race.done:
        for call in race.calls():
            race.record(call, loss=float(NAMES.index(call.candidate) == 0), cost=0.5)
    return race


def session() -> Session:
    session = Session(UCB1(), NAMES, horizon=20, seed=0)
    for _ in range(5):
        session.observe(session.act(), loss=0.5)
    session.act()
    return session


def session_file(folder: Path) -> SessionFile:
    file = SessionFile.start(folder / "<b>calls.run", map(str, range(9)), NAMES, UCB1(), seed=1)
    for task in file.next(4):
        file.record(task.ticket, loss=0.25)
    return file


def report() -> Any:
    table = read_table([[0.0, 1.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]] * 10, kind="losses")
    return run_comparison(table, CompareRequest(Conditions("full"), repetitions=2), name=NAMES[0])


MAKERS: dict[str, Callable[[Path], Any]] = {
    "pool": lambda _: pool(),
    "pool with costs": lambda _: Pool([[0.0, 1.0]] * 4, costs=np.ones((4, 2, 2))),
    "trace": lambda _: play(UCB1(), pool(), seed=0),
    "trace with budget": lambda _: play(
        EmpiricalLP(),
        Pool([[0.0, 1.0]] * 8, costs=np.ones((8, 2, 9))),
        budget=Budget([4.0] * 9, null="add"),
        seed=0,
    ),
    "trace of a long learner": lambda _: play(Hedge(0.123456789), pool(), seed=0),
    "runs": lambda _: compare(
        pool(), {name: UCB1() for name in NAMES}, ["random", "given"], repetitions=2, seed=0
    ),
    "race": lambda _: race(),
    "race before its start": lambda _: Race(NAMES, rows=9, seed=1),
    "session": lambda _: session(),
    "session before its start": lambda _: Session(UCB1(), NAMES, horizon=20, seed=0),
    "session file": session_file,
    "certificate": lambda _: replace(
        certify_plays([0, 1, 2] * 20, [0.0, 1.0, 0.5] * 20, actions=3, population=99, level=0.05),
        names=NAMES,
    ),
    "compare report": lambda _: report(),
}


class Tags(HTMLParser):
    """Tags of a fragment, and its text."""

    def __init__(self, fragment: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(fragment)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.open.append(tag)
        assert {name for name, _ in attrs} <= {"style"}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f"{data} "


@pytest.mark.parametrize("name", MAKERS)
def test_repr_is_one_short_line_and_html_is_escaped(name: str, tmp_path: Path) -> None:
    made = MAKERS[name](tmp_path)
    assert len(repr(made)) < 200
    assert repr(made).isprintable()
    assert re.match(r"[A-Z][A-Za-z]+\(", repr(made))
    fragment = made._repr_html_()
    tags = Tags(fragment)
    assert {*tags.names} <= ALLOWED_TAGS
    assert not tags.open
    assert not {"\x1b", "\u202e"} & {*fragment}
    assert len(fragment) < 20_000


def test_html_of_runs_shows_orders_ranking_and_bounds() -> None:
    runs = compare(pool(), [UCB1(), FixedAction(0)], ["random", "given"], repetitions=3, seed=0)
    text = Tags(runs._repr_html_()).text
    assert "random order, 40 rows" in text
    assert "given order, 40 rows" in text
    assert "proved bound" in text
    first, second = (text.index(name) for name in runs.ranking("random"))
    assert first < second
    assert (
        "proved bound" not in compare(pool(), [FixedAction(0)], repetitions=2, seed=0)._repr_html_()
    )


def test_html_of_pool_lists_best_actions_first() -> None:
    wide = Pool(
        np.linspace(1, 0, 30)[None, :].repeat(2, axis=0), actions=[f"action {a}" for a in range(30)]
    )
    text = Tags(wide._repr_html_()).text
    assert text.index("action 29") < text.index("action 28")
    assert "action 10" not in text
    assert f"and {30 - MAX_ROWS} more" in text


def test_html_of_session_file_counts_and_survives_close(tmp_path: Path) -> None:
    file = session_file(tmp_path)
    assert "4 of 9" in Tags(file._repr_html_() or "").text
    file.close()
    assert file._repr_html_() is None or "4 of 9" in str(file._repr_html_())
    (tmp_path / "<b>calls.run").write_bytes(b"")
    assert file._repr_html_() is None


def test_html_table_aligns_numbers_to_right() -> None:
    fragment = html_block(
        "t", tables=[HtmlTable(("name", "mean"), [("a", "1,000.5"), ("b", "-2e-05"), ("c", "–")])]
    )
    cells = re.findall(r'<td style="text-align:(\w+)', fragment)
    assert cells == ["left", "right"] * 3


def test_plots_display_and_refuse_empty_objects(tmp_path: Path) -> None:
    file = session_file(tmp_path)
    certificate = MAKERS["certificate"](tmp_path)
    plots = [
        race().plot(),
        race().plot("survivors"),
        session().plot(),
        session().plot("loss"),
        file.plot(),
    ]
    for figure in [*plots, certificate.plot(size=(3, 2))]:
        picture, _ = figure._repr_png_()
        assert picture.startswith(b"\x89PNG")
    labels = [label.get_text() for label in certificate.plot().axes[0].get_yticklabels()]
    assert labels[0].startswith("<script>"), "the lowest mean comes first"
    with pytest.raises(ValueError, match="at least one row counted, got none; plot it later"):
        Race(NAMES, rows=9, seed=1).plot()
    with pytest.raises(ValueError, match="at least one ticket, got none; plot it later"):
        Session(UCB1(), 2, horizon=20, seed=0).plot()
    with pytest.raises(ValueError, match="curve='wealth' or curve='survivors', got 'calls'"):
        race().plot("calls")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected curve='shares' or curve='loss', got 'calls'"):
        session().plot("calls")  # type: ignore[arg-type]
