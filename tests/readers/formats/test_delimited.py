"""Text tables."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tombola.errors import TombolaError
from tombola.pool import Pool
from tombola.readers import read_pool as read_any_pool
from tombola.readers import read_table

Write = Callable[..., Path]
read_pool = partial(read_any_pool, kind="losses")
PLAIN = ([[0.0, 1.0], [0.5, 0.25]], ("a", "b"), None)
NAMED = ([[0.0, 1.0], [0.5, 0.25]], ("a", "b"), ("x", "y"))


def contents(pool: Pool) -> tuple[Any, Any, Any]:
    return pool.losses.tolist(), pool.actions, pool.ids


def test_chunks_of_long_rows_are_short() -> None:
    from tombola.readers.formats import delimited

    rows = iter([(number, ["x" * 1000] * 1000) for number in range(40)])
    assert len(list(delimited._next_chunk(rows, 1000))) == 1 + delimited._CHUNK_CHARACTERS // 1_008_000
    assert len(list(delimited._next_chunk(iter([(0, ["0"])] * 5000), 1))) == delimited._CHUNK_ROWS


def test_blank_lines_give_one_note(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n0,1\n" + " ,\n" * 10_000)
    notes = read_table(tmp_path / "t.csv", kind="losses").notes
    assert [note for note in notes if "left out" in note] == ["left out 10,000 blank lines"]


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
def test_text_table(content: str, name: str, expected: Any, write: Write) -> None:
    assert contents(read_pool(write(content, name))) == expected


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "got 0 lines"),
        ("\n\n", "got 0 lines"),
        ("a,b\n", "got 1 line;"),
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
def test_bad_text_is_rejected(
    content: str | bytes, says: str, write: Write, one_sentence: Callable[[object], str]
) -> None:
    with pytest.raises(TombolaError) as caught:
        read_pool(write(content))
    assert says in one_sentence(caught.value)
