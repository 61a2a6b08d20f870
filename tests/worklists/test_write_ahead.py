"""Files that are written ahead: one sync, one file at rest, and no copy that lacks events in silence."""

import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import HANGS, SOURCE
from tombola import UCB1
from tombola import _files as files
from tombola.errors import SessionError
from tombola.worklists import SessionFile, event_log
from tombola.worklists.write_ahead import Header, MainFile

pytestmark = pytest.mark.usefixtures("plainly")

Check = Callable[[BaseException], str]
AT_REST = Header(is_ahead=False, format=4)


def start(path: Path) -> SessionFile:
    """Start a session that is written ahead."""
    ids = [str(number) for number in range(30)]
    run = SessionFile.start(path, ids, ["a", "b"], UCB1(), seed=3)
    run._log.write_ahead()
    return run


def read_header(path: Path) -> Header | None:
    main = MainFile(path)
    try:
        return main.header()
    finally:
        main.close()


def issued(path: Path) -> int:
    with SessionFile.open(path) as run:
        return run.issued


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_close_leaves_one_file_at_rest(tmp_path: Path) -> None:
    path = tmp_path / "my.run"
    with start(path) as run:
        run.next(3)
        log = run._log
        assert log._rows("PRAGMA journal_mode") == [("wal",)]
        assert log._rows("PRAGMA synchronous") == [(3,)]
        assert log._rows("PRAGMA fullfsync") == [(1,)]
        assert read_header(path) == Header(is_ahead=True, format=5)
        assert issued(path) == 3, "another process reads the log, too"
        run.next(2)
        assert issued(path) == 5
    assert left(tmp_path) == ["my.run"]
    assert read_header(path) == AT_REST
    assert issued(path) == 5
    assert left(tmp_path) == ["my.run"]


@pytest.mark.full
def test_a_transaction_is_one_sync(tmp_path: Path) -> None:
    """The number of syncs of a transaction, counted by the system, with and without."""
    code = (
        "import sys\n"
        "from tombola import SessionFile\n"
        "run = SessionFile.open(sys.argv[1])\n"
        "run.interpreted = True\n"
        "run.next()\n"
        "if sys.argv[2] == 'ahead':\n"
        "    run._log.write_ahead()\n"
        "print('begin', file=sys.stderr, flush=True)\n"
        "for _ in range(10):\n"
        "    run.next()\n"
        "print('end', file=sys.stderr, flush=True)\n"
    )
    if shutil.which("strace") is None:
        pytest.skip("counting syncs needs strace")
    counts = {}
    for mode in ("ahead", "journal"):
        path = tmp_path / f"{mode}.run"
        SessionFile.start(path, map(str, range(30)), ["a", "b"], UCB1(), seed=3).close()
        trace = ["strace", "-f", "-e", "trace=fsync,fdatasync,write"]
        done = subprocess.run(
            [*trace, sys.executable, "-c", code, path, mode],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            capture_output=True,
            text=True,
            check=True,
        )
        part = done.stderr.partition("begin")[2].partition("end")[0]
        counts[mode] = part.count("fsync(") + part.count("fdatasync(")
    # One more when the log begins again after it was copied into the file.
    assert counts["ahead"] in (10, 11), counts
    assert counts["journal"] >= 30, counts


def test_copy_without_its_log_is_refused(tmp_path: Path, one_sentence: Check) -> None:
    path, copy = tmp_path / "my.run", tmp_path / "copy" / "my.run"
    copy.parent.mkdir()
    with start(path) as run:
        run.next(3)
        shutil.copyfile(path, copy)
        before = copy.read_bytes()
        with pytest.raises(SessionError, match=r"my\.run-wal beside") as refused:
            SessionFile.open(copy)
        one_sentence(refused.value)
        assert (left(copy.parent), copy.read_bytes()) == (["my.run"], before)
        # With its log it is complete.
        shutil.copyfile(f"{path}-wal", f"{copy}-wal")
        assert issued(copy) == 3
        assert left(copy.parent) == ["my.run"]


def test_log_of_another_file_is_refused(tmp_path: Path, one_sentence: Check) -> None:
    path, other = tmp_path / "my.run", tmp_path / "other.run"
    SessionFile.start(other, ["x", "y"], ["a", "b"], UCB1(), seed=1).close()
    with start(path) as run:
        run.next(3)
        shutil.copyfile(f"{path}-wal", f"{other}-wal")
        before = other.read_bytes()
        with pytest.raises(SessionError, match="belongs to another file") as refused:
            SessionFile.open(other)
        one_sentence(refused.value)
        assert other.read_bytes() == before


