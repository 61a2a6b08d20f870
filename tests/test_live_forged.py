"""Files of runs that somebody forged, digests and all: what is believed as it stands was written by the same person."""

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola import UCB1, UCB2
from tombola.budget.budget import Budget
from tombola.errors import SessionError, TombolaError
from tombola.learners import ThriftyLP
from tombola.persistence import Outcome, SessionFile
from tombola.persistence import session_file as file_module
from tombola.persistence import snapshot_key as key_module
from tombola.persistence.event_log import _link
from tombola.persistence.snapshot_key import Key, own_key

ROWS = [f"row {number}" for number in range(40)]

pytestmark = pytest.mark.usefixtures("plainly")  # what is refused never reaches compiled code


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_module, "EVENTS", 6)
    monkeypatch.setattr(file_module, "CHAPTER", 5)
    monkeypatch.setattr(key_module, "_found", {})


@pytest.fixture
def somebody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Return a function that goes on as another person, with a key of their own."""

    def become(name: str) -> None:
        monkeypatch.setenv("TOMBOLA_STATE", str(tmp_path / name))

    return become


def begin(path: Path, learner: Any = None, **more: Any) -> Path:
    with SessionFile.start(path, ROWS, ["a", "b", "c"], learner or UCB2(), seed=3, **more) as run:
        cost = {"cost": 0.25} if more else {}
        for play in run.next(12)[:9]:
            if play.action != "null":
                run.record(play.round, loss=(play.round % 5) / 8, **cost)
    return path


def told(path: Path) -> str:
    """Return all that a run says, and what it does next."""
    with SessionFile.open(path) as run:
        return repr([run.status().to_json(), run.book().tickets, run.next(3), run.state])


def seals(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as file:
        return [name for (name,) in file.execute("SELECT name FROM state ORDER BY name")]


def forge_checkpoint(path: Path, seal: Callable[[Any, bytes], bytes], *, rename: bool) -> None:
    """Write junk into every cell of the learner, and seal the checkpoint anew as well as can be."""
    with closing(sqlite3.connect(path)) as file, file:
        query = "SELECT name, number, digest, body FROM state WHERE name LIKE 'checkpoint of %'"
        ((name, number, digest, body),) = file.execute(query)
        head, _, rest = body.partition(b"\n")
        cells = json.loads(head)["memory"]
        junk = np.full(cells, 1e9).tobytes()
        body = head + b"\n" + rest[:32] + junk + rest[32 + len(junk) :]
        ((start,),) = file.execute("SELECT digest FROM state WHERE name = 'about'")
        own = own_key()
        assert own is not None
        new = f"checkpoint of {own.name}" if rename else name
        values = (new, number, digest, body, seal((start, "checkpoint", number, digest), body))
        file.execute("INSERT OR REPLACE INTO state VALUES (?, ?, ?, ?, ?)", values)


def by_digest(about: Any, body: bytes) -> bytes:
    """Seal as this project did before it had keys."""
    _, name, number, digest = about
    return _link(digest, name, number, body)


def by_stranger(about: Any, body: bytes) -> bytes:
    return Key(b"s" * 32, "").seal(about, body)


@pytest.mark.parametrize("seal", [by_digest, by_stranger])
@pytest.mark.parametrize("learner", [UCB2(), ThriftyLP()])
def test_a_forged_checkpoint_is_refused(
    learner: Any, seal: Callable[[Any, bytes], bytes], tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    """UCB2 plays the action that its state names: an unchecked one ended the interpreter."""
    more = {"budget": Budget(9.0, worst=[0.5, 0.25, 0.5], null="add")} if isinstance(learner, ThriftyLP) else {}
    path = begin(tmp_path / "my.run", learner, **more)
    forge_checkpoint(path, seal, rename=False)
    with SessionFile.open(path) as run, pytest.raises(SessionError, match="the checkpoint has changed") as refused:
        run.next()
    one_sentence(refused.value)


def test_a_checkpoint_of_somebody_else_is_not_believed(tmp_path: Path, somebody: Callable[[str], None]) -> None:
    """Junk that its writer has sealed: everybody else goes through the events instead, and finds the truth."""
    somebody("Ann")
    path = begin(tmp_path / "my.run")
    truth = told(Path(shutil.copy(path, tmp_path / "truth.run")))
    ann = own_key()
    assert ann is not None
    forge_checkpoint(path, ann.seal, rename=False)
    somebody("Bob")
    assert told(path) == truth
    bob = own_key()
    assert bob is not None
    assert bob != ann
    assert {f"checkpoint of {ann.name}", f"checkpoint of {bob.name}"} <= {*seals(path)}


def test_two_people_take_turns_with_one_file(tmp_path: Path, somebody: Callable[[str], None]) -> None:
    """Each has checkpoints and chapters of their own, and nobody has to go through everything but the first time."""
    path, replayed = begin(tmp_path / "my.run"), []
    for turn in range(8):
        somebody("Ann" if turn % 2 else "Bob")
        with SessionFile.open(path) as run:
            (play,) = run.next()
            run.record(play.round, loss=0.5)
            replayed.append(run._fresh)
            assert repr(run.recall().tickets) == repr(run.book().tickets)
    assert all(events < 12 for events in replayed[2:]), replayed


def test_without_a_folder_for_a_key_nothing_is_kept_and_everything_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = begin(tmp_path / "kept.run")
    truth = told(kept)
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("TOMBOLA_STATE", str(tmp_path / "file" / "state"))
    monkeypatch.setattr(file_module, "CHAPTER", 20)
    assert own_key() is None
    path = begin(tmp_path / "my.run")
    assert told(path) == truth
    assert seals(path) == ["about", "head"]
    with SessionFile.open(path) as run:
        assert "TOMBOLA_STATE" in " ".join(run.notes)
    monkeypatch.undo()
    with SessionFile.open(path) as run:
        assert not run.notes


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TOMBOLA_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def test_a_key_is_made_once_and_for_its_owner_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = own_key()
    assert first is not None
    assert [entry.name for entry in home.iterdir()] == ["key"]
    assert stat.S_IMODE((home / "key").stat().st_mode) == 0o600
    assert len(first.secret) == 32
    monkeypatch.setattr(key_module, "_found", {})
    assert own_key() == first
    assert first.secret.hex() not in first.name


def spoil(path: Path, how: str) -> None:
    """Make a file no key of this person's alone."""
    match how:
        case "readable":
            path.chmod(0o644)
        case "empty":
            path.write_bytes(b"")
        case "too long":
            path.write_bytes(bytes(33))
        case "another's":
            os.chown(path, 65534, 65534)
        case _:
            path.unlink()
            make: dict[str, Any] = {"folder": Path.mkdir, "pipe": os.mkfifo, "loop": lambda at: at.symlink_to(at)}
            make[how](path)


