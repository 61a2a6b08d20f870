"""Live gates: bounds of the change at every look, and their agreement with the race."""

import itertools
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tombola import Race
from tombola.errors import FeedbackError, ParameterError, SessionError
from tombola.evidence.betting import Betting
from tombola.gating import gate_of_race
from tombola.gating.live import clamped, gain_bounds
from tombola.gating.page import gate_page
from tombola.gating.summary import to_markdown
from tombola.racing.rules.gate import Gate
from tombola.racing.settings import Answering, FurtherMetric, RaceSettings
from tombola.racing.side_information import SideInformation
from tombola.racing.strata import ClusterBets, Strata
from tombola.statements import Reading


def play(race: Race, table: np.ndarray) -> Race:
    """Answer all calls by a table of losses: (rows, versions)."""
    while not race.done:
        for call in race.calls():
            race.record(call, loss=table[call.row_index, race.candidates.index(call.candidate)])
    return race


def test_bounds_of_a_list_hold_in_all_orders() -> None:
    """Each side fails at any look in at most the level of all 120 orders of five gains."""
    level = 0.2
    for values in ([1, 1, 0, 0, -1], [1, 0.5, -0.5, -1, -1]):
        gains = np.array(values, float)
        wrong = np.zeros(2)
        for order in itertools.permutations(range(5)):
            sides = np.zeros(2, bool)
            for count in range(1, 6):
                low, high = gain_bounds(gains[list(order[:count])], 5, level)
                sides |= [low > gains.mean() + 1e-9, high < gains.mean() - 1e-9]
            wrong += sides
        assert (wrong <= level * math.factorial(5)).all()


def test_each_bound_has_the_whole_level() -> None:
    """A side of a two-sided sequence has half of its level, so that of the sequence is doubled."""
    gains = np.random.default_rng(7).choice([-1.0, 0.0, 1.0], 50, p=[0.1, 0.5, 0.4])
    sequence = Betting(population=200, level=0.1)
    sequence.extend(0.5 * (1.0 + gains))
    low, high = sequence.interval()
    assert gain_bounds(gains, 200, 0.05) == pytest.approx((2 * low - 1, 2 * high - 1))
    assert gain_bounds(gains, 200, 0.1)[0] > gain_bounds(gains, 200, 0.05)[0]


def test_bounds_of_a_sample_hold_at_all_looks() -> None:
    """Each side; five standard errors, so a false alarm has probability below 1e-6."""
    rng = np.random.default_rng(5)
    wrong = np.zeros(2)
    repetitions = 150
    for _ in range(repetitions):
        gains = rng.choice([-1.0, 0.0, 1.0], 60, p=[0.3, 0.5, 0.2])
        looks = [gain_bounds(gains[:count], math.inf, 0.2) for count in (10, 30, 60)]
        wrong += [max(low for low, _ in looks) > -0.1, min(high for _, high in looks) < -0.1]
    allowed = 0.2 + 5 * math.sqrt(0.2 * 0.8 / repetitions)
    assert (wrong <= allowed * repetitions).all()


@pytest.mark.parametrize("reading", ["recorded", "expected", "beyond"])
@pytest.mark.parametrize("drop", [0.0, 0.3])
def test_the_bounds_agree_with_the_verdict(reading: Reading, drop: float) -> None:
    rng = np.random.default_rng(1)
    old = rng.random(300) < 0.3
    table = np.stack([old, old | (rng.random(300) < drop)], axis=1).astype(float)
    answers: Answering = "random" if reading == "expected" else "fixed"
    race = Race(["old", "new"], 300, baseline="old", within=0.1, reading=reading, answers=answers,
                kind="scores", range=(0.0, 10.0), seed=3)  # fmt: skip
    with pytest.raises(SessionError, match="raise the limit"):
        gate_of_race(race)
    race = Race(["old", "new"], 300, baseline="old", within=1.0, reading=reading, answers=answers,
                kind="scores", range=(0.0, 10.0), seed=3)  # fmt: skip
    result = gate_of_race(play(race, table))
    (comparison,) = result.comparisons
    assert result.tag == ("WORSE" if drop else "PASSED")
    assert result.exit_code == (1 if drop else 0)
    assert comparison.low <= comparison.gain <= comparison.high
    assert comparison.low >= -1.0 if not drop else comparison.high <= -1.0
    assert comparison.change == pytest.approx(10 * (table[:, 0] - table[:, 1])[
        race.counted_losses("new")[0]].mean())  # fmt: skip
    assert result.statement == race.statement
    text = "\n".join([*result.lines(), to_markdown(result), gate_page(result, "Gate")])
    assert "nan" not in text.lower()
    json.dumps(result.to_json(), allow_nan=False)


