"""Finished units of claims: what is damaged is run again, and never published."""

import json
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tombola.errors import FileError, TombolaWarning
from tombola.paper import dependency_hash as code
from tombola.paper import runner as measuring
from tombola.paper.claims.birthday import Birthday
from tombola.paper.unit_cache import Finished, _hash, key_of

ROWS: list[dict[str, Any]] = [
    {"T": 16, "regret": 1.25, "name": "a ✓", "gap": float("inf")},
    {"T": 32, "regret": 0.1 + 0.2},
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a file with two finished units."""
    finished = Finished(tmp_path / "journal.jsonl")
    for unit in ("a/1", "b/2"):
        finished.record(unit, ROWS)
    return tmp_path / "journal.jsonl"


def test_it_gives_back_what_was_recorded(path: Path) -> None:
    assert Finished(path).rows("a/1") == ROWS
    assert Finished(path).rows("b/2") == ROWS


def test_a_changed_digit_is_noticed_and_its_unit_is_run_again(path: Path) -> None:
    first, second = path.read_text().splitlines()
    path.write_text(f"{first.replace('1.25', '1.35')}\n{second}\n")
    with pytest.warns(TombolaWarning, match="1 line is damaged") as said:
        finished = Finished(path)
    assert len(said) == 1
    assert finished.rows("a/1") is None
    assert finished.rows("b/2") == ROWS
    finished.record("a/1", ROWS)
    with pytest.warns(TombolaWarning, match="1 line is damaged"):
        assert Finished(path).rows("a/1") == ROWS


def test_no_damage_is_published(path: Path) -> None:
    whole = path.read_bytes()
    for place in range(len(whole)):
        for flip in (1, 0x80):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TombolaWarning)
                finished = Finished(path)
            for unit in ("a/1", "b/2"):
                assert finished.rows(unit) in (None, ROWS), (place, flip)


def test_a_line_cut_by_a_kill_is_no_damage(path: Path) -> None:
    whole = path.read_bytes()
    for cut in (len(whole) - 2, len(whole) - 20, len(whole.splitlines()[0]) + 3):
        path.write_bytes(whole[:cut])
        assert Finished(path).rows("a/1") == ROWS
        assert Finished(path).rows("b/2") is None  # warnings are errors here


def test_a_line_without_a_digest_is_of_other_code_and_not_used(path: Path) -> None:
    path.write_text(json.dumps({"unit": "a/1", "rows": ROWS}) + "\n")
    assert Finished(path).rows("a/1") is None


@pytest.mark.parametrize(
    ("unit", "rows"), [([], ROWS), ({}, ROWS), (None, ROWS), ("a/1", 3), ("a/1", [3]), ("a/1", {})]
)
def test_a_line_that_is_no_unit_is_not_used_though_its_digest_fits(path: Path, unit: Any, rows: Any) -> None:
    """A unit that is a list was a traceback, and rows that are none were given back."""
    path.write_text(json.dumps({"unit": unit, "rows": rows, "digest": _hash(unit, rows)}) + "\n")
    with pytest.warns(TombolaWarning, match="1 line is damaged"):
        assert Finished(path).rows("a/1") is None


def test_lines_of_any_depth_are_refused(path: Path) -> None:
    """Some can be read that cannot be written, so that their digest was a traceback."""
    for depth in range(900, 1100):
        nested = "[" * depth + "]" * depth
        path.write_text(f'{{"unit": "a/1", "rows": {nested}, "digest": ""}}\n')
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TombolaWarning)
            assert Finished(path).rows("a/1") is None


def test_a_journal_that_is_no_file_is_one_sentence(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    """A pipe was waited for without end."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(FileError) as caught:
            Finished(tmp_path / name)
        one_sentence(caught.value)


def test_a_line_is_on_the_disk_before_it_counts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []

    def fsync(handle: int) -> None:
        synced.append(Path(f"/proc/self/fd/{handle}").read_bytes())

    monkeypatch.setattr(os, "fsync", fsync)
    finished = Finished(path)
    synced.clear()
    finished.record("c/3", ROWS)
    assert [whole == path.read_bytes() and b"c/3" in whole for whole in synced] == [True]

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        finished.record("d/4", ROWS)
    assert finished.rows("d/4") is None


def test_the_key_names_claim_unit_seed_and_code() -> None:
    settings = [("a", {"T": 1}, 1, "x"), ("b", {"T": 1}, 1, "x"), ("a", {"T": 2}, 1, "x"), ("a", {"T": 1}, 2, "x")]
    assert len({key_of(*setting) for setting in (*settings, ("a", {"T": 1}, 1, "y"))}) == 5


def test_a_unit_is_run_again_when_its_code_has_changed_and_only_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its code is that of the claim and of every kind of claim that it is made from."""
    asked: list[tuple[str, ...]] = []
    runs: list[str] = []
    version = ["x"]

    class Counted(Birthday):
        def units(self, *, full: bool) -> list[Any]:
            return [{"T": 1}]

        def run(self, unit: Any, *, seed: Any) -> list[Any]:
            runs.append(version[0])
            return [{"T": 1}]

    def code_of(*modules: str) -> str:
        asked.append(modules)
        return version[0]

    monkeypatch.setattr(measuring, "code_of", code_of)
    for version[0] in ("x", "x", "y", "x"):
        finished = Finished(tmp_path / "journal.jsonl")
        work = measuring.Work(full=False, seed=1, workers=1)
        assert measuring.measured([("counted", Counted())], finished, work) == [[{"T": 1}]]
    assert runs == ["x", "y"]
    assert {Counted.__module__, Birthday.__module__} <= set(asked[0])


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a package of three files: one imports the next, inside a function, and the third stands alone."""
    files = {
        "one.py": "from tombola.rooms import two\n",
        "rooms/__init__.py": "",
        "rooms/two.py": "def f():\n    import tombola.three\n",
        "three.py": "X = 1\n",
        "alone.py": "import os\n",
    }
    for name, text in files.items():
        (tmp_path / "tombola" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tombola" / name).write_text(text)
    monkeypatch.setattr(code, "PACKAGE", tmp_path / "tombola")
    _forget()
    yield tmp_path / "tombola"
    _forget()


def _forget() -> None:
    for remembered in (code.code_of, code._imported, code._file):
        remembered.cache_clear()


@pytest.mark.parametrize(("file", "matters"), [("one", True), ("rooms/two", True), ("three", True), ("alone", False)])
def test_the_code_in_the_key_is_all_that_is_imported(package: Path, file: str, *, matters: bool) -> None:
    before = code.code_of("tombola.one")
    changed = package / f"{file}.py"
    changed.write_text(changed.read_text() + "Y = 2\n")
    _forget()
    assert (code.code_of("tombola.one") != before) == matters


def test_the_code_of_a_claim_has_its_learners_the_engine_and_nothing_of_other_rooms() -> None:
    reached, ahead = set[Path](), [code._file("tombola.paper.claims.switching")]
    while ahead:
        file = ahead.pop()
        assert file is not None
        if file not in reached:
            reached.add(file)
            ahead += code._imported(file)
    names = {str(file.relative_to(code.PACKAGE)) for file in reached}
    assert {"engine/loop.py", "learners/switching/frugal_ucb.py", "bounds/switching.py", "_compare.py"} <= names
    assert not {"racing/best.py", "paper/claims/constraints.py", "advice/page.py", "cli/app.py"} & names
