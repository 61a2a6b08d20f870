"""CompareReport: its numbers are those of the runs; requests, defaults and notes."""

import json
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pools import OWN, REAL, npz_of
from tombola import Pool, compare, demo, play
from tombola._compare import regret_bound
from tombola._formatting import format_estimate
from tombola.advice import CompareReport, CompareRequest, compare_page, run_comparison
from tombola.advice.comparison_page import _charts, _mean_list, _share_chart
from tombola.advice.default_learners import (
    MEAN_RANKS,
    Conditions,
    default_budgeted_learners,
    default_learners,
)
from tombola.budget import Budget, optimum
from tombola.budget.optimum import UnreachableError
from tombola.cli.compare import _show_report
from tombola.delay import RowDelays
from tombola.engine.loop import SWITCHES
from tombola.errors import OrderError, ParameterError, TombolaWarning
from tombola.learners import EmpiricalLP, FollowTheLeader
from tombola.rng import repetition_seeds
from tombola.tables import read_table
from tombola.tables.to_pool import Table
from tombola.units import UNIT_LOSSES


def table(rows: int = 50, actions: int = 3, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    return read_table(rng.random((rows, actions)), kind="losses")


def asked(
    feedback: str = "bandit", delay: int = 0, price: float = 0.0, **others: Any
) -> CompareRequest:
    return CompareRequest(
        Conditions(feedback, delay, price), repetitions=others.pop("repetitions", 4), **others
    )


def dear(rows: int = 80) -> Table:
    return Table(demo.language_models(rows, seed=0), None, [])


@pytest.mark.parametrize("feedback", ["bandit", "full"])
@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize("price", [0.0, 2.0])
def test_rankings_equal_compare(feedback: str, delay: int, price: float) -> None:
    request = asked(feedback, delay, price, orders=("random", "given"))
    report = run_comparison(table(), request)
    runs = compare(
        report.pool,
        default_learners(request.conditions),
        ["random", "given"],
        repetitions=4,
        delay=delay,
        switching_price=price,
        seed=1,
    )
    for order in ("random", "given"):
        rows = [row for row in report.rankings[order] if row.rank is not None]
        assert [row.learner for row in rows] == runs.ranking(order)
        assert [row.regret for row in rows] == [runs.regret(row.learner, order) for row in rows]
        assert report.ranking_cells(rows[0])["regret"] == format_estimate(
            runs.regret(rows[0].learner, order)
        )
        assert rows[0].spent == ()
    assert report.advice.learner in runs.learners


def test_shares_equal_plays_and_chart_groups_rare_actions() -> None:
    report = run_comparison(table(actions=12), asked(delay=3))
    for learner in report.runs.learners:
        ends, shares = report.runs.shares(learner)
        counts = (shares * np.diff(ends, prepend=0)[:, None]).sum(axis=0)
        assert counts == pytest.approx(report.runs.cell(learner).plays.mean(axis=0))
    chart = _share_chart(report, report.runs.ranking()[0], "random")
    assert [band.name for band in chart.bands][7:] == ["5 others"]
    assert sum(band.middle for band in chart.bands) == pytest.approx(np.ones(40))


def test_compare_under_budget_equals_play() -> None:
    pool, budget = dear().pool, Budget(0.2, null="add")
    done, many = (
        compare(
            pool,
            {"lp": EmpiricalLP()},
            budget=budget,
            relabel=False,
            repetitions=3,
            workers=workers,
            seed=5,
        )
        for workers in (1, 2)
    )
    traces = [
        play(EmpiricalLP(), pool, budget=budget, seed=seed) for seed in repetition_seeds(5, 3)
    ]
    assert done.regrets("lp") == pytest.approx([trace.regret for trace in traces])
    rounds, spent = done.spent("lp")
    assert spent[:, :, 0] == pytest.approx(
        np.array([trace.spending[rounds - 1, 0] for trace in traces])
    )
    assert done.cell("lp").plays.tolist() == [trace.plays.tolist() for trace in traces]
    assert done.cell("lp").sums[:, -1, SWITCHES].tolist() == [trace.switches for trace in traces]
    assert done.actions == ("tiny", "small", "medium", "large", "none of them")
    assert (many.cell("lp").sums == done.cell("lp").sums).all()


def test_relabelling_under_budget() -> None:
    """Ties go to the lowest index: without relabelling, the first of two equal columns has all the plays."""
    pool = Pool([[0.0, 0.0, 1.0]] * 40, ["one", "other", "null"], costs=[[1.0, 1.0, 0.0]] * 40)
    by_name = {"lp": EmpiricalLP()}
    kept = (
        compare(pool, by_name, budget=Budget(20.0), relabel=False, repetitions=20, seed=1)
        .cell("lp")
        .plays
    )
    assert min(kept[:, :2].sum(axis=0)) == 0
    mixed = compare(pool, by_name, budget=Budget(20.0), repetitions=20, seed=1).cell("lp").plays
    assert min(mixed[:, :2].sum(axis=0)) > 0
    assert (mixed[:, :2].sum(axis=1) <= 20).all()


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("feedback", ["bandit", "full"])
def test_budget_is_never_exceeded(feedback: str) -> None:
    report = run_comparison(dear(), asked(amounts=(0.1,), feedback=feedback))
    for learner in report.runs.learners:
        _, spent = report.runs.spent(learner)
        assert (np.diff(spent[:, :, 0], axis=1) >= 0).all()
        assert (spent <= 0.1).all()
    assert "Costs over time" in compare_page(report, command="tombola compare x --budget 0.1")
    assert any("see the whole row with its costs" in note for note in report.notes) == (
        feedback == "full"
    )


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("actions", [1, 2])
@pytest.mark.parametrize("repeated", [1, 2])
def test_tiny_tables(rows: int, actions: int, repeated: int) -> None:
    report = run_comparison(
        read_table(np.full((rows, actions), 0.5), kind="losses"), asked(repetitions=repeated)
    )
    assert "</html>" in compare_page(report, command="x")
    json.dumps(report.to_dict(), allow_nan=False)
    assert "inf" not in report.ranking_cells(report.rankings["random"][0])["regret"]


@pytest.mark.parametrize(
    ("conditions", "kind"),
    [
        (Conditions("full"), "full"),
        (Conditions("full", delay=3), "late rows"),
        (Conditions("full", switching_price=3), "full"),
        (Conditions("bandit"), "bandit"),
        (Conditions("bandit", delay=3), "late losses"),
        (Conditions("bandit", delay=3, switching_price=1), "switching"),
    ],
)
def test_kind_of_conditions(conditions: Conditions, kind: str) -> None:
    assert conditions.kind == kind
    assert set(MEAN_RANKS[kind]) <= set(default_learners(conditions)) | set(
        default_learners(Conditions(conditions.feedback))
    )


def test_default_leader_with_delay_starts_uniformly() -> None:
    """The lowest index would be played for d + 1 rounds: same mean over relabellings, about three times the spread."""
    pool = Pool(np.tile([0.0, 1.0], (200, 1)))
    late = default_learners(Conditions("full", delay=100))["FollowTheLeader"]
    regrets = compare(
        pool, {"late": late, "lowest": FollowTheLeader()}, delay=100, repetitions=20, seed=0
    ).regrets
    assert regrets("late").std() < 10 < 40 < regrets("lowest").std()
    assert abs(regrets("late").mean() - 50.5) < 10


def test_default_learners_under_budget() -> None:
    losses = CompareRequest(Conditions("bandit", switching_price=1.0), amounts=(5.0,))
    rows = CompareRequest(Conditions("full"), amounts=(5.0,))
    assert (losses.kind, list(losses.learners_by_name)) == (
        "budget losses",
        ["ThriftyLP", "OptimisticLP"],
    )
    assert (rows.kind, next(iter(rows.learners_by_name))) == ("budget", "EmpiricalLP")
    both = CompareRequest(
        Conditions("bandit"), learners=("EmpiricalLP", "ThriftyLP"), amounts=(5.0,)
    )
    assert list(both.learners_by_name) == ["EmpiricalLP", "ThriftyLP"]
    for costs, null in (([0.0, 1.0], None), ([0.5, 1.0], "add")):
        budget = rows.budget(Pool([[1.0, 0.0]] * 20, costs=[costs] * 20))
        assert budget is not None
        assert budget.null == null, "a free action is the null action"


def test_mean_ranks_are_complete() -> None:
    assert set(MEAN_RANKS) == {
        "full",
        "bandit",
        "late rows",
        "late losses",
        "switching",
        "budget",
        "budget losses",
    }
    for ranks in MEAN_RANKS.values():
        assert sum(ranks.values()) == pytest.approx(sum(range(1, len(ranks) + 1)), abs=0.1)
    assert set(MEAN_RANKS["budget"]) == set(default_budgeted_learners())
    assert set(MEAN_RANKS["budget losses"]) == set(default_budgeted_learners("bandit"))


def test_regret_bound() -> None:
    for conditions in (Conditions("full"), Conditions(), Conditions("bandit", 0, 3.0)):
        for name, learner in default_learners(conditions).items():
            dear = conditions.switching_price > 0 and not hasattr(learner, "price")
            bound = regret_bound(learner, 4, 500, conditions.delay, conditions.switching_price)
            assert bound == (None if dear else learner.bound(4, 500)), name
    leader = default_learners(Conditions("full"))["FollowTheLeader"]
    assert regret_bound(leader, 4, 500, 9, 0.0) == leader.bound(4, 500, 9) is not None
    assert regret_bound(default_learners(Conditions())["TsallisInf"], 4, 500, 9, 0.0) is None
    assert regret_bound(leader, 4, 500, 0, 1.0) is None


def test_page_json_and_terminal_have_all_notes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Remarks on direction, missing cells and range, and ignored columns: read from one report by all three."""
    (tmp_path / "t.csv").write_text(
        "id,a_accuracy,b_accuracy,remark\n" + "x,0,1,fine\ny,0.5,,\nz,1,0.5,\n" * 4
    )
    with pytest.warns(TombolaWarning, match="higher is better"):
        read = read_table(
            tmp_path / "t.csv", kind="losses", range=(0, 100), missing="worst", ignore=["id"]
        )
    report = run_comparison(read, asked(learners=("UCB1",), repetitions=1))
    _show_report(report)
    printed = " ".join(capsys.readouterr().out.split())
    pages = (compare_page(report, command="x"), report._repr_html_())
    for shown in (printed, json.dumps(report.to_dict()), *map(unescape, pages)):
        assert "the names say higher is better" in shown
        assert "are missing and count as" in shown
        assert "all values lie between" in shown
        assert "remark (text)" in shown


def test_random_fixed_action_in_ranking() -> None:
    losses = np.array([[0.0, 0.9, 1.0], [0.0, 1.0, 1.0]] * 30)
    report = run_comparison(
        read_table(losses, kind="losses"), asked("full", learners=("FollowTheLeader", "Uniform"))
    )
    row = next(row for row in report.rankings["random"] if row.rank is None)
    assert row.learner == "random fixed action"
    assert [row.mean_loss, row.regret.value, row.switches] == pytest.approx([losses.mean(), 39, 0])
    assert report.random_action_loss == pytest.approx(60 * losses.mean())
    assert report.rankings["random"][0].learner == report.advice.learner == "FollowTheLeader"
    assert not report.advice.fixed_action


def test_bars_of_actions() -> None:
    for pool in (table().pool, Pool([[0.0]])):
        means = _mean_list(pool, UNIT_LOSSES)
        rows = means.rows
        assert [row.name for row in rows] == [pool.actions[i] for i in np.argsort(pool.means)]
        assert [float(row.text) for row in rows] == pytest.approx(
            sorted(pool.means.tolist()), abs=1e-4
        )
        for row in rows:
            assert row.dot is not None
            assert means.low <= row.low <= row.dot <= row.high <= means.high


@pytest.mark.parametrize(
    "others",
    [
        {"feedback": "some"},
        {"orders": ()},
        {"orders": ("random", "random")},
        {"orders": ("shuffled",)},
        {"price": 2.0, "target": 0.5},
        {"amounts": (0.1, 0.2)},
        {"learners": ("UCB3",)},
    ],
)
def test_bad_request_is_rejected(others: dict[str, Any], one_sentence: Any) -> None:
    with pytest.raises((ParameterError, OrderError)) as caught:
        run_comparison(dear(20), asked(**others))
    one_sentence(caught.value)


@pytest.mark.full
@pytest.mark.parametrize("name", [*OWN, *REAL])
def test_compare_on_every_shared_table(name: str, run_python: Any, tmp_path: Path) -> None:
    path = npz_of(name, tmp_path)
    done = run_python(
        "-c",
        "from tombola.cli.app import main; main()",
        "compare",
        str(path),
        cwd=tmp_path,
        COLUMNS="80",
    )
    card = json.loads(path.with_suffix(".json").read_text())
    assert done.returncode == 0, done.stderr
    assert f"Best action in this table (exact): {card['best_fixed_action']}, mean" in " ".join(
        done.stdout.split()
    )


LOSS = "total loss above the best fixed action"
PAGES: dict[str, tuple[dict[str, Any], str, tuple[str, ...]]] = {
    "bandit with a budget": (
        {"amounts": (0.1,)},
        "bandit",
        (
            "the learner sees only the outcome and costs of the played action",
            "is total loss above the best fixed mix within the budget",
        ),
    ),
    "full with a budget": (
        {"feedback": "full", "amounts": (0.1,)},
        "full",
        ("the learner sees the whole row", "the learners see the whole row with its costs"),
    ),
    "full learner": (
        {"learners": ("FollowTheLeader",)},
        "full",
        (
            "the learner sees the whole row",
            "Every row is drawn once",
            "the same shuffles of the rows",
            "has no effect",
        ),
    ),
    "bandit learner": (
        {"feedback": "full", "learners": ("UCB1",), "orders": ("given",)},
        "bandit",
        (
            "the learner sees only the outcome of the played action",
            "Every row is drawn once",
            "the same orders of the rows",
            f"Regret is {LOSS}",
            f"Regret so far is {LOSS}",
            "has no effect",
        ),
    ),
    "both": (
        {"learners": ("FollowTheLeader", "UCB1"), "orders": ("random", "iid")},
        "mixed",
        (
            "learners differ in the feedback they see",
            "Rows are drawn with replacement in iid order",
        ),
    ),
    "switching price": (
        {"learners": ("UCB1",), "price": 2.0},
        "bandit",
        ("total loss with switching costs above the best fixed action",),
    ),
    "target": (
        {"target": 0.5},
        "bandit",
        ("the cost above the cheapest mix that reaches the target",),
    ),
    "delays of rows": ({"learners": ("UCB1",)}, "bandit", ("feedback arrives 0 to 3 rounds late",)),
    "delay instead of those of rows": (
        {"learners": ("UCB1",), "delay": 7},
        "bandit",
        ("a delay of 7 rounds as requested",),
    ),
}


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("name", PAGES)
def test_page_states_conditions(name: str) -> None:
    """Feedback depends on the learners, not on the option or the budget."""
    options, feedback, texts = PAGES[name]
    given = dear(20)._replace(delays=np.arange(20) % 4 if "of rows" in name else None)
    report = run_comparison(given, asked(repetitions=1, **options))
    page = compare_page(report, command="x")
    assert [text for text in texts if text not in page] == []
    assert ("has no effect" in page) == ("has no effect" in texts)
    assert report.to_dict()["feedback"] == feedback
    assert report.to_dict()["delay"] == options.get("delay", [0, 3] if "of rows" in name else 0)


@pytest.mark.usefixtures("plainly")
def test_unit_of_target_and_switching_price() -> None:
    """After rescaling, a target of .3 means another value of the table."""
    kept = read_table(
        [[20.0, 80.0], [50.0, 30.0]] * 10, rescale=True, costs={"0": 2.0, "1": 1.0}, kind="losses"
    )
    for conditions, unit in (
        ({"target": 0.5}, "the target"),
        ({"price": 2.0, "learners": ("UCB1",)}, "the switching price"),
    ):
        words = f"{unit} is in rescaled losses"
        assert any(
            note.startswith(words)
            for note in run_comparison(kept, asked(repetitions=1, **conditions)).notes
        )
    plain = run_comparison(kept, asked(repetitions=1, learners=("UCB1",)))
    assert not any("is in rescaled losses" in note for note in plain.notes)


def test_row_delays_reach_runs() -> None:
    """In one order, so that only the delays of the rows can make a difference."""
    losses = np.random.default_rng(3).integers(0, 2, (40, 2)).astype(float)
    late_table, name = Table(Pool(losses), np.full(40, 30), []), "FollowTheLeader"
    request = CompareRequest(Conditions("full"), (name,), orders=("given",), repetitions=1)
    late, soon = (
        compare(
            losses, request.learners_by_name, "given", delay=delay, repetitions=1, seed=request.seed
        ).regret(name)
        for delay in (RowDelays(np.full(40, 30)), 0)
    )
    assert run_comparison(late_table, request).runs.regret(name).value == late.value != soon.value


def with_target(target: float, amounts: tuple[float, ...] = ()) -> CompareReport:
    request = CompareRequest(Conditions("full"), amounts=amounts, repetitions=3, target=target)
    return run_comparison(dear(300), request)


@pytest.mark.usefixtures("plainly")
def test_target_in_summary_page_and_json() -> None:
    report = with_target(0.3)
    best = optimum(report.pool, Budget(target=0.3, null="add"))
    assert report.summary.best.startswith(
        "Cheapest fixed mix that reaches the target (exact): small on "
    )
    assert (
        f"cost {300 * best.cost[0]:.4g}. One row better (by 1 loss) costs " in report.summary.best
    )
    assert report.summary.gain.endswith("The target is aimed at, not guaranteed.")
    picture = next(
        one for one in _charts(report) if one.heading == "Mean loss of the best mix over the budget"
    )
    assert [(line.name, line.y.tolist()) for line in picture.chart.lines] == [
        ("your target", [0.3, 0.3])
    ]
    assert {point.name for point in picture.chart.points} <= set(report.pool.actions)
    assert len(picture.chart.points) >= 3
    assert "your target" in compare_page(report, command="x")
    data = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert data["target"] == 0.3
    assert data["best_mix"]["costs"] == pytest.approx([300 * best.cost[0]])


@pytest.mark.usefixtures("plainly")
def test_budget_with_target(one_sentence: Any) -> None:
    least = 300 * float(optimum(dear(300).pool, Budget(target=0.3, null="add")).cost[0])
    names = [
        [line.name for line in one.chart.lines] for one in _charts(with_target(0.3, (2 * least,)))
    ]
    assert ["your budget", "your target"] in names
    names = [[line.name for line in one.chart.lines] for one in _charts(with_target(0.3, (1e6,)))]
    assert ["your budget, 1,000,000, lies beyond", "your target"] in names
    with pytest.raises(
        UnreachableError, match=r"needs at least .*, got a smaller budget"
    ) as caught:
        with_target(0.3, (least / 2,))
    one_sentence(caught.value)
