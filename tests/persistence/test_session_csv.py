"""Tables of row ids and outcomes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tombola.errors import TableError
from tombola.persistence import Outcome
from tombola.persistence.session_csv import read_ids, read_outcomes


def test_read_ids(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    def ids(name: str, content: bytes | str, column: str | None = None) -> list[str]:
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return read_ids(tmp_path / name, column)

    assert ids("a.csv", "x,id\n1, p \n2,q\n\n") == ["p", "q"]
    assert ids("a.csv", 'name,age\n"Ann, B",3\n', "name") == ["Ann, B"]
    assert ids("a.tsv", "id\tx\np,q\t1\n") == ["p,q"]
    assert ids("a.txt", '\ufeffid\nsay "x\nq\n') == ['say "x', "q"]
    assert ids("a.txt", "p\n\n q \n \n") == ["p", "q"], "blank lines are no rows"
    bad: list[tuple[str, bytes | str]] = [
        ("b.csv", ""), ("b.csv", "id\n"), ("b.csv", "1\n2\n"), ("b.csv", "id,x\n1\n"), ("b.csv", "id,x\n,1\n"),
        ("b.csv", "id,row\n1,2\n"), ("b.csv", b"\x89PNG\r\n\xff\0"), ("b.csv", "id\n" + "x" * (1 << 21)),
        ("b.csv", "id\n\0\n"), ("b.txt", "\n"),
    ]  # fmt: skip
    for name, content in bad:
        with pytest.raises(TableError) as refused:
            ids(name, content)
        one_sentence(refused.value)
    with pytest.raises(TableError, match="call it") as refused:  # its header was taken for a row
        ids("b.txt", "id,x\n1,2\n", "id")
    one_sentence(refused.value)


def test_read_outcomes(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    def outcomes(content: str, feedback: str = "bandit", *, rewards: bool = False) -> list[Outcome]:
        (tmp_path / "o.csv").write_text(content)
        actions = ("a", "b") if feedback == "full" else None
        return read_outcomes(tmp_path / "o.csv", actions, {"x": 3, "y": 1}.__getitem__, rewards=rewards)

    assert outcomes("ticket,loss\n2,0.5\n9,\n1,1\n") == [Outcome(2, "0.5"), Outcome(1, "1")]
    assert outcomes("reward,id\n0.5,x\n0.25,y\n") == [Outcome(3, None, "0.5"), Outcome(1, None, "0.25")]
    assert outcomes("id,b,a\nx,0,1\ny,,\n", "full") == [Outcome(3, ["1", "0"])]
    assert outcomes("id,b,a\nx,0,1\n", "full", rewards=True) == [Outcome(3, None, ["1", "0"])]
    for bad in ("ticket\n1\n", "loss\n1\n", "ticket,loss\nx,1\n", "ticket,loss,reward\n1,1,0\n", "ticket,loss\n-1,1\n"):
        with pytest.raises(TableError) as refused:
            outcomes(bad)
        one_sentence(refused.value)