@pytest.mark.parametrize("reading", ["recorded", "expected", "beyond"])
def test_each_group_is_decided(reading: Reading) -> None:
    """A loss in one group of three fails the gate; list and groups share the level."""
    rng = np.random.default_rng(6)
    labels = ["x", "y", "z"] * 150
    old = rng.random(450) < 0.2
    lost = np.array([label == "y" for label in labels]) & (rng.random(450) < 0.7)
    table = np.stack([old, old | lost], axis=1).astype(float)
    answers: Answering = "random" if reading == "expected" else "fixed"
    race = play(
        Race(["old", "new"], 450, baseline="old", within=0.3, reading=reading, answers=answers,
             strata=labels, max_calls=900, seed=2),
        table,
    )  # fmt: skip
    result = gate_of_race(race)
    assert [(c.group, c.verdict) for c in result.groups] == [
        ("x", "proved"),
        ("y", "refuted"),
        ("z", "proved"),
    ]
    assert result.verdict == "refuted"
    assert race.proved is False
    assert result.exit_code == 1
    assert {c.pass_level for c in (*result.comparisons, *result.groups)} == {0.05 / 4}
    for comparison in result.groups:
        rows, losses = race.counted_losses("new", comparison.group)
        assert {labels[row] for row in rows} == {comparison.group}
        assert comparison.rows == len(rows)
        assert comparison.new_mean == pytest.approx(table[rows, 1].mean())
        assert losses.mean() == pytest.approx(comparison.new_mean)
    assert "the list and its groups share 5 %" in str(result)


def test_equal_scores_are_claimed_for_the_rows_compared_only() -> None:
    race = play(Race(["old", "new"], 300, baseline="old", within=0.1, seed=1), np.zeros((300, 2)))
    result = gate_of_race(race)
    rows = result.comparisons[0].rows
    assert rows < 300
    assert result.claim_line() == f"new has the same score as old on all {rows} rows compared"
    assert "one version ran twice" in str(result)


def test_several_new_versions_share_the_level() -> None:
    rng = np.random.default_rng(2)
    table = (rng.random((200, 3)) < [0.2, 0.2, 0.9]).astype(float)
    race = play(Race(["old", "a", "b"], 200, baseline="old", within=0.05, reading="beyond"), table)
    result = gate_of_race(race)
    assert [c.verdict for c in result.comparisons] == ["undecided", "refuted"]
    assert result.verdict == "refuted"
    assert {c.pass_level for c in result.comparisons} == {0.025}
    assert "b is worse than old by more than 0.05; a is undecided" in result.claim_line()
    assert "all versions share 5 %" in str(result)


def test_a_bound_never_contradicts_the_verdict() -> None:
    for low, high in ((-0.5, 0.5), (0.1, 0.2), (-0.4, -0.3)):
        passed = clamped((low, high), -0.02, "proved")
        assert -0.02 <= passed[0] <= passed[1]
        worse = clamped((low, high), -0.02, "refuted")
        assert worse[0] <= worse[1] <= -0.02
        is_open = clamped((low, high), -0.02, "undecided")
        assert is_open[0] < -0.02 < is_open[1]
    assert clamped((0.1, 0.1), -0.02, "proved") == (0.1, 0.1)


def test_a_race_without_baseline_is_no_gate() -> None:
    with pytest.raises(ParameterError, match="race against a baseline"):
        gate_of_race(Race(["a", "b"], 3))