@pytest.mark.parametrize("how", ["readable", "empty", "too long", "folder", "pipe", "loop", "another's"])
def test_a_key_that_others_could_know_is_none(how: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "another's" and os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    assert own_key() is not None
    monkeypatch.setattr(key_module, "_found", {})
    spoil(home / "key", how)
    assert own_key() is None


def test_processes_that_start_at_once_have_one_key(home: Path) -> None:
    script = "from tombola.persistence.snapshot_key import own_key; print(own_key())"
    children = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(6)]
    assert len({child.communicate()[0] for child in children}) == 1
    assert own_key() is not None


def resealed(path: Path) -> None:
    """Give all events the digests that they should have, as somebody would who wants to do harm."""
    with closing(sqlite3.connect(path)) as file, file:
        ((digest,),) = file.execute("SELECT digest FROM state WHERE name = 'about'")
        number = 0
        for number, *cells, _ in file.execute("SELECT * FROM events ORDER BY number").fetchall():
            digest = _link(digest, number, *cells)
            file.execute("UPDATE events SET digest = ? WHERE number = ?", (digest, number))
        head = (number, digest, _link(digest, "head", number, None))
        file.execute("UPDATE state SET number = ?, digest = ?, seal = ? WHERE name = 'head'", head)


FORGERIES = [
    "UPDATE events SET value = '[1000000000, 1.0]' WHERE number = 2",
    "UPDATE events SET value = '[-1, 1.0]' WHERE number = 2",
    "UPDATE events SET value = '[0.5, 1.0]' WHERE number = 2",
    "UPDATE events SET value = '[true, 1.0]' WHERE number = 2",
    "UPDATE events SET value = '[0, \"x\"]' WHERE number = 2",
    "UPDATE events SET value = '7' WHERE number = 2",
    "UPDATE events SET value = 'null' WHERE number = 2",
    "UPDATE events SET value = '{' WHERE number = 2",
    "UPDATE events SET value = '" + "[" * 100_000 + "' WHERE number = 2",
    "UPDATE events SET key = 99 WHERE number = 2",
    "UPDATE events SET key = -1 WHERE number = 2",
    "UPDATE events SET key = 'x' WHERE number = 2",
    "UPDATE events SET key = 99 WHERE number = 13",
    "UPDATE events SET key = -3 WHERE number = 13",
    "UPDATE events SET key = 13 WHERE number = 13",
    "UPDATE events SET value = '[]' WHERE number = 13",
    "UPDATE events SET value = '{\"loss\": 7}' WHERE number = 13",
    "UPDATE events SET value = '{\"loss\": NaN}' WHERE number = 13",
    "UPDATE events SET value = '{\"loss\": [0.5]}' WHERE number = 13",
    "UPDATE events SET value = '{\"loss\": {}}' WHERE number = 13",
    'UPDATE events SET value = \'{"loss": 0.5, "cost": 1}\' WHERE number = 13',
    "UPDATE events SET again = 'x' WHERE number = 13",
    "UPDATE events SET kind = 'story' WHERE number = 13",
    "UPDATE events SET kind = x'00' WHERE number = 13",
    "UPDATE events SET kind = 'amend' WHERE number = 13",
    "DELETE FROM events WHERE number = 2",
    "DELETE FROM events WHERE number = 15",
]


