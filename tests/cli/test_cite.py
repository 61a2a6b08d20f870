"""`tombola cite`."""

import json
import re

from typer.testing import CliRunner

from conftest import SOURCE
from tombola import learners
from tombola.bounds.sources import bound_source
from tombola.cli.app import app
from tombola.cli.cite import _PAPER
from tombola.errors import ParameterError
from tombola.learners.spec import has_bound


def test_every_bound_has_a_source() -> None:
    kinds = [getattr(learners, name) for name in learners.__all__]
    bounded = [kind for kind in kinds if hasattr(kind, "bound") and has_bound(kind)]
    assert len(bounded) > 20
    assert [kind.__name__ for kind in bounded if not bound_source(kind)] == []


def test_cite_prints_theorem_and_bibtex() -> None:
    text = CliRunner().invoke(app, ["cite", "Simulation"]).output
    assert "Theorem 4.2" in text.splitlines()[0]
    assert text.count("\n@") == 2
    found = json.loads(CliRunner().invoke(app, ["cite", "Uniform", "--json"]).output)
    assert found["theorem"] is None
    assert found["paper"].startswith("@inproceedings{")


def test_unknown_learner() -> None:
    assert isinstance(CliRunner().invoke(app, ["cite", "Nobody"]).exception, ParameterError)


def test_bibtex_has_the_facts_of_citation_file() -> None:
    facts = (SOURCE.parent / "CITATION.cff").read_text(encoding="utf-8")
    for name in ("title", "volume", "year", "url"):
        value = re.search(rf"^  {name} = {{(.*)}},$", _PAPER, re.MULTILINE)
        assert value is not None
        assert f"  {name}: {value[1]}\n" in facts
