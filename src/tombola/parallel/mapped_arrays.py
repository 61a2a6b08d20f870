"""Arrays that are mapped from a file travel to other processes as the place of their numbers.

A table of 100 GB must not pass through the process that starts a comparison. What is sent is the
path, the type, the shape, the offset, and the size and digest of the file; the receiver maps the
same file. The path must lead to the same file on every machine (shared storage).
"""

import hashlib
import io
import os
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
from numpy.typing import NDArray

from tombola.errors import ParameterError

# Blocks of a file that its digest reads, spread evenly, and their size: 16 MB at most. A smaller
# file is read whole.
_BLOCKS = 256
_BLOCK_SIZE = 1 << 16


class MappedArray(NamedTuple):
    """Place of an array in a file, and what identifies the file."""

    path: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    size: int
    digest: str

    def open(self) -> NDArray[Any]:
        """Map the array; raise ParameterError if the file is missing or another one."""
        path = Path(self.path)
        if not path.exists():
            raise ParameterError(
                f"cluster: expected the table at {self.path} on every worker, got no file there on "
                "one of them; put it on storage that all machines share, under the same path."
            )
        if path.stat().st_size != self.size or digest_of(path) != self.digest:
            raise ParameterError(
                f"cluster: expected the same file {self.path} on every worker, got another one on "
                "one of them; copy the file again, or put it on shared storage."
            )
        return np.memmap(path, self.dtype, "r", self.offset, self.shape)


def digest_of(path: Path) -> str:
    """Return a digest of the size and of evenly spread blocks of a file.

    Of a file of more than 16 MB most bytes are not read: a change of single numbers between two
    blocks is not seen. It finds an old copy, a file cut short, and another table.
    """
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    if size <= _BLOCKS * _BLOCK_SIZE:
        starts = list(range(0, size, _BLOCK_SIZE))
    else:
        last = size - _BLOCK_SIZE
        starts = [last * block // (_BLOCKS - 1) for block in range(_BLOCKS)]
    with path.open("rb") as file:
        for start in starts:
            file.seek(start)
            digest.update(file.read(_BLOCK_SIZE))
    return digest.hexdigest()


def place_of(array: NDArray[Any]) -> MappedArray | None:
    """Return the place of an array that is mapped from a file; None for any other array.

    >>> place_of(np.zeros(3)) is None
    True
    """
    mapped: Any = array
    # A view of a memory map is a memory map, too, with the offset of the first one.
    while isinstance(getattr(mapped, "base", None), np.ndarray):
        mapped = mapped.base
    is_mapped = isinstance(mapped, np.memmap) and mapped.filename is not None
    if not is_mapped or not array.flags.c_contiguous:
        return None
    start = array.__array_interface__["data"][0] - mapped.__array_interface__["data"][0]
    path = Path(os.path.abspath(mapped.filename))
    if start < 0 or start + array.nbytes > mapped.nbytes or not path.exists():
        return None
    return MappedArray(
        str(path),
        array.dtype.str,
        array.shape,
        int(mapped.offset + start),
        path.stat().st_size,
        digest_of(path),
    )


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            place = place_of(value)
            if place is not None:
                return MappedArray.open, (place,)
        return super().reducer_override(value)


def dumps(value: Any) -> bytes:
    """Serialise like cloudpickle, but mapped arrays by their place."""
    buffer = io.BytesIO()
    _Pickler(buffer).dump(value)
    return buffer.getvalue()
