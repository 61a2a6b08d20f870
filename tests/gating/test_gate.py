"""`gate`: verdicts, shared levels, rows, groups, clusters and runs, through the public function."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tombola
from tombola.errors import ParameterError, TableError
from tombola.evidence.finished_runs import difference_interval, group_runs
from tombola.gating import GateResult
from tombola.testing import assert_not_worse

OLD = {f"q{i}": float(i % 5 != 0) for i in range(400)}


def changed(better: int, worse: int) -> dict[str, float]:
    """Return OLD with as many rows turned right and wrong."""
    new = dict(OLD)
    wrong = [row for row, score in OLD.items() if score == 0.0]
    right = [row for row, score in OLD.items() if score == 1.0]
    new.update(dict.fromkeys(wrong[:better], 1.0))
    new.update(dict.fromkeys(right[:worse], 0.0))
    return new


def decide(new: Any, old: Any = OLD, **options: Any) -> GateResult:
    return tombola.gate(old, new, **{"within": 0.02, "kind": "scores", **options})


@pytest.mark.parametrize(
    ("better", "worse", "tag", "status"),
    [(40, 20, "PASSED", 0), (10, 50, "WORSE", 1), (30, 30, "UNDECIDED", 3), (0, 0, "PASSED", 0)],
)
def test_three_verdicts(better: int, worse: int, tag: str, status: int) -> None:
    result = decide(changed(better, worse))
    assert (result.tag, result.exit_code) == (tag, status)
    assert f"{better} better, {worse} worse, {400 - better - worse} the same" in str(result)
    comparison = result.comparisons[0]
    assert comparison.low <= comparison.gain <= comparison.high
    assert comparison.change == pytest.approx((better - worse) / 400)


def test_losses_turn_around() -> None:
    """Lower is better: the same rows as losses give the same bounds and verdict."""
    scores = decide(changed(10, 50))
    losses = decide(
        {row: 1 - score for row, score in changed(10, 50).items()},
        {row: 1 - score for row, score in OLD.items()},
        kind="losses",
    )
    assert losses.tag == scores.tag == "WORSE"
    assert losses.comparisons[0].high == scores.comparisons[0].high
    assert losses.comparisons[0].change == pytest.approx(-scores.comparisons[0].change)
    bound = f"{-scores.comparisons[0].high:.3f}"
    assert f"+{bound} or higher" in str(losses)
    assert f"-{bound} or lower" in str(scores)


def test_unit_of_the_scores() -> None:
    points = decide(
        {row: 100 * score for row, score in changed(10, 50).items()},
        {row: 100 * score for row, score in OLD.items()},
        within=2,
        range=(0, 100),
    )
    assert points.comparisons[0].high == pytest.approx(
        100 * decide(changed(10, 50)).comparisons[0].high
    )
    assert "old 80.0   new 70.0   change -10.0" in str(points)


def test_without_a_margin_it_asks() -> None:
    with pytest.raises(ParameterError, match=r"write within=0.02 .* better=True"):
        tombola.gate(OLD, OLD, kind="scores")
    with pytest.raises(ParameterError, match="within"):
        decide(OLD, within=0)
    with pytest.raises(ParameterError, match="kind='scores' if higher"):
        tombola.gate({"a": 1}, {"a": 1}, within=0.1, metric="thing")


def test_better() -> None:
    assert decide(changed(40, 5), within=None, better=True).tag == "PASSED"
    assert decide(OLD, within=None, better=True).tag == "UNDECIDED"
    assert decide(changed(5, 40), within=None, better=True).tag == "WORSE"
    exact = decide(OLD, within=None, better=True, reading="recorded")
    assert (exact.tag, exact.exit_code) == ("NOT BETTER", 1)
    assert "is not better than" in str(exact)


def test_recorded_is_exact_at_the_limit() -> None:
    """A loss of exactly the margin passes, one row more does not."""
    for worse, tag in ((8, "PASSED"), (9, "WORSE")):
        result = decide(changed(0, worse), reading="recorded")
        assert result.tag == tag
    assert result.statement.is_certain
    assert "for certain" in str(result.statement)


def test_binary_is_a_declaration() -> None:
    assert decide(changed(30, 30), binary=True).tag == "UNDECIDED"
    with pytest.raises(TableError, match=r"as declared, got 0.5 on row 'q0'"):
        decide({**OLD, "q0": 0.5}, binary=True)


def test_metrics_share_the_level_of_worse_only() -> None:
    import pandas as pd

    old = pd.DataFrame(
        {"id": list(OLD), "accuracy": list(OLD.values()), "format": list(OLD.values())}
    )
    new = old.assign(format=list(changed(10, 50).values()))
    result = tombola.gate(old, new, within={"accuracy": 0.02, "format": 0.02}, kind="scores")
    levels = [(c.pass_level, c.worse_level) for c in result.comparisons]
    assert levels == [(0.05, 0.025), (0.05, 0.025)]
    assert result.tag == "WORSE"
    assert "new in format is worse than old by more than 0.02; new accuracy passed" in str(result)
    assert "claims of worse share 5 %" in str(result)
    with pytest.raises(ParameterError, match="allowed loss of format"):
        tombola.gate(
            old, new, metric=["accuracy", "format"], within={"accuracy": 0.02}, kind="scores"
        )


def test_versions_share_both_levels() -> None:
    result = tombola.gate(
        OLD, {"b": changed(30, 30), "c": changed(10, 50)}, within=0.02, kind="scores"
    )
    assert [(c.version, c.pass_level, c.worse_level) for c in result.comparisons] == [
        ("b", 0.025, 0.025),
        ("c", 0.025, 0.025),
    ]
    assert result.claim_line() == "c is worse than old by more than 0.02; b is undecided"


def test_rows_of_one_side_are_counted_and_listed() -> None:
    new = {row: score for row, score in OLD.items() if row != "q7"} | {"extra": 1.0}
    result = decide(new)
    assert result.comparisons[0].rows == 399
    assert "1 row only in old and not compared with new: q7" in str(result)
    assert "1 row only in new and not compared with old: extra" in str(result)
    with pytest.raises(TableError, match="both answered, got none"):
        decide({"x": 1.0})


def test_missing_scores_are_asked_about() -> None:
    new = {**OLD, "q1": float("nan")}
    with pytest.raises(TableError, match=r"row 'q1', got none; write missing='worst'"):
        decide(new)
    assert decide(new, missing="drop").comparisons[0].rows == 399
    assert decide(new, missing="worst").comparisons[0].n_worse == 1


def test_arrays_are_paired_by_place() -> None:
    result = decide(list(changed(30, 30).values()), list(OLD.values()))
    assert "paired by their place" in str(result)
    with pytest.raises(TableError, match="as many rows in both"):
        decide([1.0] * 5, [1.0] * 6)


def test_runs_of_a_row_are_one_score() -> None:
    """Five equal runs say no more than one."""
    scores = np.array(list(OLD.values()))
    new = np.array(list(changed(10, 50).values()))
    once = decide(new, scores).comparisons[0]
    five = decide(np.tile(new[:, None], 5), np.tile(scores[:, None], 5)).comparisons[0]
    assert (five.low, five.high) == (once.low, once.high)


def test_expected_answers_use_whole_passes() -> None:
    """Uneven runs are grouped; bounds are those of Theorem R2, at the level of each side."""
    rng = np.random.default_rng(8)
    chance = rng.random(300)
    old = (rng.random((300, 4)) < chance[:, None]).astype(float)
    new = (rng.random((300, 3)) < 0.7 * chance[:, None]).astype(float)
    result = decide(new, old, reading="expected")
    passes = group_runs(
        np.stack([1 - old, np.pad(1 - new, ((0, 0), (0, 1)), constant_values=np.nan)], axis=1)
    )
    low, high = difference_interval(passes[:, :, 0] - passes[:, :, 1], 0.1)
    assert len(passes) == 3
    comparison = result.comparisons[0]
    assert (comparison.low, comparison.high) == pytest.approx((float(low), float(high)))
    assert result.tag == "WORSE"
    assert "in expectation over repeated answers, on these 300 rows" in str(result.statement)
    assert "4 runs per row: answers change on" in str(result)
    for options in ({"looks": "any"}, {"binary": True}, {"clusters": "chat"}):
        with pytest.raises(ParameterError, match="reading='beyond'"):
            decide(new, old, reading="expected", **options)


def test_more_runs_or_more_rows() -> None:
    """Noise is from the runs where rows are alike, and not where answers are fixed."""
    rng = np.random.default_rng(9)
    noisy = decide((rng.random((300, 5)) < 0.7) * 1.0, (rng.random((300, 5)) < 0.7) * 1.0)
    assert "more runs help as much as more rows" in str(noisy)
    fixed = np.repeat((rng.random((300, 1)) < 0.7) * 1.0, 5, axis=1)
    other = np.repeat((rng.random((300, 1)) < 0.7) * 1.0, 5, axis=1)
    assert "only more rows help" in str(decide(fixed, other))


def frame(new: dict[str, float], **columns: Any) -> Any:
    import pandas as pd

    return pd.DataFrame({"id": list(new), "score": list(new.values()), **columns})


def test_groups_are_reported_or_decide() -> None:
    labels = ["law" if i < 200 else "code" for i in range(400)]
    old = frame(OLD, topic=labels)
    new = frame(changed(10, 50), topic=labels)
    report = tombola.gate(old, new, within=0.02, by="topic")
    assert [c.group for c in report.groups] == ["law", "code"]
    assert report.comparisons[0].worse_level == 0.05
    assert [c.worse_level for c in report.groups] == [0.025, 0.025]
    must = tombola.gate(old, new, within=0.02, by="topic", each_group=True)
    assert must.comparisons[0].worse_level == pytest.approx(0.05 / 3)
    assert len(must.deciding) == 3


def test_clusters_are_one_sample() -> None:
    """Rows copied into clusters of ten add nothing."""
    rows = {f"c{i}-{j}": float(i % 5 != 0) for i in range(40) for j in range(10)}
    flips = {row: 0.0 if row.startswith(("c1-", "c2-", "c3-")) else s for row, s in rows.items()}
    labels = [row.split("-")[0] for row in rows]
    old = frame(rows, chat=labels)
    new = frame(flips, chat=labels)
    ignoring = tombola.gate(old, new, within=0.02)
    honest = tombola.gate(old, new, within=0.02, clusters="chat")
    single = tombola.gate(
        {f"c{i}": float(i % 5 != 0) for i in range(40)},
        {f"c{i}": float(i % 5 != 0) if i not in (1, 2, 3) else 0.0 for i in range(40)},
        within=0.02,
        kind="scores",
    )
    assert ignoring.tag == "WORSE"
    assert honest.tag == "UNDECIDED"
    assert honest.comparisons[0].high == single.comparisons[0].high
    assert "clusters settle" in str(honest)
    with pytest.raises(TableError, match="clusters of one size, got 9 to 10 rows"):
        tombola.gate(old[1:], new[1:], within=0.02, clusters="chat")
    declared = tombola.gate(old[1:], new[1:], within=0.02, clusters="chat", cluster_size=12)
    assert declared.tag == "UNDECIDED"
    with pytest.raises(TableError, match="at most 5 rows, as declared"):
        tombola.gate(old, new, within=0.02, clusters="chat", cluster_size=5)


def test_advice_is_never_below_what_was_read() -> None:
    """Also where the versions differ much, where nothing differs, and for clusters."""
    rng = np.random.default_rng(5)
    for n in (1, 2, 30, 148):
        for share in (0.0, 0.5):
            old = rng.random(n) < 0.7
            new = np.where(rng.random(n) < share, ~old, old)
            for options in ({"within": 0.02}, {"within": None, "better": True}, {"looks": "any"}):
                comparison = decide(new.astype(float), old.astype(float), **options).comparisons[0]
                if comparison.verdict == "undecided" and comparison.rows_needed is not None:
                    assert comparison.rows_needed > comparison.units_read
    needed = decide(np.ones(100), np.ones(100)).comparisons[0].rows_needed
    assert needed == 149


def test_one_table_with_several_versions() -> None:
    import pandas as pd

    wide = pd.DataFrame(
        {"id": list(OLD), "a": list(OLD.values()), "b": list(changed(10, 50).values())}
    )
    result = tombola.gate(wide, baseline="a", within=0.02, kind="scores")
    assert result.claim_line() == "b is worse than a by more than 0.02"
    with pytest.raises(ParameterError, match="the old version among a, b"):
        tombola.gate(wide, within=0.02, kind="scores")


def test_json_and_notebook() -> None:
    result = decide(changed(10, 50), within=0.02)
    data = result.to_json()
    assert (data["verdict"], data["tag"], data["exit_code"]) == ("refuted", "WORSE", 1)
    assert len(data["comparisons"][0]["differ_most"]) == 30
    assert "<script" not in decide({**OLD}, {"<script>": 1.0, **OLD})._repr_html_()
    assert "WORSE" in result._repr_html_()


def test_assert_not_worse() -> None:
    assert assert_not_worse(OLD, changed(30, 30), within=0.02, kind="scores").passed is None
    with pytest.raises(AssertionError, match="WORSE"):
        assert_not_worse(OLD, changed(10, 50), within=0.02, kind="scores")
    with pytest.raises(AssertionError, match="UNDECIDED"):
        assert_not_worse(OLD, changed(30, 30), within=0.02, kind="scores", undecided="fail")
    with pytest.raises(ValueError, match="undecided"):
        assert_not_worse(OLD, OLD, within=0.02, kind="scores", undecided="maybe")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"clusters": "chat"}, "if no cluster has more than 3 rows"),
        ({"clusters": "chat", "cluster_size": 5}, "if no cluster has more than 5 rows"),
        ({"reading": "expected"}, "if answers to different rows are independent"),
        ({"reading": "expected", "run_effects": True}, ""),
        ({}, ""),
    ],
)
def test_gate_says_what_it_assumes(options: dict[str, Any], words: str) -> None:
    """Clusters and finished runs need an assumption, as in `rank`; the gate was silent."""
    scores = {f"q{i}": float(i % 5 != 0) for i in range(60)}
    table = frame(scores, chat=[f"c{i // 3}" for i in range(60)])
    result = tombola.gate(table, table, within=0.2, **options)
    assert result.statement.condition == ", ".join(filter(None, [words, "for one look"]))
    assert ("this holds if" in str(result)) is bool(words)
    clusters = "60 rows in 20 clusters" if "clusters" in options else "60 rows"
    assert str(result.statement).endswith(f"; {clusters}")
    assert words in str(result)


def test_a_forecast_is_no_better_than_the_interval_at_hand() -> None:
    """Skewed gains have wider intervals than their variance tells; they shrink as 1 / sqrt(rows)."""
    rng = np.random.default_rng(3)
    old = np.minimum(300.0, rng.exponential(40.0, 200))
    new = np.minimum(300.0, old * rng.uniform(0.7, 1.15, 200))
    result = tombola.gate(old, new, better=True, kind="losses", range=(0, 300))
    (change,) = result.comparisons
    assert result.tag == "UNDECIDED"
    assert change.rows_needed == pytest.approx(
        200 * ((change.gain - change.low) / change.gain) ** 2, rel=0.01
    )


def test_the_other_verdicts_are_named_or_counted() -> None:
    """A group is named with its verdict; more than three are counted, not listed."""
    scores = {f"q{i}": float(i % 5 != 0) for i in range(600)}
    worse = {
        row: 0.0 if int(row[1:]) % 2 and int(row[1:]) % 3 == 0 else score
        for row, score in scores.items()
    }
    topics = [f"t{i % 2}" for i in range(600)]
    result = tombola.gate(
        frame(scores, topic=topics),
        frame(worse, topic=topics),
        within=0.05,
        by="topic",
        each_group=True,
    )
    assert result.claim_line().endswith("new on t0 passed")
    many = [f"t{i % 12}" for i in range(600)]
    result = tombola.gate(
        frame(scores, topic=many),
        frame(worse, topic=many),
        within=0.05,
        by="topic",
        each_group=True,
    )
    assert "; of the other 10 " in result.claim_line()
    assert result.claim_line().count("undecided") <= 1


def test_columns_of_losses_are_called_losses(tmp_path: Path) -> None:
    """It printed "score: lower is better"."""
    path = tmp_path / "t.csv"
    path.write_text("id,old,new\n" + "".join(f"q{row},{row % 2},0\n" for row in range(60)))
    result = tombola.gate(path, baseline="old", within=0.1, kind="losses")
    assert "; loss: lower is better" in str(result)
    assert "score" not in str(result)


def test_a_forecast_has_two_digits() -> None:
    """About 396,154 rows would be a false precision."""
    undecided = tombola.gate(
        {f"q{i}": float(i % 5 > 0) for i in range(100)},
        {f"q{i}": float(i % 4 > 0) for i in range(100)},
        within=0.07,
        kind="scores",
    )
    (comparison,) = undecided.comparisons
    assert comparison.rows_needed is not None
    assert comparison.rows_needed > 100
    step = 10 ** (len(str(comparison.rows_needed)) - 2)
    assert comparison.rows_needed % step, "the exact number has more digits"
    shown = math.ceil(comparison.rows_needed / step) * step
    assert f"about {shown:,} rows settle" in comparison.next_text("row")
    assert f"{comparison.rows_needed:,}" not in str(undecided)
