"""Journal: finished units, one JSON line each, so that a killed run goes on where it stopped.

A line is written and flushed to the disk when its unit is done. A line cut short by a kill is not valid JSON, is
ignored, and its unit is run again; so nothing is lost, and nothing is counted twice.
"""

import hashlib
import json
import os
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np


class Journal:
    """The finished units of a folder."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._done = dict(_lines(path))
        if path.exists() and not path.read_bytes().endswith(b"\n"):
            with path.open("ab") as file:
                file.write(b"\n")

    def rows(self, key: str) -> list[dict[str, Any]] | None:
        """Return the rows of a finished unit, or None."""
        return self._done.get(key)

    def record(self, key: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Write a finished unit down, and return its rows as they would be read again."""
        line = json.dumps({"unit": key, "rows": rows})
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
            self._done[key] = json.loads(line)["rows"]
            return self._done[key]


def key_of(claim: str, unit: Any, seed: int) -> str:
    """Return the name of a unit: the claim, and a hash of its settings, the seed and the code of this package.

    >>> key_of("birthday", {"T": 16}, 1) == key_of("birthday", {"T": 16}, 2)
    False
    """
    return f"{claim}/{_hash(_code(), claim, unit, seed)[:16]}"


def seed_of(claim: str, unit: Any, seed: int) -> np.random.SeedSequence:
    """Return the seed of a unit, which depends on nothing but what it is and the seed of all."""
    return np.random.SeedSequence(int(_hash(claim, unit, seed), 16))


def _hash(*settings: Any) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


@cache
def _code() -> str:
    """Return a hash of all source files of the package: results of other code are not ours."""
    sources = sorted(Path(__file__).parents[1].rglob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


def _lines(path: Path) -> list[tuple[str, list[dict[str, Any]]]]:
    found = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []:
        try:
            entry = json.loads(line)
            found.append((entry["unit"], entry["rows"]))
        except (json.JSONDecodeError, KeyError, TypeError):
            continue
    return found
