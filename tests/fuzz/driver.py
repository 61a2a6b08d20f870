"""Fuzz driver: damages files at random and reads them in child processes, so that crashes and hangs
are counted.

Results of a try: same (content as written), other (another valid content), refused (one sentence),
wrong (another content although a digest should detect it), traceback, crash, hang.
"""

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from tombola.engine.runner import Runner
from tombola.errors import TombolaError

# Seconds of processor time, and of waiting, after which a try counts as a hang.
MAX_PROCESSOR_TIME = 60.0
MAX_WAIT = 1800.0
# Lengths of a damaged piece in bytes.
LENGTHS = (1, 1, 1, 2, 8, 64, 4096)
Check = Callable[[Path, int], str]


def damage(content: bytes, seed: int) -> bytes:
    """Return the content with one change: a bit, digits, noise, zeros, a piece moved, or the end cut off."""
    if not content:
        return b"\0"
    rng = np.random.default_rng([seed, 29])
    changed, place = bytearray(content), int(rng.integers(len(content)))
    length = min(int(rng.choice(LENGTHS)), len(content) - place)
    match int(rng.integers(6)):
        case 0:
            changed[place] ^= 1 << int(rng.integers(8))
        case 1:
            changed[place : place + length] = rng.bytes(length)
        case 2:
            changed[place : place + length] = bytes(length)
        case 3:
            digits = [
                i for i in range(place, min(place + 400, len(changed))) if 48 <= changed[i] <= 57
            ] or [place]
            changed[int(rng.choice(digits))] = 48 + int(rng.integers(10))
        case 4:
            piece = changed[place : place + length]
            del changed[place : place + length]
            at = int(rng.integers(len(changed) + 1))
            changed[at:at] = piece
        case _:
            del changed[place:]
    return bytes(changed)


def answer(check: Check, path: Path, seed: int) -> str:
    """Return the result of one try."""
    try:
        return check(path, seed)
    except TombolaError as error:
        return "refused" if "\n" not in str(error) else "traceback"
    except Exception as error:
        return f"traceback {type(error).__name__}: {str(error)[:80]}"


_steps: dict[Any, Any] = {}
_step = Runner.compile


def remembered(runner: Runner, function: Any, *arguments: Any) -> Any:
    """Cache compiled steps: the fingerprint of a learner takes longer than most tries."""
    key = (
        function,
        repr(runner.learner),
        type(runner.feedback_model),
        tuple(np.ndim(part) for part in runner.state),
    )
    if key not in _steps:
        _steps[key] = _step(runner, function, *arguments)
    return _steps[key]


def serve(check: Check) -> None:
    """Child process: print the result of each seed in the range on the command line."""
    first, last = int(sys.argv[2]), int(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, last):
            print(json.dumps([seed, answer(check, Path(folder), seed)]), flush=True)


def fuzz(program: str, kind: str, begun: int, count: int) -> Counter[str]:
    """Try the seeds from `begun` to `count` in child processes; after a crash or a hang another child continues."""
    ends: Counter[str] = Counter()
    while begun < count:
        begun = _follow(program, kind, begun, count, ends)
    return ends


def _follow(program: str, kind: str, begun: int, count: int, ends: Counter[str]) -> int:
    """Run one child until it ends, crashes or hangs; return the seed to go on with."""
    child = subprocess.Popen(
        [sys.executable, program, kind, str(begun), str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    lines: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_read, args=(child, lines), daemon=True).start()
    seed = begun - 1
    while seed < count - 1:
        line = _next(child, lines)
        if line is None:
            child.kill()
            return _note(ends, "hang", seed + 1)
        if not line:
            child.wait()
            return _note(ends, "crash", seed + 1)
        seed, end = json.loads(line)
        _note(ends, end, seed)
    child.wait()
    return count


def _next(child: "subprocess.Popen[bytes]", lines: "queue.Queue[bytes]") -> bytes | None:
    """Return the next line of a child, or None if it hangs: it works, or waits, too long for one answer."""
    begun, worked = time.monotonic(), _worked(child.pid)
    while time.monotonic() - begun < MAX_WAIT and _worked(child.pid) - worked < MAX_PROCESSOR_TIME:
        with contextlib.suppress(queue.Empty):
            return lines.get(timeout=1.0)
    return None


def _worked(pid: int) -> float:
    """Return the processor time of a process so far, in seconds; 0 where that cannot be told."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _note(ends: Counter[str], end: str, seed: int) -> int:
    kind = end.split()[0]
    ends[kind] += 1
    if kind in ("traceback", "crash", "hang", "wrong"):
        print(f"seed {seed}: {end}", file=sys.stderr, flush=True)
    return seed + 1


def _read(child: "subprocess.Popen[bytes]", lines: "queue.Queue[bytes]") -> None:
    assert child.stdout is not None
    for line in child.stdout:
        lines.put(line)
    lines.put(b"")


def main(kinds: dict[str, Check]) -> None:
    """Run `python FILE KIND COUNT`, or be the child `python FILE KIND FIRST LAST`."""
    if len(sys.argv) == 4:
        with mock.patch.object(Runner, "compile", remembered):
            serve(kinds[sys.argv[1]])
    else:
        kind, count = sys.argv[1], int(sys.argv[2])
        print(kind, dict(fuzz(sys.argv[0], kind, 0, count)), flush=True)