def reported_race(reading: Reading, seed: int, table: np.ndarray, labels: list[str]) -> Race:
    settings = RaceSettings(
        ("old", "new"), seed, within=0.2, baseline="old", reading=reading, answers="fixed"
    )
    strata = Strata.of(labels, len(labels), decides=False)
    return play(Race.restore(settings, len(labels), strata=strata), table)


@pytest.mark.parametrize("reading", ["recorded", "beyond"])
def test_groups_are_only_reported(reading: Reading) -> None:
    """Calls and verdict are those of the list alone; a bad group is named and decides nothing."""
    rng = np.random.default_rng(6)
    labels = (["x"] * 5 + ["y"]) * 100
    old = rng.random(600) < 0.2
    lost = np.array([label == "y" for label in labels])
    table = np.stack([old, old | lost], axis=1).astype(float)
    race = reported_race(reading, 2, table, labels)
    alone = play(Race(["old", "new"], 600, baseline="old", within=0.2, reading=reading,
                      answers="fixed", seed=2), table)  # fmt: skip
    result = gate_of_race(race)
    assert race.calls_made == alone.calls_made
    assert result.comparisons == gate_of_race(alone).comparisons
    assert result.exit_code == gate_of_race(alone).exit_code
    assert {c.group: c.tag for c in result.groups} == {"x": "PASSED", "y": "WORSE"}
    assert [(c.pass_level, c.worse_level) for c in result.groups] == [(0.05, 0.025)] * 2
    for comparison in result.groups:
        rows = [row for row in race.counted_losses("new")[0] if labels[row] == comparison.group]
        assert comparison.rows == len(rows)
        assert comparison.new_mean == pytest.approx(table[rows, 1].mean())
    assert "groups are only reported" in str(result)


def test_claims_of_reported_groups_hold_when_the_list_ends_the_race() -> None:
    """Groups at the limit: WORSE of any is false, and PASSED of each, with a level of .05.

    Five standard errors of 120 lists, so a false alarm has probability below 1e-6.
    """
    rng = np.random.default_rng(8)
    labels = ["x", "y"] * 100
    wrong = np.zeros(3)
    lists = 120
    for seed in range(lists):
        lost = rng.random(200) < 0.2
        race = reported_race("beyond", seed, np.stack([lost * 0.0, lost * 1.0], axis=1), labels)
        tags = {c.group: c.tag for c in gate_of_race(race).groups}
        wrong += [tags.get("x") == "PASSED", tags.get("y") == "PASSED", "WORSE" in tags.values()]
    assert (wrong <= lists * (0.05 + 5 * math.sqrt(0.05 * 0.95 / lists))).all()


def metrics_race(tables: list[np.ndarray], **options: Any) -> Race:
    """Run a gate with a metric for each table of losses, (rows, versions)."""
    further = tuple(FurtherMetric(f"m{number}", 0.1) for number in range(2, 1 + len(tables)))
    chosen: dict[str, Any] = {"reading": "beyond", "answers": "fixed", "seed": 4, **options}
    settings = RaceSettings(
        ("old", "new"), within=0.1, baseline="old", unit="m1", further=further, **chosen
    )
    race = Race.restore(settings, len(tables[0]))
    while not race.done:
        for call in race.calls():
            cell = (call.row_index, race.candidates.index(call.candidate))
            first, *others = (float(table[cell]) for table in tables)
            race.record(call, loss=first, others=tuple(others))
    return race


