"""The report on a table of one's own: its numbers are those of the runs, and its words say what was found."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pools import OWN, REAL, npz_of
from tombola import Pool, compare, demo, play
from tombola._compare import regret_bound
from tombola._formatting import format_estimate
from tombola.advice.default_learners import Conditions, default_budgeted_learners, default_learners
from tombola.advice.learner_list import listing
from tombola.advice.page import means, page_of, share_chart
from tombola.advice.prior_ranks import RANKS
from tombola.advice.report import Answer, answer_to
from tombola.advice.request import CompareRequest
from tombola.advice.text import sentences
from tombola.budget.budget import Budget
from tombola.cli.demo_script import STATIONS, walk
from tombola.engine.loop import SWITCHES
from tombola.errors import ParameterError
from tombola.learners import EmpiricalLP
from tombola.readers import read_table
from tombola.readers.to_pool import Table
from tombola.report.compare_page import Mean, limits, strips
from tombola.rng import repetition_seeds


def table(rows: int = 50, actions: int = 3, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    return read_table(rng.random((rows, actions)), kind="losses")


def asked(feedback: str = "bandit", delay: int = 0, price: float = 0.0, **others: Any) -> CompareRequest:
    return CompareRequest(Conditions(feedback, delay, price), repetitions=others.pop("repetitions", 4), **others)


def dear(rows: int = 80) -> Table:
    return Table(demo.language_models(rows, seed=0), None, [])


@pytest.mark.parametrize("feedback", ["bandit", "full"])
@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize("price", [0.0, 2.0])
def test_the_standings_are_those_of_compare(feedback: str, delay: int, price: float) -> None:
    question = asked(feedback, delay, price, orders=("random", "given"))
    report = answer_to(table(), question)
    runs = compare(
        report.pool, default_learners(question.met), ["random", "given"],
        repetitions=4, delay=delay, switching_price=price, seed=1,
    )  # fmt: skip
    for order in ("random", "given"):
        standings = [one for one in report.standings(order) if one.rank]
        assert [one.learner for one in standings] == runs.ranking(order)
        assert [one.regret for one in standings] == [
            format_estimate(runs.regret(one.learner, order)) for one in standings
        ]
        assert standings[0].spent == ""
    assert report.advice.learner in runs.learners


def test_the_shares_are_those_of_the_runs() -> None:
    report = answer_to(table(), asked(delay=3, orders=("given",)))
    for learner in report.runs.learners:
        ends, shares = report.runs.shares(learner, "given")
        counts = (shares * np.diff(ends, prepend=0)[:, None]).sum(axis=0)
        assert counts == pytest.approx(report.runs.cell(learner).plays.mean(axis=0))


def test_shares_add_up_to_one_and_what_is_hardly_played_is_put_together() -> None:
    report = answer_to(table(actions=12), asked())
    chart = share_chart(report, report.runs.ranking()[0], "random")
    assert [band.name for band in chart.bands][-1] == "5 others"
    assert len(chart.bands) == 8
    assert sum(band.middle for band in chart.bands) == pytest.approx(np.ones(40))


def test_a_budget_is_compared_by_the_regret_of_every_play() -> None:
    pool, budget = dear().pool, Budget(0.2, null="add")
    lp = {"lp": EmpiricalLP()}
    done = compare(pool, lp, budget=budget, relabel=False, repetitions=3, seed=5)
    traces = [play(EmpiricalLP(), pool, budget=budget, seed=seed) for seed in repetition_seeds(5, 3)]
    assert done.regrets("lp") == pytest.approx([trace.regret for trace in traces])
    rounds, spent = done.spent("lp")
    assert spent[:, :, 0] == pytest.approx(np.array([trace.spending[rounds - 1, 0] for trace in traces]))
    assert done.cell("lp").plays.tolist() == [trace.plays.tolist() for trace in traces]
    assert done.cell("lp").sums[:, -1, SWITCHES].tolist() == [
        float((trace.actions[1:] != trace.actions[:-1]).sum()) for trace in traces
    ]
    assert done.actions == ("tiny", "small", "medium", "large", "none of them")
    many = compare(pool, lp, budget=budget, relabel=False, repetitions=3, workers=2, seed=5)
    assert (many.cell("lp").sums == done.cell("lp").sums).all()


def test_actions_are_relabelled_under_a_budget_too() -> None:
    """Ties go to the lowest index: without relabelling, the first of two equal columns has all the plays."""
    pool = Pool([[0.0, 0.0, 1.0]] * 40, ["one", "other", "null"], costs=[[1.0, 1.0, 0.0]] * 40)
    told = {"lp": EmpiricalLP()}
    kept = compare(pool, told, budget=Budget(20.0), relabel=False, repetitions=20, seed=1).cell("lp").plays
    assert min(kept[:, :2].sum(axis=0)) == 0
    mixed = compare(pool, told, budget=Budget(20.0), repetitions=20, seed=1).cell("lp").plays
    assert min(mixed[:, :2].sum(axis=0)) > 0
    assert (mixed[:, :2].sum(axis=1) <= 20).all()


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("feedback", ["bandit", "full"])
def test_nothing_is_overspent_on_the_way(feedback: str) -> None:
    report = answer_to(dear(), asked(amounts=(0.1,), feedback=feedback))
    for learner in report.runs.learners:
        _, spent = report.runs.spent(learner)
        assert (np.diff(spent[:, :, 0], axis=1) >= 0).all()
        assert (spent <= 0.1).all()
    assert "spent" in page_of(report, command="tombola compare x --budget 0.1")
    assert any("see the whole row" in note for note in report.notes) == (feedback == "full")


def test_a_free_action_of_the_table_is_the_null_action() -> None:
    report = answer_to(
        Table(Pool([[1.0, 0.0]] * 20, ["skip", "call"], costs=[[0.0, 1.0]] * 20), None, []), asked(amounts=(5.0,))
    )
    assert report.runs.actions == ("skip", "call")


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("actions", [1, 2])
@pytest.mark.parametrize("repeated", [1, 2])
def test_tiny_tables_have_a_report_and_a_page(rows: int, actions: int, repeated: int) -> None:
    report = answer_to(read_table(np.full((rows, actions), 0.5), kind="losses"), asked(repetitions=repeated))
    assert "</html>" in page_of(report, command="x")
    json.dumps(report.data(), allow_nan=False)
    assert "inf" not in report.standings("random")[0].regret


def test_a_drifting_table_is_told_in_plain_words() -> None:
    drifting = np.repeat([[0.0, 0.5], [1.0, 0.5]], 200, axis=0)
    report = answer_to(read_table(drifting, actions=["rising", "flat"], kind="losses"), asked())
    assert report.verdict.refuted
    assert report.order_words.startswith("not random: the losses of rising drift")
    assert "hold if the rows are shuffled first" in report.order_words
    shuffled = answer_to(read_table(np.random.default_rng(0).permutation(drifting), kind="losses"), asked())
    assert shuffled.order_words.startswith("nothing speaks against random order")


@pytest.mark.parametrize(
    ("met", "kind"),
    [
        (Conditions("full"), "full"),
        (Conditions("full", delay=3), "late rows"),
        (Conditions("full", switching_price=3), "full"),
        (Conditions("bandit"), "bandit"),
        (Conditions("bandit", delay=3), "late losses"),
        (Conditions("bandit", delay=3, switching_price=1), "switching"),
    ],
)
def test_every_setting_has_its_kind_and_its_prior(met: Conditions, kind: str) -> None:
    assert met.kind == kind
    assert set(RANKS[kind]) <= set(default_learners(met)) | set(default_learners(Conditions(met.feedback)))


def test_under_a_budget_the_feedback_says_who_plays_and_a_switch_may_cost() -> None:
    losses = CompareRequest(Conditions("bandit", switching_price=1.0), amounts=(5.0,))
    rows = CompareRequest(Conditions("full"), amounts=(5.0,))
    assert (losses.kind, list(losses.budgeted_recipes)) == ("budget losses", ["ThriftyLP", "OptimisticLP"])
    assert (rows.kind, next(iter(rows.budgeted_recipes))) == ("budget", "EmpiricalLP")
    both = CompareRequest(Conditions("bandit"), learners=("EmpiricalLP", "ThriftyLP"), amounts=(5.0,))
    assert list(both.budgeted_recipes) == ["EmpiricalLP", "ThriftyLP"]


def test_the_prior_ranks_add_up() -> None:
    assert set(RANKS) == {"full", "bandit", "late rows", "late losses", "switching", "budget", "budget losses"}
    for ranks in RANKS.values():
        assert sum(ranks.values()) == pytest.approx(sum(range(1, len(ranks) + 1)), abs=0.1)
    assert set(RANKS["budget"]) == set(default_budgeted_learners())
    assert set(RANKS["budget losses"]) == set(default_budgeted_learners("bandit"))


def test_the_bound_is_that_of_the_learner_and_is_left_out_where_it_does_not_hold() -> None:
    for met in (Conditions("full"), Conditions(), Conditions("bandit", 0, 3.0)):
        for name, learner in default_learners(met).items():
            dear = met.switching_price > 0 and not hasattr(learner, "price")
            bound = regret_bound(learner, 4, 500, met.delay, met.switching_price)
            assert bound == (None if dear else learner.bound(4, 500)), name
    leader = default_learners(Conditions("full"))["FollowTheLeader"]
    late = regret_bound(leader, 4, 500, 9, 0.0)
    assert late is not None
    assert late == leader.bound(4, 500, 9)
    assert regret_bound(default_learners(Conditions())["TsallisInf"], 4, 500, 9, 0.0) is None
    assert regret_bound(leader, 4, 500, 0, 1.0) is None


def test_one_action_picked_blindly_has_its_exact_place() -> None:
    losses = np.array([[0.0, 0.9, 1.0], [0.0, 1.0, 1.0]] * 30)
    report = answer_to(read_table(losses, kind="losses"), asked("full", learners=("FollowTheLeader", "Uniform")))
    blind = next(one for one in report.standings("random") if not one.rank)
    assert (blind.mean_loss, blind.regret, blind.switches) == (f"{losses.mean():.4f}", "39", "0")
    assert report.blind == pytest.approx(60 * losses.mean())
    first = report.standings("random")[0]
    assert first.learner == report.advice.learner == "FollowTheLeader"
    assert not report.advice.stays


def test_means_and_strips_lie_where_they_should() -> None:
    report: Answer = answer_to(table(), asked())
    found = means(report)
    assert [mean.value for mean in found] == pytest.approx(report.pool.means.tolist())
    assert all(mean.low < mean.value < mean.high for mean in found)
    drawn = strips(tuple(found))
    assert [one.action for one in drawn] == [report.pool.actions[i] for i in np.argsort(report.pool.means)]
    assert all(0 <= one.left <= one.dot <= one.left + one.width <= 100.01 for one in drawn)
    low, high = limits((Mean("a", 0.0, 0.0, 0.0), Mean("b", 0.0, 0.0, 0.0)))
    assert low < high


@pytest.mark.parametrize(
    "others",
    [
        {"feedback": "some"},
        {"orders": ()},
        {"orders": ("random", "random")},
        {"orders": ("shuffled",)},
    ],
)
def test_a_bad_question_is_refused(others: dict[str, Any], one_sentence: Any) -> None:
    with pytest.raises(Exception, match="; ") as caught:
        asked(**others)
    assert isinstance(caught.value, ParameterError | ValueError)
    one_sentence(caught.value)


@pytest.mark.parametrize("name", [name for name in STATIONS if name != "digits"])
def test_every_generated_pool_has_its_tour(name: str) -> None:
    first = next(walk(name, seed=1))
    assert first.heading == "The pool"
    assert STATIONS[name].make(1).actions[0] in first.text


@pytest.mark.full
@pytest.mark.parametrize("name", [*OWN, *REAL])
def test_every_table_runs_through_compare(name: str, run_python: Any, tmp_path: Path) -> None:
    path = npz_of(name, tmp_path)
    done = run_python(
        "-c", "from tombola.cli.app import main; main()", "compare", str(path), cwd=tmp_path, COLUMNS="80"
    )
    card = json.loads(path.with_suffix(".json").read_text())
    assert done.returncode == 0, done.stderr
    assert f"the best action in it is {card['best_fixed_action']}, mean loss" in " ".join(done.stdout.split())


def test_a_column_of_delays_is_used_unless_another_delay_is_asked_for() -> None:
    from tombola.advice.request import late
    from tombola.delay import RowDelays

    table = demo.call_list(seed=0)
    assert table.delays is not None
    assert isinstance(late(table, CompareRequest(Conditions("bandit"))), RowDelays)
    assert late(table._replace(delays=None), CompareRequest(Conditions("bandit"))) == 0


@pytest.mark.usefixtures("plainly")
def test_a_bound_that_says_nothing_is_not_told() -> None:
    """Nobody can have a regret above the number of rows, so a bound is told only below that."""
    answer = answer_to(table(12), asked("full", orders=("random",)))
    assert answer.bound is not None
    assert ("(proved)" in sentences(answer).sure) == (answer.bound < 12)
    for bound, told in ((12.0, False), (11.5, True)):
        other = replace(answer, runs=replace(answer.runs, bounds=dict.fromkeys(answer.runs.bounds, bound)))
        assert ("at most 11.5 in random order (proved)" in sentences(other).sure) == told


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(
    ("feedback", "learners", "amounts", "seen", "lead"),
    [
        ("bandit", (), (0.1,), "bandit", "only loss and costs of the action played are seen"),
        ("full", (), (0.1,), "full", "the whole row is seen"),
        ("bandit", ("FollowTheLeader",), (), "full", "the whole row is seen"),
        ("full", ("UCB1",), (), "bandit", "only the loss played is seen"),
        ("bandit", ("FollowTheLeader", "UCB1"), (), "mixed", "each learner sees what it needs"),
    ],
)
def test_what_is_seen_is_told_as_it_is(
    feedback: str, learners: tuple[str, ...], amounts: tuple[float, ...], seen: str, lead: str
) -> None:
    """What a learner sees is its own: it is neither what was asked for, nor whole rows wherever there is a budget."""
    report = answer_to(dear(20), asked(feedback, learners=learners, amounts=amounts, repetitions=1))
    assert report.data()["feedback"] == seen
    assert lead in page_of(report, command="x")
    assert any("whatever feedback" in note for note in report.notes) == (
        not amounts and seen not in (feedback, "mixed")
    )


@pytest.mark.usefixtures("plainly")
def test_the_delays_of_a_table_are_told() -> None:
    late = dear(20)._replace(delays=np.arange(20) % 4)
    report = answer_to(late, asked(learners=("UCB1",), repetitions=1))
    assert report.data()["delay"] == [0, 3]
    assert "feedback comes 0 to 3 rounds late" in page_of(report, command="x")
    other = answer_to(late, asked(learners=("UCB1",), repetitions=1, delay=7))
    assert other.data()["delay"] == 7
    assert any("7 rounds late, as asked" in note for note in other.notes)


@pytest.mark.usefixtures("plainly")
def test_a_budget_of_nothing_is_not_said_to_be_enough() -> None:
    """It was: the price of the first unit is infinite, and that was taken for none."""
    pool = Pool([[0.6, 0.1]] * 10, ["small", "large"], costs=[[1.0, 4.0]] * 10)
    said = sentences(answer_to(Table(pool, None, []), asked(amounts=(0.0,), repetitions=1))).here
    assert "any budget above 0 could save losses" in said
    assert "affordable" not in said


def test_a_price_of_switches_is_refused_with_a_target() -> None:
    """It was printed and counted nowhere."""
    with pytest.raises(ParameterError, match="got 2; leave out switching_price, or the target"):
        answer_to(dear(20), asked(price=2.0, target=0.5))


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(
    ("met", "page", "label"),
    [
        ({"target": 0.5}, "what is spent above the cheapest mix that reaches the target", "spent above"),
        ({"amounts": (0.1,)}, "loss above the best fixed mix within the budget", "loss above the best fixed mix"),
        ({"price": 2.0, "learners": ("UCB1",)}, "loss with the price of switches above the best fixed action", "loss"),
        ({"learners": ("UCB1",)}, "loss above the best fixed action", "loss above the best fixed action"),
    ],
)
def test_the_page_says_what_regret_is(met: dict[str, Any], page: str, label: str) -> None:
    """With a target, it was called a loss above the best mix within the budget."""
    report = answer_to(dear(20), asked(repetitions=1, **met))
    shown = page_of(report, command="x")
    assert f"Regret is {page}" in shown
    assert f"Regret so far is {page}" in shown
    assert report.runs.chart().y_label.startswith(f"regret: {label}")


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(
    ("orders", "lead"),
    [
        (("random",), ("Every row once", "the same shuffles of the rows")),
        (("given",), ("Every row once", "the same orders of the rows")),
        (("random", "iid"), ("Rows are drawn with replacement in iid order", "the same orders of the rows")),
    ],
)
def test_the_page_says_how_rows_come(orders: tuple[str, ...], lead: tuple[str, ...]) -> None:
    shown = page_of(answer_to(dear(20), asked(repetitions=1, orders=orders, learners=("UCB1",))), command="x")
    assert all(words in shown for words in lead)


def test_the_list_of_learners_has_whole_sentences() -> None:
    """They ended at the first point: "on past rows in i.i.d"."""
    told = {one.name: one.what for one in listing()}
    assert told["Simulation"].startswith("Train `base` on past rows in i.i.d. order, and play its frequencies")
    assert told["DualDescent"].endswith("after every round")
    assert all(what.count("(") == what.count(")") for what in told.values())


@pytest.mark.usefixtures("plainly")
def test_the_unit_of_a_target_and_of_a_price_is_told() -> None:
    """A table from .2 to .8 that is rescaled has another .3 than the one that was meant, perhaps."""
    kept = read_table([[20.0, 80.0], [50.0, 30.0]] * 10, rescale=True, costs={"0": 2.0, "1": 1.0}, kind="losses")
    for met, unit in (
        ({"target": 0.5}, "the target"),
        ({"price": 2.0, "learners": ("UCB1",)}, "the price of a switch"),
    ):
        words = f"{unit} was taken in rescaled losses"
        assert any(note.startswith(words) for note in answer_to(kept, asked(repetitions=1, **met)).notes)
    plain = answer_to(kept, asked(repetitions=1, learners=("UCB1",)))
    assert not any("was taken in rescaled losses" in note for note in plain.notes)
