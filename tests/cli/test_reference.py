"""`tombola learners`, `reproduce --list` and `cite`."""

import json

from typer.testing import CliRunner

from tombola.cli.app import app
from tombola.errors import ParameterError


def test_learners_and_claims_are_listed() -> None:
    text = CliRunner().invoke(app, ["learners"]).output
    assert [line.split() for line in text.splitlines()].count(["UCB2(alpha=0.5)", "proved"]) == 1
    assert "tombola.classification.ERM" in text
    # A line each, with headings: it fits on one or two screens.
    assert len(text.splitlines()) < 70
    entries = json.loads(CliRunner().invoke(app, ["learners", "--json"]).output)
    assert {"name", "feedback", "parameters", "proved", "summary"} == set(entries[0])
    claims = CliRunner().invoke(app, ["reproduce", "--list"]).output.splitlines()
    assert [line.split() for line in claims].count(["birthday", "Lemma", "3.1", "holds"]) == 1
    assert "birthday" in [
        entry["name"]
        for entry in json.loads(CliRunner().invoke(app, ["reproduce", "--list", "--json"]).output)
    ]


def test_cite_prints_theorem_and_bibtex() -> None:
    text = CliRunner().invoke(app, ["cite", "Simulation"]).output
    assert "Theorem 3 (1)" in text.splitlines()[0]
    assert text.count("\n@") == 2
    found = json.loads(CliRunner().invoke(app, ["cite", "race", "--json"]).output)
    assert (found["name"], len(found["theorems"]), len(found["entries"])) == ("race", 5, 9)


def test_cite_without_a_name_prints_both_entries() -> None:
    text = CliRunner().invoke(app, ["cite"]).output
    assert text.count("@inproceedings{") == text.count("@software{") == 1
    assert "  tombola cite race" in text.splitlines()


def test_unknown_name() -> None:
    assert isinstance(CliRunner().invoke(app, ["cite", "Nobody"]).exception, ParameterError)
