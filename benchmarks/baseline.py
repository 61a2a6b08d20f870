"""Compile baseline.c and call its loops through ctypes."""

import ctypes
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tombola._types import Floats, Integers, Order, RngState, Rows

SOURCE = Path(__file__).with_name("baseline.c")
OPTIONS = ["-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC"]


def _fields(pointers: tuple[str, ...], integers: tuple[str, ...]) -> list[tuple[str, Any]]:
    return [(name, ctypes.c_void_p) for name in pointers] + [
        (name, ctypes.c_int64) for name in integers
    ]


class Table(ctypes.Structure):
    """Losses and the order of the rows."""

    _fields_ = _fields(("losses", "labels", "order"), ("rounds", "k", "best"))


class Accumulators(ctypes.Structure):
    """Sums, plays and curve of a play, written by the loop."""

    _fields_ = _fields(("sums", "plays", "curve", "marks"), ("marks_size", "mark", "last"))


def compile_library() -> ctypes.CDLL | str:
    """Return the compiled loops, or the reason why they cannot be compiled."""
    compiler = (
        os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    )
    if compiler is None:
        return "no C compiler found (cc, gcc, clang)"
    with tempfile.TemporaryDirectory(prefix="tombola-bench-") as folder:
        library = Path(folder) / "baseline.so"
        command = [*compiler.split(), *OPTIONS, str(SOURCE), "-o", str(library), "-lm"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            return f"{compiler} could not be run ({error})"
        if done.returncode != 0:
            return (
                f"{compiler} could not compile baseline.c ({done.stderr.strip().splitlines()[:1]})"
            )
        return ctypes.CDLL(str(library))


def run(
    function: Any,
    losses: Rows,
    order: Order,
    best: int,
    marks: Integers,
    rng: RngState,
    parameter: float,
) -> tuple[Floats, Floats, Floats]:
    """Run one loop, and return its sums, plays and curve."""
    rounds, k = order.size, losses.shape[1]
    if k > 1024 or losses.dtype != np.float64 or not losses.flags.c_contiguous:
        raise ValueError("baseline.c reads rows of at most 1024 float64 numbers, C-contiguous")
    labels, sums, plays, curve = np.arange(k), np.zeros(4), np.zeros(k), np.zeros((marks.size, 4))
    table = Table(losses.ctypes.data, labels.ctypes.data, order.ctypes.data, rounds, k, best)
    pointers = [array.ctypes.data for array in (sums, plays, curve, marks)]
    accumulators = Accumulators(*pointers, marks.size, 0, 0)
    function.restype = None
    arguments = ctypes.c_void_p(rng.ctypes.data), ctypes.c_double(parameter)
    function(ctypes.byref(table), ctypes.byref(accumulators), *arguments)
    return sums, plays, curve