@pytest.mark.parametrize("reading", ["recorded", "beyond"])
def test_each_metric_has_a_verdict(reading: Reading) -> None:
    rng = np.random.default_rng(1)
    old = rng.random(400) < 0.2
    same = np.stack([old, old], axis=1).astype(float)
    worse = np.stack([old, old | (rng.random(400) < 0.5)], axis=1).astype(float)
    race = metrics_race([same, worse], reading=reading)
    result = gate_of_race(race)
    assert {c.metric: c.tag for c in result.comparisons} == {"m1": "PASSED", "m2": "WORSE"}
    assert {(c.pass_level, c.worse_level) for c in result.comparisons} == {(0.05, 0.025)}
    assert (race.proved, result.exit_code) == (False, 1)
    assert "new in m2 is worse than old by more than 0.1" in str(race.statement)
    assert "m1" not in str(race.statement)
    # One metric differs, so one version has not run twice; and no direction fits all metrics.
    assert "ran twice" not in str(result)
    assert "mean score" not in str(race.statement)
    assert "mean score" not in str(replace(result, race=None).statement)
    # A metric that passes is decided as in a gate of its own, and each call serves both.
    alone = gate_of_race(metrics_race([same], reading=reading))
    assert result.comparisons[0].low == alone.comparisons[0].low
    assert race.calls_made == 2 * max(c.rows for c in result.comparisons)
    both = metrics_race([same, same], reading=reading)
    assert (both.proved, gate_of_race(both).tag) == (True, "PASSED")
    assert "new in m1" in str(both.statement)
    assert "new in m2" in str(both.statement)
    again = Race.restore(both.settings, 400, [both.recorded(1), both.recorded(2)])
    assert again.calls_answered == 2


def test_a_false_worse_has_its_share_of_the_level() -> None:
    """All orders of lists whose loss is the allowed one, where WORSE is false: level .9 for two."""
    for gains, margin in (([-1, -1, -1, -1, 1, 1, 0, 0], 0.25), ([-1, -1, 0, 0, 0, 0, 0, 0], 0.25)):
        orders = set(itertools.permutations(gains))
        wrong = 0
        for order in orders:
            rule = Gate(2, 8, 8, 0.9, 0, margin, 0.45)
            for gain in order:
                rule.update(np.array([0.5 + gain / 2, 0.5 - gain / 2]))
                if rule.done:
                    break
            wrong += rule.state.decision[1] == -1.0
        # With the whole level it is half of the orders of the first list.
        assert wrong <= 0.45 * len(orders)


def test_an_answer_has_all_metrics() -> None:
    further = (FurtherMetric("format", 0.1),)
    settings = RaceSettings(("old", "new"), seed=1, within=0.1, baseline="old", reading="beyond",
                            unit="accuracy", further=further)  # fmt: skip
    race = Race.restore(settings, 9)
    call = race.calls(1)[0]
    for others in ((), (0.5, 0.5), (2.0,)):
        with pytest.raises(FeedbackError, match="of format beside the first"):
            race.record(call, loss=0.5, others=others)
    assert race.record(call, loss=0.5, others=(1.0,))
    assert not race.record(call, loss=0.5, others=(1.0,))
    with pytest.raises(FeedbackError, match="first answer stands"):
        race.record(call, loss=0.5, others=(0.0,))
    assert RaceSettings.from_json(json.loads(json.dumps(settings.to_json()))) == settings
    with pytest.raises(ParameterError, match="no answers on file"):
        Race.restore(settings, 2, side=SideInformation.of(
            settings.candidates, ["0", "1"], {"old": [0.5, None]}, None, settings.units))  # fmt: skip
    for wrong, message in (
        ({"baseline": None, "within": 0.0}, "used with baseline"),
        ({"reading": "expected", "answers": "random"}, "fixed answers"),
        ({"unit": "format"}, "different names"),
        ({"further": (FurtherMetric("format", 2.0),)}, "within"),
    ):
        with pytest.raises(ParameterError, match=message):
            replace(settings, **wrong)


def cluster_race(table: np.ndarray, labels: list[str], largest: int, **options: Any) -> Race:
    """Run a gate on clusters of rows, by a table of losses, (rows, versions)."""
    chosen: dict[str, Any] = {"within": 0.1, "level": 0.05, "seed": 4, **options}
    settings = RaceSettings(
        ("old", "new"), baseline="old", reading="beyond", answers="fixed", **chosen
    )
    strata = Strata.of(labels, len(labels), "chat", decides=False, cluster_size=largest)
    assert Strata.from_json(json.loads(json.dumps(strata.to_json())), len(labels)) == strata
    return play(Race.restore(settings, len(labels), strata=strata), table)


