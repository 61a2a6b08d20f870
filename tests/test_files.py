"""Files are written whole or not at all, and nothing else is harmed."""

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tombola import _files
from tombola._files import _resolve_target, exclusive_lock, write_atomic
from tombola.cli.app import app
from tombola.errors import FileError, TombolaError


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_link_is_followed_and_stays_link(tmp_path: Path) -> None:
    """Also a link to a file that is made only now."""
    (tmp_path / "pages").mkdir()
    real, link, made = (
        tmp_path / "pages" / "real.html",
        tmp_path / "link.html",
        tmp_path / "made.html",
    )
    real.write_text("old")
    for target, content in ((real, "new"), (made, b"bytes")):
        link.symlink_to(target)
        write_atomic(link, content)
        assert link.is_symlink()
        assert target.read_bytes() == (content if isinstance(content, bytes) else content.encode())
        link.unlink()
    assert (names_in(tmp_path), names_in(real.parent)) == (["made.html", "pages"], ["real.html"])


def test_owner_and_mode_are_kept_and_new_files_follow_umask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("")
    old.chmod(0o4640)
    given: list[tuple[int, int, int]] = []

    def refused(part: Path, owner: int, group: int) -> None:
        given.append((part.stat().st_ino, owner, group))
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refused)
    before = os.umask(0o077)
    try:
        write_atomic(old, "text")
        write_atomic(new, "text")
    finally:
        os.umask(before)
    assert given == [(old.stat().st_ino, old.stat().st_uid, old.stat().st_gid)]
    assert [stat.S_IMODE(path.stat().st_mode) for path in (old, new)] == [0o4640, 0o600]


@pytest.mark.parametrize("name", ["\u6f22" * 80 + ".html", "x" * 250 + ".html", "a\nb.html"])
def test_name_may_be_as_long_as_system_allows(name: str, tmp_path: Path) -> None:
    for text in ("old", "new"):
        write_atomic(tmp_path / name, text)
    assert (names_in(tmp_path), (tmp_path / name).read_text()) == ([name], "new")


@pytest.mark.parametrize("barred", ["page.html", "."])
def test_unwritable_target_is_rejected_early(
    barred: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    one_sentence: Callable[[object], str],
) -> None:
    """An old page in a folder where no file can be made cannot be written whole, either."""
    (tmp_path / "page.html").write_text("old")
    wall = (tmp_path / barred).resolve()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != wall)
    with pytest.raises(FileError, match="read-only") as caught:
        _resolve_target(tmp_path / "page.html")
    one_sentence(caught.value)


