"""Markdown and JUnit XML of a gate, with names that try to break out."""

import re
from xml.etree import ElementTree

import pytest

import tombola
from tombola.gating import GateResult
from tombola.gating.page import gate_page
from tombola.gating.summary import to_junit, to_markdown

OLD = {f"q{i}": float(i % 5 != 0) for i in range(300)}
EVIL = "a|b`<script>alert(1)</script>\n# @team [x](y) \x1b[31m"


def result(worse: int = 60, **options: object) -> GateResult:
    right = [row for row, score in OLD.items() if score]
    new = {**OLD, **dict.fromkeys(right[:worse], 0.0)}
    settings = {"within": 0.02, "kind": "scores", **options}
    return tombola.gate(OLD, {"b": new, "c": OLD}, **settings)  # type: ignore[arg-type]


def test_markdown_has_the_verdict_first() -> None:
    text = to_markdown(result(), "qa", "tombola gate a b")
    lines = text.splitlines()
    assert lines[:2] == ["<!-- tombola-gate:qa -->", "### ❌ qa: worse"]
    assert "| **b** | 0.800 | 0.600 | **−0.200** |" in text
    assert text.index("| **b** |") < text.index("| c |")
    assert "`q1`, `q2`, `q3` and 57 more" in text
    assert "An identical version would fail this gate with probability at most 0.05." in text
    assert lines[-1].endswith("exit status 1</sub>")


def test_names_cannot_break_out() -> None:
    old = {EVIL: 1.0, **OLD}
    new = {EVIL: 0.0, **OLD}
    bad = tombola.gate(old, {EVIL: new}, within=0.0001, kind="scores", reading="recorded")
    text = to_markdown(bad, EVIL)
    # Text in a code span is shown as it is; a span ends at the next backquote only.
    outside = re.sub(r"(?<!\\)`[^`]*`", "", text)
    assert "<script>" not in outside
    assert "\x1b" not in text
    assert "\n# @" not in text
    assert "@team" not in outside
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.replace("\\|", "").count("|") in (4, 8) for line in table), table
    page = gate_page(bad, EVIL)
    assert "<script>alert" not in page
    assert ElementTree.fromstring(to_junit(bad, EVIL)) is not None


@pytest.mark.parametrize(
    ("worse", "undecided", "failures", "skipped"),
    [(60, None, 1, 0), (4, None, 0, 1), (4, "fail", 1, 0), (4, "pass", 0, 0)],
)
def test_junit(worse: int, undecided: str | None, failures: int, skipped: int) -> None:
    suite = ElementTree.fromstring(to_junit(result(worse), "qa", undecided=undecided))
    assert suite.attrib["tests"] == "2"
    assert int(suite.attrib["failures"]) == failures == len(suite.findall("testcase/failure"))
    assert int(suite.attrib["skipped"]) == skipped == len(suite.findall("testcase/skipped"))


def test_page_has_a_decision_per_version() -> None:
    page = gate_page(result(), "qa", "tombola gate a b")
    assert page.count('class="track"') == 2
    assert "the old version, score 0.800" in page
    assert "Rows that differ most: b" in page
