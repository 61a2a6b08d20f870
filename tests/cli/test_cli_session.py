"""Commands of `tombola session`."""

import json
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tombola import UCB1
from tombola.cli.session import app
from tombola.errors import ConflictError, FeedbackError, TableError, TombolaError
from tombola.worklists import SessionFile
from tombola.worklists.session_page import session_page


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    monkeypatch.chdir(tmp_path)
    # Sentences in one line.
    monkeypatch.setenv("COLUMNS", "400")
    (tmp_path / "ids.csv").write_text("id\n" + "".join(f"p{i}\n" for i in range(40)))

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(app, arguments)
        if done.exception is not None:
            raise done.exception
        return done.output

    return run


def start(session: Callable[..., str], *options: str, file: str = "r", actions: str = "a,b") -> str:
    """Start a session of UCB1 with seed 3; losses without another direction. Return the output."""
    fixed = ["--seed", "3", *([] if "--scores" in options else ["--losses"])]
    learner = [] if "--learner" in options else ["--learner", "UCB1"]
    return session(
        "start", "ids.csv", "--actions", actions, "--file", file, *fixed, *learner, *options
    )


@pytest.mark.parametrize(
    ("name", "text"), [("names.txt", "a b\nc\n"), ("table.csv", "id,a b,c\nx,0,1\ny,1,0\n")]
)
def test_actions_from_a_file(
    name: str, text: str, session: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    options = ("ids.csv", "--actions-from", name, "--scores", "--file", "r")
    assert "Actions: a b, c.\n" in session("start", *options)
    with pytest.raises(TombolaError, match=r"--actions-from: expected .* got --actions too"):
        session("start", *options, "--actions", "a,b")


def test_start_to_report(session: Callable[..., str], tmp_path: Path) -> None:
    assert "40 rows" in start(session)
    assert session("next", "r", "--count", "2").startswith("ticket 1: play a on p")
    (third,) = json.loads(session("next", "r", "--json"))
    assert third["ticket"] == 3
    assert session("record", "r", "3", "--loss", "0.75") == "1 recorded\n"
    (tmp_path / "o.csv").write_text(f"id,loss\n{third['id']},0.75\n")
    assert session("record", "r", "--csv", "o.csv") == "0 recorded, 1 recorded before\n"
    assert json.loads(session("record", "r", "1", "--loss", "0.5", "--json")) == {
        "recorded": 1,
        "already_recorded": 0,
        "done": False,
    }
    assert "the oldest is ticket 2 (b on p" in session("status", "r")
    now = json.loads(session("status", "r", "--json"))
    assert (now["loss"], [one["ticket"] for one in now["pending"]]) == (1.25, [2])
    assert session("status", "r", "--out", "page.html").endswith("Written: page.html\n")
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") == 2
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_start_draws_and_prints_seed(session: Callable[..., str]) -> None:
    first = json.loads(
        session("start", "ids.csv", "--actions", "a,b", "--losses", "--file", "r", "--json")
    )
    second = json.loads(
        session("start", "ids.csv", "--actions", "a,b", "--losses", "--file", "q", "--json")
    )
    assert first["seed"] != second["seed"]
    assert json.loads(session("status", "r", "--json"))["seed"] == first["seed"]


def test_record_full_feedback(session: Callable[..., str]) -> None:
    start(session, "--learner", "Hedge(rate=0.5)")
    session("next", "r", "--count", "3")
    assert session("record", "r", "2", "--loss", "0.5,1") == "1 recorded\n"
    with pytest.raises(FeedbackError, match="give the whole row"):
        session("record", "r", "1", "--loss", "0.5")


def test_amend_cancel_export(session: Callable[..., str], tmp_path: Path) -> None:
    start(session, actions='"call, then write",=wait')
    assert "play call, then write on" in session("next", "r", "--count", "3")
    session("record", "r", "1", "--loss", "0.5")
    assert (
        session("amend", "r", "1", "--loss", "0.25")
        == "ticket 1 amended; its loss was 0.5 before\n"
    )
    assert session("cancel", "r", "2") == "ticket 2 cancelled\n"
    assert "1 answered, 1 pending, 1 cancelled, 1 amended" in session("status", "r")
    assert session("export", "r", "--out", "r.csv") == "r.csv: 3 tickets\n"
    lines = (tmp_path / "r.csv").read_text().splitlines()
    assert lines[0] == "ticket,id,action,probability,loss,amended,cancelled"
    assert lines[1].split(",", 2)[2] == '"call, then write",1.0,0.25,True,False'
    assert lines[2].split(",", 2)[2] == "'=wait,1.0,,False,True", (
        "a spreadsheet must not take a name for a formula"
    )
    assert session("export", "r", "--out", "r.parquet") == "r.parquet: 3 tickets\n"
    table = import_module("pyarrow.parquet").read_table(tmp_path / "r.parquet").to_pydict()
    assert table["action"][:2] == ["call, then write", "=wait"]
    assert table["loss"] == [0.25, None, None]
    with pytest.raises(TableError, match=r"ends in \.csv or \.parquet"):
        session("export", "r", "--out", "r.xlsx")


def test_output_never_replaces_session_file(session: Callable[..., str], tmp_path: Path) -> None:
    start(session, file="r.csv")
    before = (tmp_path / "r.csv").read_bytes()
    for command in ("status", "export"):
        with pytest.raises(TombolaError):
            session(command, "r.csv", "--out", "r.csv")
    assert (tmp_path / "r.csv").read_bytes() == before


@pytest.mark.parametrize("out", ["e.csv", "e.parquet"])
def test_export_keeps_an_existing_table(
    out: str, session: Callable[..., str], tmp_path: Path
) -> None:
    """It may hold outcomes that are not recorded yet."""
    start(session)
    session("next", "r", "--count", "3")
    (tmp_path / out).write_text("ticket,outcome\n1,yes\n")
    with pytest.raises(TombolaError, match="which exists; name another file, or add --force"):
        session("export", "r", "--out", out)
    assert (tmp_path / out).read_text() == "ticket,outcome\n1,yes\n"
    assert session("export", "r", "--out", out, "--force") == f"{out}: 3 tickets\n"


def test_open_tickets_are_named_with_time_and_commands(
    session: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "ids.csv").write_text("id\nx\ny\nz\n")
    start(session)
    session("next", "r", "--count", "3")
    said = session("record", "r", "1", "--loss", "0.5")
    time = r"since \d{4}-\d\d-\d\d \d\d:\d\d"
    assert re.search(
        rf"\n2 tickets wait for an answer: ticket 2 \(. on ., {time}\), ticket 3 \(", said
    )
    assert "\n  tombola session record r 2 --loss VALUE\n  tombola session next r --again\n" in said
    assert re.search(rf"the oldest is ticket 2 \(. on ., {time}\)", session("status", "r"))


def test_short_session_loads_no_compiler(
    session: Callable[..., str], tmp_path: Path, run_python: Callable[..., Any]
) -> None:
    start(session)
    code = (
        "import sys; from tombola.cli.session import next_, record; from pathlib import Path; "
        "next_(Path('r'), 2); record(Path('r'), 1, '0.5'); print('numba' in sys.modules)"
    )
    done = run_python("-c", code, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "False", done.stdout + done.stderr
    with SessionFile.open(tmp_path / "r") as compiled, SessionFile.open(tmp_path / "r") as slow:
        slow.interpreted = True
        assert repr(compiled.state) == repr(slow.state)
        assert compiled.view().tickets == slow.view().tickets


def test_record_checks_id_and_action(
    session: Callable[..., str], tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    (tmp_path / "ids.csv").write_text("id\n=x\ny\n")
    start(session)
    first, second = json.loads(session("next", "r", "--count", "2", "--json"))
    for line in (f"1,{second['id']},", f"1,{first['id']},b"):
        (tmp_path / "o.csv").write_text(f"ticket,id,action,loss\n{line},0.5\n")
        with pytest.raises(TombolaError) as refused:
            session("record", "r", "--csv", "o.csv")
        one_sentence(refused.value)
    (tmp_path / "o.csv").write_text(
        f"ticket,id,action,loss\n1,{first['id']},{first['action']},0.5\n2,,,1\n"
    )
    assert session("record", "r", "--csv", "o.csv") == "2 recorded\n"
    session("export", "r", "--out", "all.csv")
    assert session("record", "r", "--csv", "all.csv") == "0 recorded, 2 recorded before\n"


def excel(path: Path, *rows: list[Any]) -> None:
    book = import_module("openpyxl").Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)


@pytest.mark.parametrize("name", ["list.xlsx", "list.csv"])
def test_daily_work_from_a_spreadsheet(
    name: str, session: Callable[..., str], tmp_path: Path
) -> None:
    """From an Excel list to recorded outcomes: own columns, yes and no, one blank outcome."""
    rows: list[list[Any]] = [
        ["Name", "Kunde_ID", "Ort"],
        *([f"Müller {i}", 100 + i, "Köln"] for i in range(9)),
    ]
    if name == "list.xlsx":
        excel(tmp_path / name, *rows)
    else:
        text = "\r\n".join(";".join(map(str, row)) for row in rows)
        (tmp_path / name).write_bytes(text.encode("cp1252"))
    started = session(
        "start", name, "--actions", "call,write", "--file", "r", "--seed", "3", "--scores"
    )
    assert "ids: column Kunde_ID" in started
    assert "tombola session next r --count 3 --out today.csv" in started
    said = session("next", "r", "--count", "4", "--out", "today.csv")
    assert said.splitlines()[-1] == "  tombola session record r --csv today.csv"
    content = (tmp_path / "today.csv").read_bytes()
    assert content.startswith("\ufeff".encode())
    mark = ";" if name == "list.csv" else ","
    lines = content.decode("utf-8-sig").splitlines()
    assert lines[0] == mark.join(["Name", "Kunde_ID", "Ort", "ticket", "action", "outcome"])
    assert len(lines) == 5
    filled = [line + word for line, word in zip(lines[1:], ("yes", "no", "", "1"), strict=True)]
    (tmp_path / "today.csv").write_bytes("\r\n".join([lines[0], *filled]).encode("cp1252"))
    assert session("record", "r", "--csv", "today.csv") == "3 recorded\n"
    assert session("record", "r", "--csv", "today.csv") == "0 recorded, 3 recorded before\n"
    now = json.loads(session("status", "r", "--json"))
    assert (now["score"], [one["ticket"] for one in now["pending"]]) == (2.0, [3])
    session("next", "r", "--again", "--out", "open.xlsx")
    book = import_module("openpyxl").load_workbook(tmp_path / "open.xlsx")
    assert [cell.value for cell in book.active[2]][3] == "3"
    assert book.active.max_row == 2


def test_session_without_direction(
    session: Callable[..., str], tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    """Started from Python: a single outcome has a direction, a table needs one."""
    SessionFile.start(tmp_path / "r", ["x", "y", "z"], ["a", "b"], UCB1(), seed=3).close()
    session("next", "r", "--count", "2")
    assert session("record", "r", "1", "--loss", "0.25") == "1 recorded\n"
    assert session("record", "r", "2", "--score", "0.75") == "1 recorded\n"
    session("next", "r", "--out", "t.csv")
    (tmp_path / "t.csv").write_text((tmp_path / "t.csv").read_text().rstrip("\n") + "yes\n")
    with pytest.raises(TombolaError) as refused:
        session("record", "r", "--csv", "t.csv")
    assert "add --scores, or --losses" in one_sentence(refused.value)
    assert session("record", "r", "--csv", "t.csv", "--losses").startswith("1 recorded\n")
    assert json.loads(session("status", "r", "--json"))["loss"] == 1.5


def test_changed_outcome_names_the_command_that_amends_it(
    session: Callable[..., str], run_main: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    start(session, "--scores", "--range", "0,10")
    session("next", "r", "--count", "2")
    (tmp_path / "o.csv").write_text("ticket,outcome\n1,2.5\n")
    session("record", "r", "--csv", "o.csv")
    (tmp_path / "o.csv").write_text("ticket,outcome\n1,7.5\n2,4\n")
    status, _, said = run_main("session", "record", "r", "--csv", "o.csv")
    assert status == 2
    command = said.strip().rpartition("amend it if it was wrong: ")[2].removesuffix(".")
    assert command == "tombola session amend r 1 --score 7.5"
    assert run_main(*command.split()[1:])[0] == 0
    assert session("record", "r", "--csv", "o.csv") == "1 recorded, 1 recorded before\n"


@pytest.mark.parametrize(
    ("table", "options"), [("ticket,loss\n1,1\n", []), ("ticket,outcome\n1,1\n", ["--losses"])]
)
def test_record_rejects_a_table_of_the_other_direction(
    table: str,
    options: list[str],
    session: Callable[..., str],
    tmp_path: Path,
    one_sentence: Callable[[object], str],
) -> None:
    start(session, "--scores")
    session("next", "r")
    (tmp_path / "o.csv").write_text(table)
    with pytest.raises(TombolaError, match="expected scores, because") as refused:
        session("record", "r", "--csv", "o.csv", *options)
    one_sentence(refused.value)


@pytest.mark.parametrize(
    ("kind", "wrong", "right"), [("scores", "loss", "score"), ("losses", "score", "loss")]
)
def test_record_and_amend_reject_the_other_option(
    session: Callable[..., str], kind: str, wrong: str, right: str
) -> None:
    start(session, f"--{kind}", "--range", "0,10")
    session("next", "r")
    fix = (
        f"expected a {right}, because this session has {kind}, got --{wrong} 7; write "
        f"--{right} 7 if"
    )
    with pytest.raises(FeedbackError, match=f"session record: {fix}"):
        session("record", "r", "1", f"--{wrong}", "7")
    session("record", "r", "1", f"--{right}", "7")
    with pytest.raises(FeedbackError, match=f"session amend: {fix}"):
        session("amend", "r", "1", f"--{wrong}", "7")


def test_record_in_the_unit_of_the_outcomes(session: Callable[..., str], tmp_path: Path) -> None:
    start(session, "--scores", "--range", "0,10")
    session("next", "r", "--count", "3")
    assert session("record", "r", "1", "--score", "7,5") == "1 recorded\n"
    (tmp_path / "o.csv").write_text('ticket,Umsatz\n2,"2,5"\n3,4\n')
    assert session("record", "r", "--csv", "o.csv", "--outcome", "Umsatz") == "2 recorded\n"
    now = json.loads(session("status", "r", "--json"))
    assert now["score"] == pytest.approx(7.5 + 2.5 + 4)
    assert "loss" not in " ".join(
        [*now["text"], now["statement"]["text"], session("status", "r")]
    ) + " ".join(now)
    assert (
        session("amend", "r", "1", "--score", "8") == "ticket 1 amended; its score was 7.5 before\n"
    )
    session("export", "r", "--out", "e.csv")
    lines = (tmp_path / "e.csv").read_text().splitlines()
    assert "loss" not in lines[0]
    assert [line.split(",")[4] for line in lines] == ["score", "8.0", "2.5", "4.0"]
    with pytest.raises(ConflictError, match=r"answered with score 2\.5, got score 3 now"):
        session("record", "r", "2", "--score", "3")
    with SessionFile.open(tmp_path / "r") as file:
        assert "loss" not in str(file._repr_html_()) + session_page(file)


def test_next_keeps_a_filled_list(session: Callable[..., str], tmp_path: Path) -> None:
    start(session)
    (tmp_path / "today.csv").write_text("outcomes of yesterday")
    for out in ("today.csv", "today.doc", "r"):
        with pytest.raises(TombolaError):
            session("next", "r", "--out", out)
    assert json.loads(session("status", "r", "--json"))["played"] == 0, "no ticket is issued"


def test_routed_session_by_features(session: Callable[..., str], tmp_path: Path) -> None:
    """`start --features`, the daily list with a column for every action, and the export of decisions."""
    rows = [f"r{i},{i % 2},{'red' if i % 3 else 'blue'}" for i in range(40)]
    (tmp_path / "list.csv").write_text("id,side,colour\n" + "\n".join(rows) + "\n")
    run = str(tmp_path / "x.run")
    shown = session(
        "start",
        str(tmp_path / "list.csv"),
        "--actions",
        "a,b",
        "--losses",
        "--features",
        "side,colour",
        "--file",
        run,
    )
    assert "features: side, colour" in shown
    assert "2 categories" in shown
    assert "Routed()" in shown
    for day in range(4):
        today = tmp_path / f"{day}.csv"
        session("next", run, "--count", "10", "--out", str(today))
        head, *lines = today.read_text("utf-8-sig").splitlines()
        assert head == "id,side,colour,ticket,action,a,b"
        filled = [
            line.rstrip(",") + (",1,0" if line.split(",")[1] == "1" else ",0,1") for line in lines
        ]
        today.write_text("\n".join([head, *filled]) + "\n")
        assert "10 recorded" in session("record", run, "--csv", str(today), "--losses")
    session("export", run, "--out", str(tmp_path / "all.csv"))
    assert "stake,router,safe,capital,loss:a,loss:b" in (tmp_path / "all.csv").read_text()