@pytest.fixture
def odd_files(tmp_path: Path) -> Iterator[dict[str, Path]]:
    """Return things that are not regular files, by what they are."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        yield {
            "a named pipe": tmp_path / "pipe",
            "a folder": tmp_path / "folder",
            "a named pipe, ": tmp_path / "linked",
            "a socket": tmp_path / "socket",
            "a device": Path("/dev/null"),
            "symbolic links": tmp_path / "loop",
            "no folder": tmp_path / "absent" / "page.html",
            "too long": tmp_path / ("x" * 300 + ".html"),
        }


def test_irregular_file_is_rejected_and_stays(
    odd_files: dict[str, Path], one_sentence: Callable[[object], str]
) -> None:
    before = {
        path: os.lstat(path).st_mode
        for what, path in odd_files.items()
        if what not in ("no folder", "too long")
    }
    for what, path in odd_files.items():
        with pytest.raises(FileError) as caught:
            write_atomic(path, "text")
        message = one_sentence(caught.value)
        assert what.rstrip(", ") in message
        assert str(path) in message
    assert {path: os.lstat(path).st_mode for path in before} == before


def test_input_is_never_output(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a,b\n0,1\n")
    (tmp_path / "soft").symlink_to(table)
    os.link(table, tmp_path / "hard")
    scenario = tmp_path / "scenario"
    scenario.mkdir()
    (scenario / "runs.arff").write_text("")
    for out, given in [
        ("t.csv", table),
        ("soft", table),
        ("hard", table),
        ("scenario/runs.arff", scenario),
    ]:
        with pytest.raises(FileError, match="is read") as caught:
            _resolve_target(tmp_path / out, given)
        one_sentence(caught.value)
    assert (
        _resolve_target(tmp_path / "page.html", table, scenario)
        == (tmp_path / "page.html").resolve()
    )
    assert _resolve_target(scenario / "page.html", scenario).parent == scenario.resolve()


def test_failed_write_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_sentence: Callable[[object], str]
) -> None:
    page = tmp_path / "page.html"
    page.write_text("old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="No space left on device") as caught:
        write_atomic(page, "new")
    assert str(page) in one_sentence(caught.value)
    assert ".part" not in str(caught.value)
    assert isinstance(caught.value, OSError)
    assert (page.read_text(), names_in(tmp_path)) == ("old", ["page.html"])


def test_file_and_folder_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[object] = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino))
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda *paths: synced.append(replace(*paths)))
    write_atomic(tmp_path / "page.html", "text")
    assert synced == [(tmp_path / "page.html").stat().st_ino, None, tmp_path.stat().st_ino], (
        "None: replaced"
    )


def test_lone_surrogates_are_written_visibly(tmp_path: Path) -> None:
    write_atomic(tmp_path / "page.html", "ä \udc80")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == "ä \\udc80"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("compare", "t.csv", "--out", "t.csv"), "ends in .html"),
        (("compare", "hostile.csv", "--out", "pipe.html"), "a named pipe"),
        *(
            ((command, "t.db::t", *more, "--out", "link.html"), "is read")
            for command, *more in (
                ("compare",),
                ("audit", "--best"),
                ("audit", "--order"),
                ("audit", "mean(a) < 1"),
            )
        ),
    ],
)
def test_commands_check_output_before_they_work(
    command: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of FILE::TABLE, the file is what must stay."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b\n" + "0,1\n1,0\n" * 10)
    (tmp_path / "hostile.csv").write_text(
        "this is read first, and refused, if --out is not checked before\n"
    )
    (tmp_path / "t.db").write_bytes(b"rows")
    (tmp_path / "link.html").symlink_to(tmp_path / "t.db")
    os.mkfifo(tmp_path / "pipe.html")
    before = {path.name: path.read_bytes() for path in tmp_path.glob("t.*")}
    done = CliRunner().invoke(app, command)
    assert isinstance(done.exception, TombolaError)
    assert done.stdout == ""
    assert said in str(done.exception)
    assert str(done.exception).startswith("--out: ")
    assert {path.name: path.read_bytes() for path in tmp_path.glob("t.*")} == before
    assert stat.S_ISFIFO((tmp_path / "pipe.html").stat().st_mode)


def test_kill_in_between_leaves_old_file(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("old")
    program = (
        "import os, signal\n"
        "os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from tombola._files import write_atomic\n"
        f"write_atomic({str(page)!r}, 'new')\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
    assert page.read_text() == "old"


def test_lock_of_a_removed_file_excludes_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A holder leaves, and another one comes, between opening the file and locking it."""
    path = tmp_path / "my.race-run"
    first, third = ExitStack(), ExitStack()
    assert first.enter_context(exclusive_lock(path))
    try_lock = _files._try_lock

    def late(handle: int) -> bool:
        monkeypatch.undo()
        first.close()
        assert third.enter_context(exclusive_lock(path))
        return try_lock(handle)

    monkeypatch.setattr(_files, "_try_lock", late)
    with exclusive_lock(path) as is_held:
        assert not is_held
    third.close()
    with exclusive_lock(path) as is_held:
        assert is_held
    assert names_in(tmp_path) == []


def test_lock_without_fcntl() -> None:
    """As on Windows: the package is imported, and files are locked by msvcrt."""
    program = """if True:
        import os, sys, tempfile, types
        sys.modules["fcntl"] = None
        import tombola.racing.driver, tombola.service.server, tombola.cli.app
        from tombola._files import exclusive_lock
        locks = []
        def locking(handle, mode, count):
            if locks:
                raise OSError
            locks.append((mode, count))
        sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking)
        path = os.path.join(tempfile.mkdtemp(), "lock")
        with exclusive_lock(path) as first, exclusive_lock(path) as second:
            print(first, second, locks)
    """
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True False [(2, 1)]\n"
