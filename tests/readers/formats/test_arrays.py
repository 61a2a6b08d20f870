"""Readers: tables in files become pools, and what is none is refused in one sentence."""

import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola.errors import TableError, TombolaError
from tombola.pool import Pool
from tombola.readers import read_pool as read_any_pool
from tombola.readers import read_table

Write = Callable[..., Path]
read_pool = partial(read_any_pool, kind="losses")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: str | bytes, name: str = "t.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def contents(pool: Pool) -> tuple[Any, Any, Any]:
    return pool.losses.tolist(), pool.actions, pool.ids


PLAIN = ([[0.0, 1.0], [0.5, 0.25]], ("a", "b"), None)
NAMED = ([[0.0, 1.0], [0.5, 0.25]], ("a", "b"), ("x", "y"))


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        ("a,b\n0,1\n0.5,0.25\n", "t.csv", PLAIN),
        ("a,b\r\n0,1\r\n0.5,0.25\r\n", "t.csv", PLAIN),
        ("a,b\n0,1\n0.5,0.25", "t.csv", PLAIN),
        ("a,b\n\n0,1\n\n0.5,0.25\n\n", "t.csv", PLAIN),
        (" a , b \n 0, 1\n.5,2.5e-1\n", "t.csv", PLAIN),
        ('"a","b"\n"0","1"\n"0.5","0.25"\n', "t.csv", PLAIN),
        ("a\tb\n0\t1\n0.5\t0.25\n", "t.tsv", PLAIN),
        ("name,a,b\nx,0,1\ny,0.5,0.25\n", "t.csv", NAMED),
        ("id,a,b\nx,0,1\ny,0.5,0.25\n", "t.csv", NAMED),
        ("\ufeffid,a,b\nx,0,1\ny,0.5,0.25\n", "t.csv", NAMED),
        ("\ufeffa,b\n0,1\n0.5,0.25\n", "t.csv", PLAIN),
        ("ID,a,b\n1,0,1\n2,0.5,0.25\n", "t.csv", (PLAIN[0], ("a", "b"), ("1", "2"))),
    ],
)
def test_text_tables_are_read(content: str, name: str, expected: Any, write: Write) -> None:
    assert contents(read_pool(write(content, name))) == expected


@pytest.mark.parametrize("name", ["loss", "losses"])
def test_archives_are_read(name: str, tmp_path: Path) -> None:
    losses: Any = np.array([[0.0, 1.0], [0.5, 0.25]], dtype=np.float32)
    np.savez(tmp_path / "plain.npz", **{name: losses})
    np.savez_compressed(tmp_path / "named.npz", **{name: losses}, actions=np.array(["a", "b"]), ids=np.array([7, 8]))
    assert contents(read_pool(tmp_path / "plain.npz")) == (losses.tolist(), ("0", "1"), None)
    assert contents(read_pool(str(tmp_path / "named.npz"))) == (losses.tolist(), ("a", "b"), ("7", "8"))
    assert read_pool(tmp_path / "plain.npz").losses.dtype == np.float32


def test_rescaling_maps_the_smallest_to_0_and_the_largest_to_1(write: Write) -> None:
    path = write("a,b\n-10,30\n10,0\n")
    assert read_pool(path, rescale=True).losses.tolist() == [[0.0, 1.0], [0.5, 0.25]]
    with pytest.raises(TableError, match="got numbers from -10 to 30; write the smallest"):
        read_pool(path)
    assert read_pool(write("a,b\n7,7\n7,7\n"), rescale=True).losses.tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "got 0 lines"),
        ("\n\n", "got 0 lines"),
        ("a,b\n", "got 1 lines"),
        ("a,b\n0,1\n0\n", "got 1 in line 3"),
        ("a,b\n\n0,1\n\n0,1,1\n", "got 3 in line 5"),
        ("a,b\n0,good\n", "line 2, column 'b', got 'good'"),
        ("a,b\n0,1\n\n0,good\n", "line 4, column 'b', got 'good'"),
        ("a,b\n0,1\nbad,1\n", "line 3, column 'a', got 'bad'"),
        ("a,b\n0,1\n,1\n", "line 3, column 'a', got ''"),
        ("a,b\n0,nan\n", "got 'nan'"),
        ("a,b\n0,inf\n", "got 'inf'"),
        ("a,b\n0,\n", "got ''"),
        ("a,a\n0,1\n", "'a' twice"),
        ("id,a,b\nx,0,1\nx,1,0\n", "'x' twice"),
        ("only\n0.5\n", "at least two actions, got 1"),
        ("a,b\n0,1.5\n", "from 0 to 1.5"),
        (b"\xff\xfe\x00\xd8\x00\x01", "expected a text table"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "expected a text table"),
        ("a,b\n" + "9" * 200_000 + ",1\n", "expected a text table"),
    ],
)
def test_what_is_not_a_table_is_refused(
    content: str | bytes, says: str, write: Write, one_sentence: Callable[[object], str]
) -> None:
    with pytest.raises(TombolaError) as caught:
        read_pool(write(content))
    assert says in one_sentence(caught.value)


@pytest.mark.parametrize("name", ["t.docx", "t.zip", "t.pdf"])
def test_another_ending_is_refused(name: str, write: Write, one_sentence: Callable[[object], str]) -> None:
    with pytest.raises(TableError, match="ends in") as caught:
        read_pool(write(b"PK\x03\x04\0\0", name))
    one_sentence(caught.value)


def test_no_file_and_a_folder_are_refused(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    (tmp_path / "folder.csv").mkdir()
    for name in ("nowhere.csv", "folder.csv"):
        with pytest.raises(TableError, match="found") as caught:
            read_pool(tmp_path / name)
        one_sentence(caught.value)


BAD_ARCHIVES: dict[str, Callable[[Path], object]] = {
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
    "too few actions": lambda path: np.savez(path, losses=np.zeros((2, 2)), actions=np.array(["a"])),
    "one action as a number": lambda path: np.savez(path, losses=np.zeros((2, 2)), actions=np.array("a")),
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(b"garbage"),
    "a broken zip": lambda path: path.write_bytes(b"PK\x03\x04 and no more"),
    "a single array": lambda path: np.save(path.open("wb"), np.zeros((2, 2))),
    "a zip of text": lambda path: zipfile.ZipFile(path, "w").writestr("losses.txt", "0,1"),
}


@pytest.mark.parametrize("what", BAD_ARCHIVES)
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_what_is_not_an_archive_is_refused(what: str, tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    path = tmp_path / "t.npz"
    BAD_ARCHIVES[what](path)
    with pytest.raises(TombolaError) as caught:
        read_pool(path)
    one_sentence(caught.value)


def test_an_archive_cut_short_or_changed_is_refused(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    np.savez_compressed(tmp_path / "t.npz", losses=np.random.default_rng(0).random((50, 3)))
    content = (tmp_path / "t.npz").read_bytes()
    broken = [content[:length] for length in range(0, len(content), 97)]
    broken += [content[:at] + bytes(40) + content[at + 40 :] for at in (100, 300, 600)]
    for one in broken:
        (tmp_path / "t.npz").write_bytes(one)
        with pytest.raises(TombolaError) as caught:
            read_pool(tmp_path / "t.npz")
        one_sentence(caught.value)


def test_a_header_of_numpy_that_does_not_end_is_a_sentence(
    tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), (".ljust(118) + b"\n"
    (tmp_path / "t.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(32))
    with pytest.raises(TableError) as caught:
        read_table(tmp_path / "t.npy")
    one_sentence(caught.value)
