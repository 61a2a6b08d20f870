"""Power losses of a file that is written ahead, simulated from the recorded writes of a process.

    PYTHONPATH=src:tests python tests/kill/power_losses.py 2500

strace records every write, sync, and change of the folder of a process that starts a session,
writes ahead, lets SQLite copy the log many times, and ends. A power loss keeps what was synced, and
of everything after it any part: each write whole, torn at a sector, or not at all, each change of
the folder or not. The file must then open with a prefix of the events that has all acknowledged
ones, go on, and leave one file. Prints the counts; raises AssertionError.
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from conftest import SOURCE
from kill.test_session_kill import events
from tombola import UCB1, SessionFile
from tombola.engine.compiler import interpreted
from tombola.errors import SessionError
from tombola.worklists.write_ahead import Header, MainFile

SECTOR = 512
NAME = "my.run"
CALLS = "openat,pwrite64,write,ftruncate,fsync,fdatasync,unlink,rename"
# A recorded call: its name, the file (by -y behind its number, or as text), and the rest.
_CALL = re.compile(r'(\w+)\((?:AT_FDCWD<[^>]*>, )?(?:\d+<([^>]*)>|"([^"]*)")(.*)$')


class Operation(NamedTuple):
    """One recorded call: kind (write, truncate, sync, create, unlink, ack), file and values."""

    kind: str
    path: str
    at: int = 0
    data: bytes = b""


def work(path: Path, fault: str) -> None:
    """Start a session, write ahead, stop, use it as a command, and write ahead again.

    fault: a statement of SQL that breaks the guarantees; "" for none.
    """

    def acknowledge(run: SessionFile) -> None:
        os.write(2, f"ack {run._log.position}\n".encode())

    with interpreted():
        run = SessionFile.start(path, map(str, range(40)), ["a", "b"], UCB1(), seed=3)
        acknowledge(run)
        for part in range(3):
            if part != 1:
                run.write_ahead()
                # The log is copied into the file after every few transactions.
                run._log._connection.execute("PRAGMA wal_autocheckpoint = 12")
                run._log._connection.execute(fault)
            acknowledge(run)
            for _ in range(6):
                [ticket] = run.next()
                acknowledge(run)
                run.record(ticket.ticket, loss=ticket.ticket / 64)
                acknowledge(run)
            run.next(2)
            acknowledge(run)
            if part < 2:
                run.close()
                run = SessionFile.open(path)
                run.interpreted = True
        os._exit(0)


def record(folder: Path, fault: str) -> list[Operation]:
    """Return what a process did to the files of the folder, and what it acknowledged, in order."""
    trace = folder / "trace"
    command = ["strace", "-f", "-y", "-xx", "-s", "1000000", "-o", trace, "-e", f"trace={CALLS}"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(SOURCE), str(Path(__file__).parent.parent)]),
    }
    place = folder / "files"
    place.mkdir()
    subprocess.run(
        [*map(str, command), sys.executable, __file__, "work", str(place / NAME), fault],
        env=environment,
        capture_output=True,
        check=True,
    )
    with trace.open() as lines:
        return [one for line in lines if (one := _parsed(line, place)) is not None]


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


def _parsed(line: str, place: Path) -> Operation | None:
    """Return one line of the trace as an operation; None if it is of no interest."""
    call = _CALL.search(line)
    if call is None or "= -1" in line[-60:]:
        return None
    kind, by_number, by_name, rest = call.groups()
    path = _bytes(by_number or by_name).decode()
    if kind == "write":
        text = _bytes(rest.split('"')[1]) if '"' in rest else b""
        return Operation("ack", "", int(text.split()[1])) if text.startswith(b"ack ") else None
    is_folder = path == str(place)
    # The index of the log is shared memory, which a power loss clears.
    if not (is_folder or path.startswith(str(place / NAME))) or path.endswith("-shm"):
        return None
    name = "" if is_folder else Path(path).name
    if kind == "pwrite64":
        _, data, numbers = rest.split('"')
        return Operation("write", name, int(numbers.split(",")[2].split(")")[0]), _bytes(data))
    if kind == "ftruncate":
        return Operation("truncate", name, int(rest.split(",")[1].split(")")[0]))
    if kind in ("fsync", "fdatasync"):
        return Operation("sync", name)
    if kind == "openat":
        return Operation("create", name) if "O_CREAT" in rest else None
    assert kind == "unlink", line
    return Operation("unlink", name)


class _File:
    """Content of a file that is on the disk, and changes that may be."""

    def __init__(self) -> None:
        self.durable = bytearray()
        self.waiting: list[Operation] = []

    def apply(self, change: Operation, sectors: range | None = None) -> None:
        """Change the durable content; sectors: those of a torn write that are kept."""
        if change.kind == "truncate":
            del self.durable[change.at :]
            self.durable.extend(bytes(change.at - len(self.durable)))
            return
        parts = range(-(-len(change.data) // SECTOR)) if sectors is None else sectors
        for part in parts:
            data = change.data[part * SECTOR : (part + 1) * SECTOR]
            at = change.at + part * SECTOR
            self.durable.extend(bytes(max(0, at - len(self.durable))))
            self.durable[at : at + len(data)] = data

    def sync(self) -> None:
        for change in self.waiting:
            self.apply(change)
        self.waiting.clear()

    def lose_power(self, rng: random.Random) -> bytes:
        """Return the content after the loss of power."""
        kept = rng.choice((0.0, 0.3, 0.7, 1.0))
        for change in self.waiting:
            if rng.random() < kept:
                self.apply(change)
            elif change.kind == "write" and rng.random() < 0.3:
                count = -(-len(change.data) // SECTOR)
                first = rng.randrange(count)
                self.apply(change, range(first, rng.randrange(first, count) + 1))
        return bytes(self.durable)


def files_after(operations: list[Operation], rng: random.Random) -> tuple[dict[str, bytes], int]:
    """Return the files after a loss of power behind these operations, and the events acknowledged."""
    acknowledged = -1
    # What programs see, what is on the disk, and changes of the folder that may be.
    seen: dict[str, _File] = {}
    durable: dict[str, _File] = {}
    waiting: list[tuple[str, _File | None]] = []
    for operation in operations:
        if operation.kind == "ack":
            acknowledged = max(acknowledged, operation.at)
        elif operation.kind == "create":
            if operation.path not in seen:
                seen[operation.path] = _File()
                waiting.append((operation.path, seen[operation.path]))
        elif operation.kind == "unlink":
            del seen[operation.path]
            waiting.append((operation.path, None))
        elif operation.kind == "sync" and not operation.path:
            for name, file in waiting:
                _set(durable, name, file)
            waiting = []
        elif operation.kind == "sync":
            seen[operation.path].sync()
        else:
            seen[operation.path].waiting.append(operation)
    # A file system keeps changes of one folder in order; how many are kept is unknown.
    for name, file in waiting[: rng.randint(0, len(waiting))]:
        _set(durable, name, file)
    return {name: file.lose_power(rng) for name, file in durable.items()}, acknowledged


def _set(folder: dict[str, _File], name: str, file: _File | None) -> None:
    if file is None:
        folder.pop(name, None)
    else:
        folder[name] = file


def check(folder: Path, files: dict[str, bytes], acknowledged: int, whole: list[Any]) -> str:
    """Open the files, and check the guarantees; return what was found."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    path = folder / NAME
    try:
        with SessionFile.open(path) as run:
            run.interpreted = True
            issued = run.issued
            position = run._log.position
            [ticket] = run.next()
    except SessionError as error:
        if acknowledged >= 0:
            raise AssertionError(f"does not open after {acknowledged} events") from error
        return "not started"
    assert position >= acknowledged, f"{acknowledged} acknowledged, {position} left"
    assert ticket.ticket == issued + 1
    main = MainFile(path)
    assert main.header() == Header(is_ahead=False, format=4)
    main.close()
    assert [file.name for file in folder.iterdir()] == [NAME], "more than one file is left"
    assert events(path)[:position] == whole[:position], "the events are no prefix"
    return "log" if f"{NAME}-wal" in files else "journal" if len(files) > 1 else "at rest"


def main(losses: int, seed: int = 1, fault: str = "") -> Counter[str]:
    """Record once, lose power at random places, and return how often each state was found."""
    rng = random.Random(seed)
    found: Counter[str] = Counter()
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        operations = record(Path(folder), fault)
        whole = events(Path(folder, "files", NAME))
        assert operations[-1] == Operation("ack", "", len(whole))
        with interpreted():
            for number in range(losses):
                place = Path(folder, str(number))
                place.mkdir()
                part = operations[: rng.randint(0, len(operations))]
                found[check(place, *files_after(part, rng), whole)] += 1
                for path in place.iterdir():
                    with suppress(FileNotFoundError):
                        path.unlink()
    return found


if __name__ == "__main__":
    if sys.argv[1] == "work":
        work(Path(sys.argv[2]), sys.argv[3])
    counts = main(int(sys.argv[1]))
    print(json.dumps({"losses": counts.total(), **counts}))
