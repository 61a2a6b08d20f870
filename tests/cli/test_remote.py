"""Commands with --url: the same output as on a file."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from race_cases import start_file
from service_cases import Server, start_session
from tombola import RaceFile, SessionFile
from tombola.cli.app import app
from tombola.errors import FeedbackError, ParameterError, TombolaError
from tombola.racing import RaceSettings
from tombola.service.tokens import TokenStore


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    folder = tmp_path_factory.mktemp("served")
    start_session(folder / "calls.run", phones=True)
    start_file(folder / "models.race").close()
    with Server(folder / "calls.run", folder / "models.race", "--tokens", folder / "t") as server:
        yield server, folder


def run(*arguments: object, token: str = "") -> str:
    ran = CliRunner().invoke(
        app, [str(argument) for argument in arguments], env={"TOMBOLA_TOKEN": token}
    )
    if ran.exception is not None and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    return ran.stdout


def test_session_next_and_record_over_http(served: tuple[Server, Path], tmp_path: Path) -> None:
    server, folder = served
    at = ("--url", server.url)
    (first,) = json.loads(run("session", "next", "calls", *at, "--json"))
    assert json.loads(
        run("session", "record", "calls", first["ticket"], "--score", "yes", *at, "--json")
    ) == {
        "recorded": 1,
        "already_recorded": 0,
        "done": False,
    }
    assert "amended" in run("session", "amend", "calls", first["ticket"], "--score", "no", *at)
    out = tmp_path / "today.csv"
    assert f"--url {server.url}" in run("session", "next", "calls", "--count", 3, "--out", out, *at)
    lines = out.read_text(encoding="utf-8-sig").splitlines()
    assert lines[0] == "id,phone,ticket,action,outcome"
    assert lines[1].split(",")[1] == f"+{lines[1].split(',')[0].split()[1]}"
    out.write_text("\n".join([lines[0], *(f"{line}yes" for line in lines[1:3])]), encoding="utf-8")
    assert run("session", "record", "calls", "--csv", out, "--scores", *at).startswith("2 recorded")
    assert "was cancelled before" not in run("session", "cancel", "calls", 4, *at)
    with SessionFile.open(folder / "calls.run") as file:
        assert file.view().outcomes == [1.0, 0.0, 0.0, None]
    out.write_text("id,score\nrow 1,1\n", encoding="utf-8")
    with pytest.raises(FeedbackError, match="column ticket with --url"):
        run("session", "record", "calls", "--csv", out, *at)
    with pytest.raises(ParameterError, match="name of a list"):
        run("session", "next", "other", *at)


def test_race_next_and_record_over_http(served: tuple[Server, Path], tmp_path: Path) -> None:
    server, folder = served
    at = ("--url", server.url)
    calls = json.loads(run("race", "next", "models", *at, "--json"))
    assert json.loads(
        run("race", "record", "models", calls[0]["ticket"], "--loss", "0.5", *at, "--json")
    )["recorded"]
    again = json.loads(run("race", "next", "models", "--again", "--count", 1, *at, "--json"))
    assert again == calls[1:2]
    taken = json.loads(
        run("race", "next", "models", "--count", 1, "--reissue-after", 0, *at, "--json")
    )
    assert taken[0] | {"since": 0} == again[0] | {"since": 0}
    table = tmp_path / "answers.csv"
    out = tmp_path / "calls.csv"
    printed = run("race", "next", "models", "--again", "--count", 1, *at, "--out", out)
    expected = [
        "row,ticket,candidate,outcome",
        f"{again[0]['id']},{again[0]['ticket']},{again[0]['action']},",
    ]
    assert out.read_text(encoding="utf-8-sig").splitlines() == expected
    assert f"tombola race record models --csv {out} --url" in printed
    table.write_text(
        f"candidate,row,loss\n{calls[1]['action']},{calls[1]['id']},0.25\n", encoding="utf-8"
    )
    assert run("race", "record", "models", "--csv", table, *at).startswith("1 recorded; row")
    with RaceFile.open(folder / "models.race") as file:
        assert [event.loss for event in file.replay() if event.kind == "answer"] == [0.5, 0.25]


def test_status_over_http_equals_status_of_the_file(served: tuple[Server, Path]) -> None:
    """But for the name, the address in the commands, and lines that need the whole race."""
    server, folder = served
    for kind, name, file in (("session", "calls", "calls.run"), ("race", "models", "models.race")):
        run(kind, "next", name, "--url", server.url)
        there = (
            run(kind, "status", name, "--url", server.url)
            .replace(f" --url {server.url}", "")
            .splitlines()
        )
        here = run(kind, "status", folder / file).replace(str(folder / file), name).splitlines()
        if kind == "session":
            assert there == here
        else:
            table = [
                line
                for line in here
                if any(one in line for one in ("mean loss", "low", "middle", "high"))
            ]
            assert set(table) <= set(there)
            assert " ".join(there).count("lower is better") == 1
        assert json.loads(run(kind, "status", name, "--url", server.url, "--json"))["pending"]


@pytest.mark.parametrize(
    ("kind", "name", "file"),
    [("session", "calls", "runs/calls.run"), ("race", "models", "models.race")],
)
def test_unknown_name_is_answered_with_the_known_ones(
    served: tuple[Server, Path], kind: str, name: str, file: str
) -> None:
    server, _ = served
    for given, fix in ((file, name), (name.upper(), name), ("zzz", "one of those")):
        with pytest.raises(TombolaError) as refused:
            run(kind, "status", given, "--url", server.url)
        assert f"expected the name of a list (calls, models), got {given!r}; write {fix}." in str(
            refused.value
        )


def test_token_comes_from_the_environment(tmp_path: Path) -> None:
    path = start_session(tmp_path / "calls.run")
    token = TokenStore(tmp_path / "t").add("Ann", "admin")
    with Server(path, "--tokens", tmp_path / "t") as server:
        assert "ticket 1" in run("session", "next", "calls", "--url", server.url, token=token)
        with SessionFile.open(path) as file:
            assert file.leases[0].worker == "Ann"


@pytest.mark.parametrize("max_call_cost", [0.5, None])
def test_record_uses_range_and_cost_of_the_race(
    tmp_path: Path, max_call_cost: float | None
) -> None:
    """Over HTTP and on the file: scores in the range of the race; an answer without a cost under a cap."""
    path, table = tmp_path / "r.race", tmp_path / "answers.csv"
    settings = RaceSettings(
        ("a", "b"),
        seed=1,
        kind="scores",
        range=(0.0, 10.0),
        max_cost=9.0,
        max_call_cost=max_call_cost,
    )
    RaceFile.start(path, settings, [str(row) for row in range(20)]).close()
    table.write_text("ticket,score\n2,10\n", encoding="utf-8")
    commands = (("record", "r", 1, "--score", 7), ("record", "r", "--csv", table))
    with Server(path) as server:
        run("race", "next", "r", "--count", 4, "--url", server.url)
        for command in commands:
            if max_call_cost is None:
                with pytest.raises(TombolaError, match="because the race has --max-cost"):
                    run("race", *command, "--url", server.url)
            else:
                run("race", *command, "--url", server.url)
        if max_call_cost is None:
            return
        run("race", "record", "r", 3, "--score", 5, "--cost", 2, "--url", server.url)
    run("race", "record", path, 4, "--failed")
    with RaceFile.open(path) as file:
        found = {
            event.ticket: (event.loss, event.cost)
            for event in file.replay()
            if event.kind == "answer"
        }
        assert found == {1: (pytest.approx(0.3), 0.5), 2: (0.0, 0.5), 3: (0.5, 2.0), 4: (None, 0.0)}
