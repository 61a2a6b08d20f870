"""Finished units, one JSON line each, so that a killed run goes on where it stopped.

A line is written and flushed to the disk when its unit is done, with a digest of it. A line cut short by a kill, or
damaged since, is ignored, and its unit is run again; so nothing is lost, counted twice, or published as it is not.
"""

import hashlib
import json
import os
import warnings
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from tombola._files import make_folder, read_bytes
from tombola.errors import MALFORMED_DATA_ERRORS, TombolaWarning


class Finished:
    """The finished units of a folder."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, Lock()
        make_folder(path.parent)
        self._done, damaged = _read(path)
        if damaged:
            lines = "1 line is" if damaged == 1 else f"{damaged} lines are"
            warnings.warn(f"{path}: {lines} damaged, and measured again.", TombolaWarning, stacklevel=2)
        if path.exists() and not read_bytes(path).endswith(b"\n"):
            with path.open("ab") as file:
                file.write(b"\n")

    def rows(self, key: str) -> list[dict[str, Any]] | None:
        """Return the rows of a finished unit, or None."""
        return self._done.get(key)

    def record(self, key: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Write a finished unit down, and return its rows as they would be read again."""
        line = json.dumps({"unit": key, "rows": rows, "digest": _hash(key, rows)})
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
            self._done[key] = json.loads(line)["rows"]
            return self._done[key]


def key_of(claim: str, unit: Any, seed: int, code: str) -> str:
    """Return the name of a unit: the claim, and a hash of its settings, the seed and the code that it runs.

    >>> key_of("birthday", {"T": 16}, 1, "a") == key_of("birthday", {"T": 16}, 2, "a")
    False
    """
    return f"{claim}/{_hash(code, claim, unit, seed)[:16]}"


def seed_of(claim: str, unit: Any, seed: int) -> np.random.SeedSequence:
    """Return the seed of a unit, which depends on nothing but what it is and the seed of all."""
    return np.random.SeedSequence(int(_hash(claim, unit, seed), 16))


def _hash(*settings: Any) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def _read(path: Path) -> tuple[dict[str, list[dict[str, Any]]], int]:
    """Return the finished units, and how many lines say something else than what was written."""
    done, damaged = {}, 0
    for line in read_bytes(path).splitlines() if path.exists() else []:
        try:
            entry = json.loads(line)
            unit, rows, digest = entry["unit"], entry["rows"], entry["digest"]
            right = isinstance(unit, str) and _are_rows(rows) and _hash(unit, rows) == digest
        except MALFORMED_DATA_ERRORS:
            continue
        if right:
            done[unit] = rows
        else:
            damaged += 1
    return done, damaged


def _are_rows(rows: Any) -> bool:
    return isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
