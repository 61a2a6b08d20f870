"""Chunks: the repetitions that a comparison has played, kept in files: a kill costs little, and more can be added.

Repetitions are played in chunks, always the same ones, and every chunk is a file of its own, written whole. Its name
is a hash of the table, the question, the seed and the code of this package; a damaged file, and one that was moved from
another name, is played again: its digest is of the name, too.
"""

import hashlib
import io
import json
import os
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tombola._files import make_folder, read_bytes, write_atomic
from tombola._provenance import package_hash
from tombola.budget.target import TargetRegret
from tombola.runs import Cell, Entry, Runs

CHUNK = 4  # repetitions in a file
Part = tuple[int, int]  # the first repetition, how many
Play = Callable[[Sequence[Part]], Generator[Runs]]


class Chunks(NamedTuple):
    """A folder with the chunks of one comparison."""

    folder: Path

    def read(self, first: int, count: int) -> Runs | None:
        """Return the chunk, or None if it is not there, or not as it was written."""
        try:
            return _unpacked(read_bytes(self._path(first, count)), self._name(first, count))
        except Exception:  # zipfile, zlib, NumPy and tokenize each have their own for what is no archive
            return None

    def write(self, first: int, count: int, runs: Runs) -> None:
        """Keep a chunk; where that cannot be, nothing is lost but time."""
        with suppress(OSError):
            make_folder(self.folder)
            write_atomic(self._path(first, count), _packed(runs, self._name(first, count)))

    def _path(self, first: int, count: int) -> Path:
        return self.folder / f"{first}-{first + count}.runs"

    def _name(self, first: int, count: int) -> str:
        return "/".join(self._path(first, count).parts[-2:])


def played(play: Play, repetitions: int, chunks: Chunks | None) -> tuple[Runs, int]:
    """Return all repetitions, and how many of them were known before; each part is kept as soon as it is played."""
    parts = [(first, min(CHUNK, repetitions - first)) for first in range(0, repetitions, CHUNK)]
    found: dict[Part, Runs | None] = {part: None if chunks is None else chunks.read(*part) for part in parts}
    missing = [part for part in parts if found[part] is None]
    with closing(play(missing)) as playing:
        for part, runs in zip(missing, playing, strict=True):
            found[part] = runs
            if chunks is not None:
                chunks.write(*part, runs)
    known = repetitions - sum(count for _, count in missing)
    return joined([runs for runs in found.values() if runs is not None]), known


def joined(parts: Sequence[Runs]) -> Runs:
    """Return runs of the same learners on further orders as one."""
    cells = {entry: _joined([part.cells[entry] for part in parts]) for entry in parts[0].cells}
    return replace(parts[0], cells=cells)


def _joined(cells: Sequence[Cell]) -> Cell:
    sums = np.concatenate([cell.sums for cell in cells])
    plays = np.concatenate([cell.plays for cell in cells])
    shares = np.sum([len(cell.plays) * cell.shares for cell in cells], axis=0) / len(plays)
    return Cell(cells[0].rounds, sums, plays, shares)


def chunks_of(folder: Path | None, arrays: Iterable[Any], settings: Any, learners: Mapping[str, Any]) -> Chunks | None:
    """Return the folder of a comparison: it is named by all that its numbers depend on."""
    if folder is None:
        return None
    digest = hashlib.sha256(f"{package_hash()} {settings!r}".encode())
    for name, learner in learners.items():
        source = getattr(sys.modules[type(learner).__module__], "__file__", None)
        digest.update(f"{name} {learner!r} ".encode() + (Path(source).read_bytes() if source else b""))
    for array in arrays:
        digest.update(str(None if array is None else (array.shape, str(array.dtype))).encode())
        for start in range(0, 0 if array is None else len(array), 1 << 16):
            digest.update(np.ascontiguousarray(array[start : start + (1 << 16)]).tobytes())
    return Chunks(folder / digest.hexdigest()[:32])


def usual_folder() -> Path:
    """Return where they are kept: TOMBOLA_CACHE, or a folder in the cache of the person.

    >>> usual_folder().name
    'compare'
    """
    cache_home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(os.environ.get("TOMBOLA_CACHE") or Path(cache_home) / "tombola") / "compare"


def _packed(runs: Runs, name: str) -> bytes:
    """Return runs as bytes: a digest of them and their name, and an archive of arrays."""
    cells = list(runs.cells.values())
    arrays = {f"{i} {name}": array for i, cell in enumerate(cells) for name, array in cell._asdict().items()}
    facts = {
        "price": runs.switching_price,
        "actions": runs.actions,
        "amounts": runs.amounts,
        "aims": list(runs.aims.items()),
    }
    bounds = [(*entry, bound) for entry, bound in runs.bounds.items()]
    about = np.array(json.dumps({"entries": list(runs.cells), "bounds": bounds, **facts}))
    buffer = io.BytesIO()
    np.savez(buffer, about=about, **arrays)
    return _digest(buffer.getvalue(), name) + buffer.getvalue()


def _digest(archive: bytes, name: str) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + archive).digest()


def _unpacked(content: bytes, name: str) -> Runs:
    digest, archive = content[:32], content[32:]
    if _digest(archive, name) != digest:
        raise ValueError("not as it was written")
    with np.load(io.BytesIO(archive), allow_pickle=False) as arrays:
        facts = json.loads(str(arrays["about"]))
        cells = {
            Entry(*entry): Cell(*(arrays[f"{i} {name}"] for name in Cell._fields))
            for i, entry in enumerate(facts["entries"])
        }
    bounds = {Entry(*entry): bound for *entry, bound in facts["bounds"]}
    aims = {horizon: TargetRegret(*aim) for horizon, aim in facts["aims"]}
    return Runs(cells, facts["price"], tuple(facts["actions"]), tuple(facts["amounts"]), bounds, aims)