@pytest.mark.parametrize("changed", [False, True])
def test_backup_copied_over_served_file_survives(
    changed: bool, tmp_path: Path, one_sentence: Check
) -> None:
    path, backup = tmp_path / "my.run", tmp_path / "backup.run"
    with start(path) as run:
        run.next(3)
    shutil.copyfile(path, backup)
    with SessionFile.open(path) as run:
        run._log.write_ahead()
        for _ in range(5):
            run.next()
        if changed:
            run._log._connection.execute("PRAGMA wal_checkpoint")
            run._log._changed = event_log._time_changed(path)
            run.next()
        with path.open("r+b") as file:
            file.write(backup.read_bytes())
            file.truncate()
        before = path.read_bytes()
        for _ in range(2):
            with pytest.raises(SessionError) as refused:
                run.next()
            assert "backup" in one_sentence(refused.value)
    assert path.read_bytes() == before
    assert issued(path) == 3
    assert left(tmp_path) == ["backup.run", "my.run"]


def test_moved_file_is_complete_when_the_server_stops(tmp_path: Path) -> None:
    path, moved = tmp_path / "my.run", tmp_path / "moved.run"
    with start(path) as run:
        run.next(3)
        path.rename(moved)
        with pytest.raises(SessionError, match="was moved"):
            run.next()
        with pytest.raises(SessionError, match=r"moved\.run-wal beside"):
            SessionFile.open(moved)
    assert issued(moved) == 3
    assert left(tmp_path) == ["moved.run"]


def test_two_processes_write_ahead(tmp_path: Path) -> None:
    """A command on a served file leaves the log to the server, and its writes stay announced."""
    path = tmp_path / "my.run"
    with start(path) as server:
        for number in range(1, 4):
            server.next()
            with SessionFile.open(path) as command:
                assert command.record(number, loss=0.5)
            shutil.copyfile(path, tmp_path / "copy.run")
            header = read_header(tmp_path / "copy.run")
            assert header is not None
            if header == Header(is_ahead=True, format=5):
                with pytest.raises(SessionError, match=r"copy\.run-wal"):
                    SessionFile.open(tmp_path / "copy.run")
        assert server.view().answered == 3
        with SessionFile.open(path) as last:
            server.close()
            last.next()
    assert left(tmp_path) == ["copy.run", "my.run"]
    assert (issued(path), read_header(path)) == (4, AT_REST)


def wait_to_be_killed(path: Path, steps: Any) -> None:
    """Write ahead, and stop where a step says; the parent kills this process."""
    run = start(path)
    run.next(3)
    connection = run._log._connection
    for statement in steps:
        connection.execute(statement).fetchall()
    print("", end="", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    "steps",
    [
        (),
        ("PRAGMA wal_checkpoint(TRUNCATE)",),
        ("PRAGMA user_version = 4",),
        ("PRAGMA user_version = 4", "PRAGMA wal_checkpoint(TRUNCATE)"),
        ("PRAGMA user_version = 4", "PRAGMA journal_mode = DELETE"),
    ],
    ids=["amid work", "copied", "marked", "marked and copied", "at rest"],
)
def test_killed_between_the_steps(steps: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "my.run"
    process = multiprocessing.get_context("fork").Process(
        target=wait_to_be_killed, args=(path, steps)
    )
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    with SessionFile.open(path) as run:
        assert run.issued == 3
        run.next()
    assert (left(tmp_path), read_header(path)) == (["my.run"], AT_REST)
    assert issued(path) == 4


def test_log_that_was_removed_before_the_journal_changed(tmp_path: Path) -> None:
    """A power loss between two steps of SQLite: the file is complete, and opens."""
    path = tmp_path / "my.run"
    with start(path) as run:
        run.next(3)
        connection = run._log._connection
        connection.execute("PRAGMA user_version = 4")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        shutil.copyfile(path, tmp_path / "copy.run")
    assert read_header(tmp_path / "copy.run") == Header(is_ahead=True, format=4)
    with SessionFile.open(tmp_path / "copy.run") as run:
        assert run.issued == 3
        run.next()
    assert read_header(tmp_path / "copy.run") == AT_REST


def test_nothing_is_written_ahead_unannounced(tmp_path: Path) -> None:
    """A write in the state between two announces the log first."""
    path = tmp_path / "my.run"
    with start(path) as run:
        run._log._connection.execute("PRAGMA user_version = 4")
        run._log._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        run._log._changed = event_log._time_changed(path)
        assert read_header(path) == Header(is_ahead=True, format=4)
        run.next()
        assert read_header(path) == Header(is_ahead=True, format=5)


def test_file_at_rest_opens_where_nothing_may_be_written(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    path = tmp_path / "folder" / "my.run"
    path.parent.mkdir()
    with start(path) as run:
        run.next(3)
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        assert issued(path) == 3
    finally:
        path.parent.chmod(0o700)


def test_network_drive_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_sentence: Check
) -> None:
    path = tmp_path / "my.run"
    with start(path):
        pass
    line = "36 35 98:0 / {} rw,noatime master:1 - {} server:/export rw\n"
    mounts = line.format("/", "ext4") + line.format(tmp_path, "nfs4")
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: mounts)
    assert files.network_drive(path) == "nfs4"
    assert files.network_drive(tmp_path.parent) is None
    with SessionFile.open(path) as run:
        with pytest.raises(SessionError, match=r"network drive \(nfs4\)") as refused:
            run._log.write_ahead()
        one_sentence(refused.value)
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: line.format("/", "nfs"))
    assert files.network_drive(path) == "nfs"


