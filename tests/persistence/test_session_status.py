"""Chapters of a run: what is read from them is what its events say, to the letter, or one sentence."""

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tombola.persistence.chapter import chapter_of
from typer.testing import CliRunner

from naive.live import Run
from tombola import UCB1, Exp3, Hedge
from tombola._formatting import csv_text
from tombola.budget.budget import Budget
from tombola.cli.session import app as commands
from tombola.errors import SessionError
from tombola.learners import EmpiricalLP, ThriftyLP
from tombola.persistence import SessionFile, record
from tombola.persistence import session_export as export
from tombola.persistence import session_file as file_module
from tombola.persistence.session_page import run_page

NAMES = ["=a", "b", "c"]
WORST = [0.5, 0.0, 0.25]
KINDS: dict[str, Any] = {
    "bandit": (UCB1(), None),
    "probabilities": (Exp3(), None),
    "whole rows": (Hedge(rate=0.5), None),
    "one action": (UCB1(), None),
    "budget": (ThriftyLP(), Budget(6.0, worst=WORST, null="add")),
    "prices": (ThriftyLP(), Budget([4.0, 9.0], worst=1.0, prices=[[0.5, 1], [0.25, 0.5], [None, 1]], null="add")),
    "budget, whole rows": (EmpiricalLP(), Budget(8.0, worst=WORST, null="add")),
    "no money": (ThriftyLP(), Budget(0.0, worst=WORST, null="add")),
}


def outcome(run: SessionFile, action: str, rng: random.Random) -> dict[str, Any]:
    """Return something that may come of a ticket."""
    listed, whole = run.feedback_model.n_listed_actions, run.feedback_model.full_feedback
    told: dict[str, Any] = {rng.choice(["loss", "reward"]): [rng.randrange(9) / 8 for _ in range(listed)]}
    if not whole:
        told = {name: rng.choice([*numbers, 0, 1, 0.1]) for name, numbers in told.items()}
    if run.budget is not None:
        worst = run.feedback_model.limits.worst  # type: ignore[attr-defined]
        share = rng.random()
        told["cost"] = (worst[:listed] if whole else worst[run.names.index(action)]) * share
        if run.budget.prices is not None:
            told["cost"] = None if action != "c" else [share, 1.0]
    return told


def live(run: SessionFile, rng: random.Random) -> None:
    """Do one thing to a run."""
    pending = run.pending
    known = run.book().known.tolist()
    match rng.randrange(8):
        case 0 | 1 | 2 if run.round < run.horizon:
            run.next(rng.choice([1, 1, 2, 7]))
        case 6 if pending:
            run.cancel(rng.choice(pending).round)
        case 7 if known and run.feedback_model.supports_amend:
            told = outcome(run, "", rng)
            run.amend(rng.choice(known), **told)
        case _ if pending:
            one = rng.choice(pending)
            run.record(one.round, **outcome(run, one.action, rng))


def begin(path: Path, kind: str, *, rows: int = 40, seed: int = 1) -> SessionFile:
    learner, budget = KINDS[kind]
    names = NAMES[:1] if kind == "one action" else NAMES
    run = SessionFile.start(path, [f"row {i}" for i in range(rows)], names, learner, budget=budget, seed=seed)
    run.brisk = True
    return run


def chapters(path: Path) -> int:
    connection = sqlite3.connect(path)
    [(count,)] = connection.execute("SELECT count(*) FROM state WHERE name LIKE 'chapter %'")
    connection.close()
    return int(count)


def letters(status: Any) -> str:
    return json.dumps(status.to_json()) + repr(status)