@pytest.mark.parametrize("begun", [False, True], ids=["from the start", "after a checkpoint"])
@pytest.mark.parametrize("forgery", FORGERIES, ids=range(len(FORGERIES)))
def test_events_that_make_no_sense_are_one_sentence(
    forgery: str, begun: bool, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    path = begin(tmp_path / "my.run", UCB1())
    with closing(sqlite3.connect(path)) as file, file:
        assert file.execute(forgery).rowcount == 1
        if not begun:
            file.execute("DELETE FROM state WHERE name NOT IN ('about', 'head')")
    resealed(path)
    for ask in (told, answered):
        with pytest.raises(TombolaError) as refused:
            ask(path)
        one_sentence(refused.value)


def answered(path: Path) -> None:
    """Answer all tickets."""
    with SessionFile.open(path) as run:
        run.record_all(Outcome(round_, 0.5) for round_ in range(1, 13))


@pytest.mark.parametrize("action", [10**9, -1, 2**70, 3])
def test_the_ticket_of_an_event_before_the_checkpoint_is_checked(
    action: int, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    """Its events are not read again, so a pending ticket is looked up, with a digest that fits the one before."""
    path = begin(tmp_path / "my.run")
    with closing(sqlite3.connect(path)) as file, file:
        ((before,),) = file.execute("SELECT digest FROM events WHERE number = 10")
        cells = (11, "ticket", 11, 0, json.dumps([action, 1.0]))
        file.execute("UPDATE events SET value = ?, digest = ? WHERE number = 11", (cells[-1], _link(before, *cells)))
    with SessionFile.open(path) as run, pytest.raises(SessionError, match="damaged") as refused:
        run.record(11, loss=0.5)
    one_sentence(refused.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("actions", "7"),
        ("actions", "[]"),
        ("actions", '{"a": 1}'),
        ("seed", '"x"'),
        ("seed", "-1"),
        ("seed", "null"),
        ("learner", "[]"),
        ("learner", '{"name": "UCB2"}'),
        ("learner", '{"name": "UCB2", "parameters": {"alpha": "x"}}'),
        ("learner", '{"name": "Budget", "parameters": {}}'),
        ("budget", "7"),
        ("budget", "[[]]"),
        ("budget", '{"amount": 1}'),
        ("rows", "1000000000000000"),
        ("rows", '"x"'),
        ("rows", "39"),
        ("kind", "7"),
    ],
)
def test_a_start_that_makes_no_sense_is_one_sentence(
    name: str, value: str, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    path = begin(tmp_path / "my.run")
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))
        texts = file.execute("SELECT name, value FROM about").fetchall()
        start = _link(b"", *sorted(texts, key=repr))
        seal = _link(start, "about", 0, None)
        file.execute("UPDATE state SET digest = ?, seal = ? WHERE name = 'about'", (start, seal))
        file.execute("DELETE FROM state WHERE name NOT IN ('about', 'head')")
    resealed(path)
    with pytest.raises(TombolaError) as refused:
        told(path)
    one_sentence(refused.value)


def test_a_file_from_before_there_were_keys_opens(tmp_path: Path) -> None:
    """Its start and its end are sealed as ever, a body that is none among it; its checkpoint is passed over."""
    path = begin(tmp_path / "my.run")
    truth = told(Path(shutil.copy(path, tmp_path / "truth.run")))
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("DELETE FROM state WHERE name NOT IN ('about', 'head')")
        for name, number, digest in file.execute("SELECT name, number, digest FROM state").fetchall():
            seal = blake2b(repr((digest, name, number, None)).encode(), digest_size=8).digest()
            file.execute("UPDATE state SET seal = ? WHERE name = ?", (seal, name))
            if name == "head":
                junk = ("checkpoint", number, digest, b"junk", _link(digest, "checkpoint", number, b"junk"))
                file.execute("INSERT INTO state VALUES (?, ?, ?, ?, ?)", junk)
    assert told(path) == truth
