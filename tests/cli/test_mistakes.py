"""Ordinary mistakes on the command line: each gives one sentence with a fix, exit status 2, and no traceback."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import Main

FILES = {
    "table.csv": "id,a,b\nx,0,1\ny,1,0\n",
    "list.csv": "id,town\nx,Rome\ny,Bonn\nz,Oslo\n",
    "twice.csv": "id,town\nx,Rome\nx,Bonn\n",
    "noid.csv": "town,age\nRome,3\n",
    "blank.csv": "id,town\nx,Rome\n,Bonn\n",
    "empty.csv": "",
    "large.csv": "id,a_loss,b_loss\nx,0,7\n",
    "hole.csv": "id,a_loss,b_loss\nx,0,\ny,0,1\n",
    "one.csv": "id,a_loss\nx,0\n",
    "fake.xlsx": "not a workbook",
    "notes.docx": "PK\x03\x04 word/document.xml",
    "half.csv": "ticket,loss\n1.5,1\n",
    "bare.csv": "ticket,result\n1,1\n",
}
# The wrong command, and a part of the sentence that it must print.
MISTAKES = {
    "describe missing.csv": "missing.csv",
    "describe .": "a folder",
    "describe empty.csv": "got 0 lines",
    "describe fake.xlsx": "Excel",
    "describe notes.docx": "ends in",
    "compare table.csv --scores --losses": "leave one of them out",
    "compare table.csv --losses --range 10,0": "--range 0,10",
    "compare large.csv": "--range",
    "compare one.csv": "two actions",
    "compare table.csv --losses --learners UCB9": "UCB9",
    "compare table.csv --losses --candidates 'c*'": "c*",
    "compare table.csv --losses --out page.pdf": ".html",
    "race plan table.csv --losses --level 5": "--level 0.05",
    "race plan table.csv --losses --level x": "--level 0.05",
    "race plan table.csv --losses --top 3": "top",
    "race plan table.csv --losses --ignore 'a\nb'": "on one line",
    "race plan table.csv --losses --within 3": "--within",
    "race plan table.csv --losses --baseline z": "baseline",
    "race plan table.csv --losses --baseline a": "--better if the new version must be better",
    "race start list.csv --losses --candidates a,a --file new.race": "different names",
    "race start list.csv --losses --candidates a --file new.race": "candidates",
    "race start noid.csv --losses --candidates a,b --file new.race": "--id",
    "race run missing.race": "found no missing.race; check the path",
    "race run missing.race --losses": "found no missing.race; check the path",
    "race run list.csv --losses": "--candidate 'name=COMMAND {row}'",
    "race status missing.race": "check the path",
    "race status calls.run": "tombola session",
    "session start missing.csv --actions a,b --losses --file new.run": "missing.csv",
    "session start list.csv --actions a,b --losses --file calls.run": "take another name",
    "session start list.csv --actions a,b --file new.run": "--scores if higher is better",
    "session start list.csv --actions 'a b' --losses --file new.run": "--actions a,b",
    "session start list.csv --actions a,a --losses --file new.run": "rename them",
    "session start list.csv --actions a,b --losses --learner UCB9 --file new.run": "UCB9",
    "session start list.csv --actions a,b --losses --id phone --file new.run": "--id",
    "session start twice.csv --actions a,b --losses --file new.run": "lines 2 and 3",
    "session start noid.csv --actions a,b --losses --file new.run": "--id",
    "session start blank.csv --actions a,b --losses --file new.run": "line 3",
    "session start list.csv --actions a,b --losses --scores --file new.run": "leave one of them out",
    "session next table.csv": "not a file of tombola",
    "session next calls.run --out today.doc": "--out today.csv",
    "session next calls.run --out list.csv": "nothing is overwritten",
    "session record calls.run 1": "--score 0.75",
    "session record calls.run 1 --loss 0.5 --score 0.5": "got both",
    "session record calls.run 1 --loss 75": "--range",
    "session record calls.run 1 --loss x": "'x'",
    "session record calls.run 1 --loss 0.5 --csv half.csv": "either a ticket",
    "session record calls.run 1 --loss 0.5 --scores": "either a ticket",
    "session record calls.run": "either a ticket",
    "session record calls.run --csv missing.csv": "missing.csv",
    "session record calls.run 3 --loss 1": "issued",
    "session record calls.run --csv half.csv": "half.csv, line 2",
    "session record calls.run --csv bare.csv": "--outcome 'result'",
    "session cancel calls.run 3": "issued",
    "session status calls.run --out page.txt": ".html",
}


@pytest.fixture
def tombola(run_main: Main, tmp_path: Path) -> Callable[[str], tuple[int, str, str]]:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    return lambda command: run_main(*shlex.split(command))


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("command", MISTAKES)
def test_mistake_gives_one_sentence_with_a_fix(
    command: str,
    tombola: Callable[[str], tuple[int, str, str]],
    one_sentence: Callable[[object], str],
) -> None:
    assert (
        tombola(
            "session start list.csv --actions a,b --losses --learner UCB1 --seed 1 --file calls.run"
        )[0]
        == 0
    )
    assert tombola("session next calls.run --count 2")[0] == 0
    status, out, said = tombola(command)
    assert status == 2
    assert "Traceback" not in out + said
    assert MISTAKES[command] in one_sentence(said.removesuffix("\n"))


def test_direction_is_asked_with_both_commands(
    tombola: Callable[[str], tuple[int, str, str]],
) -> None:
    status, _, said = tombola("compare table.csv")
    assert status == 2
    commands = [line.strip() for line in said.splitlines() if line.startswith("  ")]
    assert commands == [f"tombola compare table.csv --{kind}" for kind in ("scores", "losses")]


ONE_ROW = [
    "describe one_row.csv",
    "compare one_row.csv --repetitions 1 --learners UCB1,Uniform",
    "race plan one_row.csv",
    "race start id.csv --losses --candidates a,b --seed 1 --file one.race",
    "race next one.race --count 1",
    "race status one.race",
    "session start id.csv --actions a,b --losses --learner UCB1 --losses --seed 1 --file one.run",
    "session next one.run --out day.csv",
    "session status one.run",
    "session record one.run 1 --loss 1",
    "session status one.run",
    "session status one.run --out one.html",
    "session export one.run --out all.csv",
    "audit one_row.csv --best",
    "audit one_row.csv 'mean(a_loss) < 0.5'",
    "audit one_row.csv --order",
]


@pytest.mark.usefixtures("plainly")
def test_one_is_singular(
    tombola: Callable[[str], tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists of one row through the commands: no output has a plural after 1."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "one_row.csv").write_text("id,a_loss,b_loss\nx,0,1\n")
    (tmp_path / "id.csv").write_text("id\nx\n")
    said = ""
    for command in ONE_ROW:
        status, out, error = tombola(command)
        assert status in (0, 3), (command, error)
        said += out
    said += (tmp_path / "one.html").read_text(encoding="utf-8")
    assert re.findall(r"(?<![\d.,])1 [a-z]+s\b(?<!is)(?<!was)(?<!has)(?<!less)", said) == []