def test_clusters_are_drawn_whole() -> None:
    rng = np.random.default_rng(3)
    labels = [f"c{row // 3}" for row in range(240)] + ["last"] * 2
    old = rng.random(242) < 0.2
    table = np.stack([old, old | (rng.random(242) < 0.6)], axis=1).astype(float)
    race = cluster_race(table, labels, 4)
    rows, losses = race.counted_losses("new")
    counts = {label: [labels[row] for row in rows].count(label) for label in set(labels)}
    assert all(counts[label] in (0, labels.count(label)) for label in counts)
    # The rows of a cluster follow each other.
    order = [labels[row] for row in rows]
    assert (
        len([at for at in range(1, len(rows)) if order[at] != order[at - 1]]) == len(set(order)) - 1
    )
    assert losses.tolist() == table[rows, 1].tolist()
    assert race.rows_counted == len(rows) < 242
    assert race.mean_losses["new"] == pytest.approx(losses.mean())
    result = gate_of_race(race)
    (comparison,) = result.comparisons
    assert (result.tag, result.unit) == ("WORSE", "cluster")
    assert comparison.units_read == len(set(order))
    assert comparison.low <= comparison.gain <= comparison.high <= -0.1
    assert "if no cluster has more than 4 rows" in str(race.statement)
    assert race.rows_remaining is None
    same = cluster_race(np.stack([old, old], axis=1).astype(float), labels, 4)
    # Without a difference a small sample shows little; the whole list has 81 clusters.
    assert gate_of_race(same).tag in ("PASSED", "UNDECIDED")


def test_clusters_of_one_row_are_rows() -> None:
    """Bit by bit: bets, counts and drops are those of rows; only the order is drawn otherwise."""
    rng = np.random.default_rng(5)
    clusters = Strata.of(range(300), 300, decides=False, cluster_size=1)
    for limit in (0.3, 0.05):
        losses = (rng.random((300, 2)) < [0.3, 0.5]).astype(float)
        plain, other = (Gate(2, 300, math.inf, 0.05, 0, limit) for _ in range(2))
        bets = ClusterBets(other, clusters)
        for row in range(300):
            if not plain.done:
                plain.update(losses[row])
                bets.count(row, losses[row])
                assert plain.memory.tobytes() == other.memory.tobytes()
        assert plain.done


@pytest.mark.parametrize("types", [((4, -4), (4, 3)), ((1, 0), (6, -5)), ((1, 1), (2, -2))])
def test_clusters_of_different_sizes_keep_the_level(types: Any) -> None:
    """All samples of nine clusters of two kinds, at the limit, where both verdicts are false.

    Bets on single rows err in half of the first ones, bets without the sizes in .492 of the second.
    """
    largest = max(size for size, _ in types)
    margin = -sum(gain for _, gain in types) / sum(size for size, _ in types)
    level = 0.4
    wrong = {1.0: 0, -1.0: 0, 0.0: 0}
    samples = list(itertools.product(types, repeat=9))
    for sample in samples:
        labels = [str(at) for at, (size, _) in enumerate(sample) for _ in range(size)]
        rows = len(labels)
        rule = Gate(2, 99, math.inf, level, 0, margin)
        bets = ClusterBets(rule, Strata.of(labels, rows, decides=False, cluster_size=largest))
        row = 0
        for size, gain in sample:
            for _ in range(size):
                if not rule.done:
                    share = gain / size
                    bets.count(row, np.array([0.5 + share / 2, 0.5 - share / 2]))
                row += 1
        wrong[float(rule.state.decision[1])] += 1
    assert wrong[1.0] <= level * len(samples)
    assert wrong[-1.0] <= level * len(samples)


def test_clusters_need_a_gate_on_rows_like_these() -> None:
    cases: list[dict[str, Any]] = [{"reading": "recorded"}, {"baseline": None, "within": 0.0}]
    for case in cases:
        options = {"baseline": "old", "within": 0.1, "reading": "beyond", **case}
        settings = RaceSettings(("old", "new"), seed=1, answers="fixed", **options)
        strata = Strata.of(["a", "a", "b", "b"], 4, decides=False, cluster_size=2)
        with pytest.raises(ParameterError, match="with clusters"):
            Race.restore(settings, 4, strata=strata)
    with pytest.raises(ParameterError, match="at most 1 rows"):
        Strata.of(["a", "a", "b", "b"], 4, decides=False, cluster_size=1)
