"""Result cache of `compare` and `reproduce`: one checksummed file per result.

A key names everything the result depends on: the data, the settings, the seed and the hash of the
code. Equal keys therefore mean equal results, to the bit. A file that is damaged, cut short, or
moved here from another key fails its checksum, and the result is computed again. `compare` stores
blocks of repetitions as NumPy archives (`play_cached`); `reproduce` stores the rows of a unit as
JSON.
"""

import hashlib
import io
import json
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tombola._files import make_folder, read_bytes, write_atomic
from tombola.budget.target import TargetRegret
from tombola.runs import Cell, Entry, Runs

# Repetitions per file: small enough that an interrupted comparison loses little, large enough for
# few files.
_BLOCK_REPETITIONS = 4
# Length of the SHA-256 at the start of every file.
_CHECKSUM_BYTES = 32

_Block: TypeAlias = tuple[int, int]  # first repetition, number of repetitions
# Function that plays blocks of repetitions and yields the runs of each, in order.
_PlayBlocks: TypeAlias = Callable[[Sequence[_Block]], Generator[Runs]]


class ResultCache(NamedTuple):
    """Folder of finished results, each in a file with a checksum.

    The result with key `claim/hash` is in the file `claim/hash.result`. A result that cannot be
    written (read-only or full disk) is not cached, which costs time only.

    >>> import tempfile
    >>> cache = ResultCache(Path(tempfile.mkdtemp()))
    >>> cache.write_json("claim/key", [{"loss": 0.5}]), cache.read_json("claim/key"), cache.read_json("claim/other")
    ([{'loss': 0.5}], [{'loss': 0.5}], None)
    """

    folder: Path

    def read(self, key: str) -> bytes | None:
        """Return the bytes stored under a key; None if missing or damaged."""
        try:
            content = read_bytes(self.path(key))
        except OSError:
            return None
        checksum = content[:_CHECKSUM_BYTES]
        payload = content[_CHECKSUM_BYTES:]
        return payload if checksum == _checksum(key, payload) else None

    def write(self, key: str, payload: bytes) -> None:
        """Store bytes under a key, atomically; an error of the disk is ignored."""
        path = self.path(key)
        with suppress(OSError):
            make_folder(path.parent)
            write_atomic(path, _checksum(key, payload) + payload)

    def read_json(self, key: str) -> Any:
        """Return the JSON value stored under a key; None if missing or damaged."""
        payload = self.read(key)
        try:
            return None if payload is None else json.loads(payload)
        except ValueError:
            return None

    def write_json(self, key: str, value: Any) -> Any:
        """Store a JSON value under a key; return it as `read_json` will (tuples as lists)."""
        payload = json.dumps(value).encode()
        self.write(key, payload)
        return json.loads(payload)

    def path(self, key: str) -> Path:
        """Return the path of the file of a result, whether or not it exists."""
        return self.folder / f"{key}.result"


def result_key(*parts: Any) -> str:
    """Hash arrays and JSON values to a key of 32 hexadecimal digits.

    >>> result_key({"a": 1, "b": 2}, np.zeros(2)) == result_key({"b": 2, "a": 1}, np.zeros(2))
    True
    >>> result_key(np.zeros(2)) == result_key(np.zeros((2, 1)))
    False
    """
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"array {part.shape} {part.dtype.str}\0".encode())
            # A view: a memory-mapped table may not fit into memory.
            digest.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)
        else:
            digest.update(json.dumps(part, sort_keys=True).encode() + b"\0")
    return digest.hexdigest()[:32]


def play_cached(
    play: _PlayBlocks, repetitions: int, cache: ResultCache | None, key: str
) -> tuple[Runs, int]:
    """Play the uncached repetitions; return all runs, and the number of cached ones.

    Every block of repetitions is stored as soon as it is played, so that an interrupted comparison
    continues, and one with more repetitions plays only the new ones.
    """
    starts = range(0, repetitions, _BLOCK_REPETITIONS)
    blocks = [(first, min(_BLOCK_REPETITIONS, repetitions - first)) for first in starts]
    runs = {block: None if cache is None else read_runs(cache, key, block) for block in blocks}
    missing = [block for block in blocks if runs[block] is None]
    with closing(play(missing)) as playing:
        for block, played in zip(missing, playing, strict=True):
            runs[block] = played
            if cache is not None:
                write_runs(cache, key, block, played)
    n_cached = repetitions - sum(count for _, count in missing)
    return _join_blocks([part for part in runs.values() if part is not None]), n_cached


def read_runs(cache: ResultCache, key: str, block: _Block) -> Runs | None:
    """Return the cached runs of one block of repetitions; None if missing or damaged.

    key: of the comparison, from `result_key`.
    block: first repetition, from 0, and number of repetitions.
    """
    payload = cache.read(_block_key(key, block))
    try:
        return None if payload is None else _decode(payload)
    except (
        Exception
    ):  # zipfile, zlib, NumPy and tokenize each raise their own for a malformed archive
        return None


def write_runs(cache: ResultCache, key: str, block: _Block, runs: Runs) -> None:
    """Store the runs of one block of repetitions; `read_runs` explains key and block."""
    cache.write(_block_key(key, block), _encode(runs))


def _join_blocks(parts: Sequence[Runs]) -> Runs:
    """Return the runs of a comparison from the runs of its blocks, in their order."""
    joined = {}
    for entry, first in parts[0].cells.items():
        cells = [part.cells[entry] for part in parts]
        sums = np.concatenate([cell.sums for cell in cells])
        plays = np.concatenate([cell.plays for cell in cells])
        # `shares` is a mean over repetitions, so every block weighs by its number of them.
        shares = np.sum([len(cell.plays) * cell.shares for cell in cells], axis=0) / len(plays)
        joined[entry] = Cell(first.rounds, sums, plays, shares)
    return replace(parts[0], cells=joined)


def _block_key(key: str, block: _Block) -> str:
    return f"{key}/{block[0]}-{sum(block)}"


def _checksum(key: str, payload: bytes) -> bytes:
    """Hash the key too: a file copied to another key must not be read as that result."""
    return hashlib.sha256(key.encode() + b"\0" + payload).digest()


def _encode(runs: Runs) -> bytes:
    """Serialise runs as a NumPy archive: four arrays per cell, and the rest as JSON."""
    cells = enumerate(runs.cells.values())
    arrays = {f"{i} {name}": array for i, cell in cells for name, array in cell._asdict().items()}
    facts = {
        "entries": list(runs.cells),
        "price": runs.switching_price,
        "actions": runs.actions,
        "amounts": runs.amounts,
        "bounds": [(*entry, bound) for entry, bound in runs.bounds.items()],
        "target_regrets": list(runs.target_regrets.items()),
    }
    buffer = io.BytesIO()
    np.savez(buffer, facts=np.array(json.dumps(facts)), **arrays)
    return buffer.getvalue()


def _decode(payload: bytes) -> Runs:
    with np.load(io.BytesIO(payload), allow_pickle=False) as arrays:
        facts = json.loads(str(arrays["facts"]))
        cells = {
            Entry(*entry): Cell(*(arrays[f"{i} {name}"] for name in Cell._fields))
            for i, entry in enumerate(facts["entries"])
        }
    bounds = {Entry(*entry): bound for *entry, bound in facts["bounds"]}
    targets = {horizon: TargetRegret(*values) for horizon, values in facts["target_regrets"]}
    return Runs(
        cells, facts["price"], tuple(facts["actions"]), tuple(facts["amounts"]), bounds, targets
    )
