"""The loops of baseline.c, compiled on the spot and called through ctypes."""

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


class Table(ctypes.Structure):
    """The rows in the order in which they come."""

    _fields_ = (
        ("losses", ctypes.c_void_p),
        ("labels", ctypes.c_void_p),
        ("order", ctypes.c_void_p),
        ("rounds", ctypes.c_int64),
        ("k", ctypes.c_int64),
        ("best", ctypes.c_int64),
    )


class Accumulators(ctypes.Structure):
    """Where the sums go."""

    _fields_ = (
        ("sums", ctypes.c_void_p),
        ("plays", ctypes.c_void_p),
        ("curve", ctypes.c_void_p),
        ("marks", ctypes.c_void_p),
        ("marks_size", ctypes.c_int64),
        ("mark", ctypes.c_int64),
        ("last", ctypes.c_int64),
    )


def compiled() -> ctypes.CDLL | str:
    """Return the compiled loops, or why there are none."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
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
            return f"{compiler} could not compile baseline.c ({done.stderr.strip().splitlines()[:1]})"
        return ctypes.CDLL(str(library))


def run(
    function: Any, losses: Rows, order: Order, best: int, marks: Integers, rng: RngState, parameter: float
) -> tuple[Floats, Floats, Floats]:
    """Play one loop, and return its sums, plays and curve."""
    rounds, k = order.size, losses.shape[1]
    if k > 1024 or losses.dtype != np.float64 or not losses.flags.c_contiguous:
        raise ValueError("baseline.c reads rows of at most 1024 float64 numbers, one after the other")
    labels, sums, plays, curve = np.arange(k), np.zeros(4), np.zeros(k), np.zeros((marks.size, 4))
    table = Table(losses.ctypes.data, labels.ctypes.data, order.ctypes.data, rounds, k, best)
    accumulators = Accumulators(
        sums.ctypes.data, plays.ctypes.data, curve.ctypes.data, marks.ctypes.data, marks.size, 0, 0
    )  # fmt: skip
    function.restype = None
    function(
        ctypes.byref(table), ctypes.byref(accumulators), ctypes.c_void_p(rng.ctypes.data), ctypes.c_double(parameter)
    )  # fmt: skip
    return sums, plays, curve