def check(run: SessionFile, path: Path) -> None:
    """Compare everything that is read quickly with what the events say."""
    plain, book = Run(run), run.recall()
    assert letters(run.status()) == letters(plain.status())
    assert letters(run.status(0.2)) == letters(plain.status(0.2))
    assert np.array_equal(book.book.actions, [action for action, _ in plain.tickets])
    assert (book.amended, book.cancelled) == (plain.amended, plain.cancelled)
    slow = run.book()
    for name, column in book.book.columns().items():
        assert name == "history" or np.array_equal(column, slow.book.columns()[name], equal_nan=True)
    assert sorted(book.book.columns()["history"]) == sorted(slow.book.columns()["history"])
    export.export(run, path.with_suffix(".csv"))
    assert path.with_suffix(".csv").read_text() == csv_text(plain.table())


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read_quickly_is_what_the_events_say(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(kind)
    monkeypatch.setattr(export, "PIECE", 7)
    monkeypatch.setattr(record, "PIECE", 5)
    monkeypatch.setattr(file_module, "EVENTS", 6)
    path = tmp_path / "my.run"
    run = begin(path, kind)
    check(run, path)
    for step in range(60):
        monkeypatch.setattr(file_module, "CHAPTER", rng.choice([1, 4, 9, 10**9]))
        live(run, rng)
        if rng.random() < 0.2:
            run.close()
            run = SessionFile.open(path)
            run.brisk = True
        if step % 12 == 11:
            check(run, path)
    assert chapters(path) > 5
    run.close()


@pytest.mark.parametrize("kind", ["bandit", "whole rows", "budget"])
def test_a_run_of_one_row(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_module, "CHAPTER", 1)
    with begin(tmp_path / "my.run", kind, rows=1) as run:
        [one] = run.next()
        check(run, tmp_path / "my.run")
        if one.action != "null":
            run.record(one.round, **outcome(run, one.action, random.Random(1)))
        check(run, tmp_path / "my.run")


def grown(path: Path, monkeypatch: pytest.MonkeyPatch, kind: str = "bandit", chapter: int = 5) -> Path:
    """Write a run with chapters."""
    monkeypatch.setattr(file_module, "CHAPTER", chapter)
    rng = random.Random(3)
    with begin(path, kind, rows=90) as run:
        for _ in range(40):
            live(run, rng)
    return path


def test_the_commands_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = grown(tmp_path / "my.run", monkeypatch)
    said = CliRunner().invoke(commands, ["status", str(path), "--json"])
    with SessionFile.open(path) as run:
        assert json.loads(said.output) == json.loads(json.dumps(Run(run).status().to_json()))
        page = run_page(run)
        monkeypatch.setattr(SessionFile, "recall", SessionFile.book)
        monkeypatch.setattr(SessionFile, "status", lambda run: Run(run).status())
        assert run_page(run) == page


def test_a_file_without_chapters_gets_them_when_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = grown(tmp_path / "my.run", monkeypatch, chapter=10**9)
    with SessionFile.open(path) as run:
        assert chapters(path) == 0
        before = letters(run.status())
        monkeypatch.setattr(file_module, "CHAPTER", 5)
        assert letters(run.status()) == before
        assert chapters(path) == 0, "who reads does not write"
        run.next()
        assert chapters(path) == run._journal._end.number // 5
        check(run, path)


def test_what_is_undone_takes_its_chapters_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first write fails after its chapters; two handles take turns."""
    path = grown(tmp_path / "my.run", monkeypatch)
    with SessionFile.open(path) as run, SessionFile.open(path) as other:
        count = chapters(path)
        with monkeypatch.context() as broken:
            broken.setattr(run._journal, "write_end", lambda: json.loads("{"))
            with pytest.raises(ValueError, match="Expecting"):
                run.next(10)
        assert chapters(path) == count
        for one in (run, other, run, other):
            one.next(3)
            check(one, path)
        assert chapters(path) == run._journal._end.number // 5


def changed(whole: Path, statement: str, *values: Any) -> Path:
    path = whole.with_name("changed.run")
    shutil.copy(whole, path)
    connection = sqlite3.connect(path)
    assert connection.execute(statement, values).rowcount == 1
    connection.commit()
    connection.close()
    return path


def test_a_damaged_event_in_a_chapter_is_not_read_and_a_full_check_notices_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_sentence: Callable[[object], str]
) -> None:
    whole = grown(tmp_path / "my.run", monkeypatch)
    with SessionFile.open(whole) as run:
        said = letters(run.status())
    path = changed(whole, "UPDATE events SET value = '[2, 1.0]' WHERE number = 3")
    with SessionFile.open(path) as run:
        for full_check in (run.book, lambda: export.export(run, tmp_path / "all.csv")):
            with pytest.raises(SessionError, match="event 3 has changed") as refused:
                full_check()
            one_sentence(refused.value)
        assert letters(run.status()) == said
    assert not (tmp_path / "all.csv").exists()


def test_a_damaged_or_foreign_chapter_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_sentence: Callable[[object], str]
) -> None:
    whole = grown(tmp_path / "my.run", monkeypatch)
    foreign = grown(tmp_path / "other.run", monkeypatch, kind="probabilities")
    connection = sqlite3.connect(foreign)
    row = connection.execute("SELECT * FROM state WHERE name LIKE 'chapter after event 5 of %'").fetchone()
    body = connection.execute("SELECT body FROM state WHERE name LIKE 'chapter after event 0 of %'").fetchone()[0]
    connection.close()
    for path in (
        changed(whole, "INSERT OR REPLACE INTO state VALUES (?, ?, ?, ?, ?)", *row),
        changed(whole, "UPDATE state SET body = ? WHERE name LIKE 'chapter after event 0 of %'", body),
        changed(whole, "UPDATE state SET body = NULL WHERE name LIKE 'chapter after event 5 of %'"),
        changed(whole, "UPDATE state SET number = 15 WHERE name LIKE 'chapter after event 5 of %'"),
    ):
        with SessionFile.open(path) as run:
            for quick in (run.status, run.recall):
                with pytest.raises(SessionError, match="damaged") as refused:
                    quick()
                one_sentence(refused.value)
            run.book()


@pytest.mark.parametrize("begun", [0, 10, 20])
def test_a_missing_chapter_is_read_from_the_events_and_written_again(
    begun: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = grown(tmp_path / "my.run", monkeypatch)
    path = changed(whole, "DELETE FROM state WHERE name LIKE ?", f"chapter after event {begun} of %")
    with SessionFile.open(path) as run:
        check(run, path)
        run.next()
        check(run, path)
    assert chapters(path) >= chapters(whole)


def test_a_chapter_that_tells_another_story_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault seals a chapter with the losses turned round: only the comparison with the events can tell."""
    true = chapter_of
    monkeypatch.setattr(
        file_module, "chapter_of", lambda *given: true(*given)._replace(answers=1.0 - true(*given).answers)
    )
    path = grown(tmp_path / "my.run", monkeypatch)
    with SessionFile.open(path) as run, pytest.raises(AssertionError):
        check(run, path)


@pytest.mark.parametrize("lost", ["answered", "actions"])
def test_a_chapter_that_leaves_something_out_is_one_sentence(
    lost: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_sentence: Callable[[object], str]
) -> None:
    """Another fault seals chapters without their last answer or ticket: the learner has met more."""
    pair = {"answered": ("answered", "answers"), "actions": ("actions", "probabilities")}[lost]

    def shorter(*given: Any) -> Any:
        chapter = chapter_of(*given)
        return chapter._replace(**{name: getattr(chapter, name)[:-1] for name in pair})

    monkeypatch.setattr(file_module, "chapter_of", shorter)
    path = grown(tmp_path / "my.run", monkeypatch)
    with SessionFile.open(path) as run:
        with pytest.raises(SessionError, match="chapters that do not fit") as refused:
            run.status()
        one_sentence(refused.value)
        run.book()