def test_damaged_log_loses_only_what_was_not_acknowledged_or_is_found(tmp_path: Path) -> None:
    """A log that is cut off anywhere gives a prefix of the events, never a wrong one."""
    path = tmp_path / "my.run"
    with start(path) as run:
        for number in range(1, 9):
            run.next()
            run.record(number, loss=0.5)
        whole = Path(f"{path}-wal").read_bytes()
        main = path.read_bytes()
    seen = []
    for size in range(0, len(whole) + 1, len(whole) // 11 - 7):
        copy = tmp_path / "copy.run"
        copy.write_bytes(main)
        Path(f"{copy}-wal").write_bytes(whole[:size])
        with SessionFile.open(copy) as part:
            seen.append(part.issued)
    assert seen == sorted(seen)
    assert (seen[0], seen[-1] >= 7) == (0, True)


def test_sqlite_backup_of_a_served_file_is_at_rest(tmp_path: Path) -> None:
    from tombola.service.endpoints import _copy_database

    path, copy = tmp_path / "my.run", tmp_path / "copy.run"
    with start(path) as run:
        run.next(3)
        _copy_database(path, copy)
        assert read_header(copy) == AT_REST
        assert left(tmp_path) == ["copy.run", "my.run", "my.run-shm", "my.run-wal"]
    assert issued(copy) == 3
    with sqlite3.connect(copy) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.parametrize("ahead", [False, True])
def test_another_object_for_the_file_keeps_the_locks(ahead: bool, tmp_path: Path) -> None:
    """POSIX drops all locks of a process on a file when it closes any handle of it."""
    path = tmp_path / "my.run"
    with start(path) as run:
        pass
    code = (
        "import sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)\n"
        "try:\n"
        "    connection.execute('BEGIN IMMEDIATE')\n"
        "except sqlite3.OperationalError as error:\n"
        "    print(error)\n"
    )
    with SessionFile.open(path) as run:
        if ahead:
            run.write_ahead()
        with run.writing():
            run.next()
            with SessionFile.open(path) as other:
                assert other.issued == 0
            command = [sys.executable, "-c", code, str(path)]
            printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert printed == "database is locked\n"
    assert issued(path) == 1


def test_reader_of_all_rows_does_not_hold_up_writers(tmp_path: Path) -> None:
    """An export reads the ids by a connection of its own, a few in a transaction."""
    with start(tmp_path / "my.run") as run:
        ids = run.each_id()
        first = next(ids)
        done: list[int] = []
        writer = threading.Thread(target=lambda: done.append(run.next()[0].ticket))
        writer.start()
        writer.join(HANGS)
        assert done == [1]
        assert sorted([first, *ids], key=int) == [str(number) for number in range(30)]
        header = read_header(tmp_path / "my.run")
        assert run._log._rows("PRAGMA user_version") == [(5,)], "the log is still announced"
        assert header == Header(is_ahead=True, format=5)
