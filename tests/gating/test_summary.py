"""Markdown and JUnit XML of a gate, with names that try to break out."""

import math
import re
from xml.etree import ElementTree

import pytest

import tombola
from tombola.gating import GateResult
from tombola.gating.page import gate_page
from tombola.gating.summary import to_junit, to_markdown
from tombola.units import Kind

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
    assert lines[:2] == ["<!-- tombola-gate:qa -->", "### ❌ qa: worse – b −20.0 points"]
    assert "| **b** | 80.0 | 60.0 | **−20.0** |" in text
    assert "| −2.0 | ❌ worse |" in text
    assert "Numbers are in points: 1 is 100 points." in text
    assert text.index("| **b** |") < text.index("| c |")
    assert "`q1`, `q2`, `q3` and 57 more" in text
    assert "An identical version would fail this gate with probability at most 0.05." in text
    assert lines[-1].endswith("exit status 1</sub>")


def test_other_ranges_are_in_their_own_unit() -> None:
    """Points are hundredths of a range from 0 to 1 only."""
    scores = {row: 5 * score for row, score in OLD.items()}
    worse = {**scores, **dict.fromkeys(list(OLD)[1:80], 0.0)}
    text = to_markdown(tombola.gate(scores, worse, within=0.1, kind="scores", range=(0, 5)))
    assert "### ❌ Gate: worse – score −1.07\n" in text
    assert "points" not in text
    losses = tombola.gate(
        {row: 1 - score for row, score in OLD.items()},
        dict.fromkeys(OLD, 1.0),
        within=0.02,
        kind="losses",
    )
    assert "| +2.0 | ❌ worse |" in to_markdown(losses)
    assert "– score +80.0 points" in to_markdown(losses)


def test_commits_are_named_and_short() -> None:
    commits = {"old": "3f2a9c1" + "0" * 33, "b": "b81e044" + "a" * 33, "c": "v1.2"}
    text = to_markdown(result(), "qa", commits=commits)
    assert "| | old `3f2a9c1` | new | change |" in text
    assert "| **b `b81e044`** |" in text
    assert "| c `v1.2` |" in text
    page = gate_page(result(), "qa", commits=commits)
    assert "<code>3f2a9c1</code>: the old version" in page
    assert "b <code>b81e044</code>" in page
    only = tombola.gate(OLD, OLD, within=0.02, kind="scores")
    assert "| | old `3f2a9c1` | new |" in to_markdown(only, commits=commits)


def test_rows_of_both_directions_are_shown() -> None:
    """Many rows that got worse do not hide those that got better."""
    wrong = [row for row, score in OLD.items() if not score]
    right = [row for row, score in OLD.items() if score]
    new = {**OLD, **dict.fromkeys(wrong[:30], 1.0), **dict.fromkeys(right[:60], 0.0)}
    text = to_markdown(tombola.gate(OLD, new, within=0.02, kind="scores"))
    assert text.count("| 1 | 0 |") == text.count("| 0 | 1 |") == 5
    assert "now better: 30" in text


def test_reported_groups_are_folded_and_share_their_own_level() -> None:
    import pandas as pd

    old = pd.DataFrame({"id": list(OLD), "score": list(OLD.values()), "topic": ["x", "y"] * 150})
    new = old.assign(score=[s * (i % 4 > 0) for i, s in enumerate(old.score)])
    for must_pass in (False, True):
        one = tombola.gate(old, new, within=0.02, by="topic", each_group=must_pass)
        text = to_markdown(one)
        main, _, details = text.partition("<details>")
        assert ("score, x" in main) is must_pass
        assert ("Groups are only reported" in details) is not must_pass
        assert ("only reported" in str(one)) is not must_pass
        page = gate_page(one, "qa")
        assert page.count('class="track"') == 3
        assert ("2 groups, only reported" in page) is not must_pass


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
    assert "<summary>b, score: 60 worse, 0 better</summary>" in page
    assert page.index('class="old"') > page.rindex('class="track"'), "the old version is last"


@pytest.mark.parametrize("kind", ["scores", "losses"])
def test_a_passed_page_says_how_much_worse_the_version_may_be(kind: Kind) -> None:
    """PASSED is no claim of "not worse at all": the bound stands beside it, and claims one side only."""
    scores = {f"q{i}": float(i % 2) for i in range(400)}
    lower = {row: score * (i % 8 > 1) for i, (row, score) in enumerate(scores.items())}
    old, new = (
        versions if kind == "scores" else {row: 1.0 - score for row, score in versions.items()}
        for versions in (scores, lower)
    )
    passed = tombola.gate(old, new, within=0.25, kind=kind)
    comparison = passed.comparisons[0]
    assert comparison.verdict == "proved"
    assert comparison.high < 0.0, "the whole interval is on the side of a loss"
    loss_bound = -math.floor(1000 * comparison.low) / 1000
    loss = f"may be worse by up to {loss_bound:.3f}; 0.25 is allowed"
    assert passed.heading + f": {loss}" in gate_page(passed, "qa")
    assert gate_page(passed, "qa").count(loss) == 2, "in the answer, and beside the band"
    exact = tombola.gate(old, new, within=0.25, kind=kind, reading="recorded")
    assert "than 0.25: worse by 0.125; 0.25 is allowed" in gate_page(exact, "qa")
    same = tombola.gate(old, old, within=0.25, kind=kind, reading="recorded")
    assert "is allowed" not in gate_page(same, "qa")


def test_label_of_the_limit_stays_on_a_narrow_page() -> None:
    """A limit near the left edge has its label on the right of the line, where there is room."""
    wide = tombola.gate(OLD, OLD, within=0.2, kind="scores")
    assert '<span class="at right"' in gate_page(wide, "qa")
    near = tombola.gate(
        OLD, {row: 1 - score for row, score in OLD.items()}, within=0.02, kind="scores"
    )
    assert '<span class="at left"' in gate_page(near, "qa")
