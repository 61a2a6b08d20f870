"""NumPy arrays and archives: damaged and invalid ones are rejected."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola.tables import read_pool

Refused = Callable[..., str]
LOSSES = [[0.5, 1.0], [0.0, 0.25], [0.25, 0.75]]
BAD_NPZ: dict[str, Callable[[Path], object]] = {
    "another name": lambda path: np.savez(path, surprise=np.zeros((2, 2))),
    "nothing in it": lambda path: np.savez(path),
    "pickled objects": lambda path: np.savez(path, losses=np.array([[{}, 1]], dtype=object)),
    "text": lambda path: np.savez(path, losses=np.array([["a", "b"]])),
    "no rows": lambda path: np.savez(path, losses=np.zeros((0, 3))),
    "one dimension": lambda path: np.savez(path, losses=np.zeros(3)),
    "three dimensions": lambda path: np.savez(path, losses=np.zeros((2, 2, 2))),
    "complex": lambda path: np.savez(path, losses=np.zeros((2, 2), dtype=complex)),
    "NaN": lambda path: np.savez(path, losses=np.array([[np.nan]])),
    "above 1": lambda path: np.savez(path, losses=np.array([[1.5]])),
    "too few actions": lambda path: np.savez(
        path, losses=np.zeros((2, 2)), actions=np.array(["a"])
    ),
    "one action as a number": lambda path: np.savez(
        path, losses=np.zeros((2, 2)), actions=np.array("a")
    ),
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(b"garbage"),
    "a broken zip": lambda path: path.write_bytes(b"PK\x03\x04 and no more"),
    "a single array": lambda path: np.save(path.open("wb"), np.zeros((2, 2))),
    "a zip of text": lambda path: zipfile.ZipFile(path, "w").writestr("losses.txt", "0,1"),
}


def members(path: Path, *found: tuple[str, Any]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in found:
            packed = io.BytesIO()
            np.save(packed, array)
            archive.writestr(name, packed.getvalue())
    return path


@pytest.mark.parametrize("shape", [(2, 2), (1, 2), (2, 1)])
def test_npy_with_another_size_is_rejected(
    shape: tuple[int, int], tmp_path: Path, refused: Refused
) -> None:
    """A header that claims fewer rows than there are would drop the others in silence."""
    np.save(tmp_path / "t.npy", LOSSES)
    content = (tmp_path / "t.npy").read_bytes()
    (tmp_path / "t.npy").write_bytes(content.replace(b"(3, 2)", str(shape).encode()))
    assert "bytes more" in refused(tmp_path / "t.npy")


def test_npz_with_duplicate_members_is_rejected(tmp_path: Path, refused: Refused) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = members(
            tmp_path / "twice.npz", ("losses.npy", LOSSES), ("losses.npy", [[0.0, 0.0]])
        )
    assert "something else" in refused(twice)
    path = members(tmp_path / "t.npz", ("losses.npy", LOSSES), ("actions.npy", ["a", "b"]))
    content = bytearray(path.read_bytes())
    content[content.rindex(b"actions")] += 1  # the list at the end says bctions
    path.write_bytes(content)
    assert "something else" in refused(path)


def test_npz_whose_directory_hides_members_is_rejected(tmp_path: Path, refused: Refused) -> None:
    """A damaged length swallows the entries after it; costs must not vanish in silence."""
    path = tmp_path / "t.npz"
    np.savez(path, losses=np.array(LOSSES), costs=np.ones((3, 2)))
    content = bytearray(path.read_bytes())
    first = content.index(b"PK\x01\x02")
    second = content.index(b"PK\x01\x02", first + 1)
    # The comment of the first entry is as long as the second entry.
    size = content.index(b"PK\x05\x06") - second
    content[first + 32 : first + 34] = size.to_bytes(2, "little")
    path.write_bytes(content)
    with np.load(path) as archive:
        assert archive.files == ["losses"]
    assert "NumPy archive" in refused(path)


def test_npz_with_invalid_code_points_is_rejected(tmp_path: Path, refused: Refused) -> None:
    wrong = np.array(["a", "b"])
    wrong.view(np.uint32)[1] = 0x7FFFFFFF
    for name in ("actions.npy", "ids.npy"):
        path = members(tmp_path / "t.npz", ("losses.npy", LOSSES[:2]), (name, wrong))
        assert "invalid code points" in refused(path)


@pytest.mark.parametrize("name", ["loss", "losses"])
def test_npz_archive(name: str, tmp_path: Path) -> None:
    losses: Any = np.array([[0.0, 1.0], [0.5, 0.25]], dtype=np.float32)
    labels: dict[str, Any] = {"actions": np.array(["a", "b"]), "ids": np.array([7, 8])}
    for more, expected in (({}, (("0", "1"), None)), (labels, (("a", "b"), ("7", "8")))):
        np.savez_compressed(tmp_path / "t.npz", **{name: losses}, **more)
        pool = read_pool(str(tmp_path / "t.npz"), kind="losses")
        assert (pool.losses.tolist(), str(pool.losses.dtype)) == (losses.tolist(), "float32")
        assert (pool.actions, pool.ids) == expected


OPEN_HEADER = b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), (".ljust(118) + b"\n"
BAD_NPY: dict[str, Callable[[Path], object]] = {
    "objects": lambda path: np.save(path, np.array([[{}]], dtype=object)),
    "text": lambda path: np.save(path, np.array([["a"]])),
    "one dimension": lambda path: np.save(path, np.zeros(4)),
    "empty": lambda path: path.write_bytes(b""),
    "noise": lambda path: path.write_bytes(bytes(range(256))),
    "an archive": lambda path: np.savez(path.open("wb"), losses=np.zeros((2, 2))),
    "no end of the header": lambda path: path.write_bytes(
        b"\x93NUMPY\x01\x00\x77\x00" + OPEN_HEADER + bytes(32)
    ),
}


@pytest.mark.parametrize(
    ("name", "what"), [*(("t.npy", one) for one in BAD_NPY), *(("t.npz", one) for one in BAD_NPZ)]
)
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_bad_file_is_rejected(name: str, what: str, tmp_path: Path, refused: Refused) -> None:
    (BAD_NPY if name == "t.npy" else BAD_NPZ)[what](tmp_path / name)
    refused(tmp_path / name)


def test_damaged_npz_is_rejected(tmp_path: Path, refused: Refused) -> None:
    np.savez_compressed(tmp_path / "t.npz", losses=np.random.default_rng(0).random((50, 3)))
    content = (tmp_path / "t.npz").read_bytes()
    broken = [content[:length] for length in range(0, len(content), 97)]
    broken += [content[:at] + bytes(40) + content[at + 40 :] for at in (100, 300, 600)]
    for one in broken:
        (tmp_path / "t.npz").write_bytes(one)
        refused(tmp_path / "t.npz")
