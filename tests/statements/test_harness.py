"""The quick part of the harness; `run_harness.py` is the nightly one."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from statements.harness import (
    CIRCUMSTANCES,
    HARD,
    NAMES,
    QUESTIONS,
    TABLES,
    deal_orders,
    enumerate_orders,
    enumerate_samples,
    scenarios,
)
from statements.parsing import parse
from tombola import RaceFile
from tombola.cli.app import app
from tombola.racing import Event, RaceSettings
from tombola.racing.report import RaceReport

pytestmark = pytest.mark.usefixtures("plainly")


@pytest.mark.parametrize(("question", "name"), scenarios())
def test_sentences_of_all_scenarios(question: str, name: str) -> None:
    """24 orders of the table on which leaders change last; all sentences parse, none is false for certain."""
    if CIRCUMSTANCES[name].sample:
        count = enumerate_samples(question, np.array([[0, 1, 1], [1, 0, 1]], float), 4, 0.4)
    else:
        limit = 3 if CIRCUMSTANCES[name].slow else 12
        count = enumerate_orders(question, name, TABLES["late turn"], 0.4, limit=limit)
    assert count.sentences > 0
    assert count.wrong_certain == 0, count.examples


@pytest.mark.parametrize("name", ["plain", "arrivals by outcome", "failures", "cap on calls"])
def test_orders_dealt_as_asked_are_all_orders(name: str) -> None:
    """One race for all orders that agree on its rows: the same errors as order by order."""
    hard = HARD["best"][2]
    dealt = deal_orders("best", name, hard.table, hard.level)
    one_by_one = enumerate_orders("best", name, hard.table, hard.level)
    assert (dealt.races, dealt.wrong) == (one_by_one.races, one_by_one.wrong)
    assert dealt.played < one_by_one.played == one_by_one.races == 84
    assert dealt.decided == one_by_one.decided


# The questions of one or two hypotheses: on few rows a union over more errs far below the level.
@pytest.mark.parametrize("question", ["best", "within", "top", "gate", "gate margin", "ranks"])
def test_level_wrong_by_half_is_seen(question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All orders of a list on which errors are likely: the words are false too often, exactly."""
    hard = HARD[question][0]
    level = hard.level / 1.5
    right = deal_orders(question, "plain", hard.table, level)
    assert right.wrong <= level * right.races
    plain = RaceSettings._rule_of
    monkeypatch.setattr(
        RaceSettings,
        "_rule_of",
        lambda settings, rows, size, _, *more: plain(settings, rows, size, hard.level, *more),
    )
    faulty = deal_orders(question, "plain", hard.table, level)
    assert faulty.wrong > level * faulty.races


@pytest.mark.full
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("question", QUESTIONS)
def test_error_over_all_orders_is_below_the_level(question: str, table: str) -> None:
    for level in (0.2, 0.5):
        count = enumerate_orders(question, "plain", TABLES[table], level)
        assert count.wrong <= level * count.races, count.examples
        assert count.wrong_certain == 0


@pytest.mark.parametrize("question", QUESTIONS)
def test_terminal_json_exit_status_and_page_agree(question: str, tmp_path: Path) -> None:
    """One race file: the command prints the statement, its status is that of the verdict."""
    path = tmp_path / "r.race"
    settings = RaceSettings(tuple("abc"), seed=3, level=0.3, **QUESTIONS[question])
    table = TABLES["late turn"]
    file = RaceFile.start(path, settings, [f"r{n}" for n in range(len(table))])
    for _ in range(2):
        for call in file.race.calls():
            loss = float(table[call.row_index][NAMES.index(call.candidate)])
            file.append(Event("answer", call.ticket, loss))
    race = file.race
    statement = race.statement
    shown = CliRunner().invoke(app, ["race", "status", str(path), "--exit-code"])
    data: Any = CliRunner().invoke(app, ["race", "status", str(path), "--json", "--exit-code"])
    facts = json.loads(data.stdout)
    assert shown.exit_code == data.exit_code == statement.exit_status
    assert str(statement) in " ".join(shown.stdout.split())
    assert facts["statement"] == json.loads(json.dumps(statement.to_json()))
    assert parse(facts["verdict"]).prefix == parse(race.verdict).prefix
    page = RaceReport.from_file(file).to_html()
    assert statement.full.split("; ")[0] in page.replace("&#39;", "'")
