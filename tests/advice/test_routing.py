"""Routing by features in a comparison: the three answers, their figures, terminal, page and JSON."""

import json
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tombola import Pool, play
from tombola.advice import CompareRequest, compare_page, run_comparison
from tombola.advice.default_learners import Conditions
from tombola.advice.routing import (
    _MAX_REPETITIONS,
    _MIN_REPETITIONS,
    Routing,
    run_routing,
    skip_reason,
)
from tombola.budget.optimum import best_per_row, optimum
from tombola.cli.app import app
from tombola.cli.compare import _show_report
from tombola.policies import Ridge, Routed, RoutedLP
from tombola.rng import repetition_seeds
from tombola.tables.to_pool import Table


@pytest.fixture(autouse=True, scope="module")
def ridge_only() -> Iterator[None]:
    """Trees take seconds without compiled kernels, and are tested with the policies."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, policy in (("Routed", Routed), ("RoutedLP", RoutedLP)):
            monkeypatch.setattr(
                f"tombola.advice.routing.{name}", lambda policy=policy: policy(models=(Ridge(),))
            )
        yield


def table(
    rows: int = 300, *, useful: bool = True, prices: tuple[float, float] | None = None
) -> Table:
    """Two actions; the side decides which one is right, and the feature is the side or noise.

    With prices of 1 and 10, the expensive action is right on all rows, the cheap one on one side.
    """
    rng = np.random.default_rng(0)
    side = rng.integers(0, 2, rows)
    wrong = rng.random(rows) < 0.1
    losses = np.stack([side ^ wrong, 1 - (side ^ wrong)], axis=1).astype(float)
    losses[: rows // 5] = (0.0, 1.0)  # the first action is the best fixed one
    if prices == DEAR:
        losses = np.stack([side, 0 * side], axis=1).astype(float)
    features = (side if useful else rng.random(rows)).astype(float)
    costs = None if prices is None else np.tile(prices, (rows, 1))
    return Table(
        Pool(losses, ["small", "large"], costs=costs, features=features, feature_names=["side"]),
        None,
        [],
    )


PRICED, DEAR = (1.0, 2.0), (1.0, 10.0)


def request(
    feedback: str = "full", delay: int = 0, price: float = 0.0, **others: Any
) -> CompareRequest:
    return CompareRequest(Conditions(feedback, delay, price), repetitions=5, **others)


@cache
def routed(feedback: str = "full") -> Routing:
    """Return routing on the table with a useful feature, once for all tests."""
    return run_routing(table(), request(feedback))


GUARD = "on average over the guard's draws"
ANSWERS: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[str, ...], tuple[str, ...]]] = {
    "no limit": (
        {},
        {},
        (
            "Route by features: on this list 0.",
            "less loss a row than always small",
            f"{GUARD} at most 3 rows worse than not routing",
        ),
        ("Features do not help here: small.",),
    ),
    # With delay the promise is about the mean over orders too (Theorem C3').
    "delay": (
        {},
        {"delay": 7},
        (f"{GUARD} and over orders at most 3 rows",),
        ("Features do not help here: small.",),
    ),
    "budget": (
        {"prices": PRICED},
        {"amounts": (450.0,)},
        ("less than the best fixed mix at the same cost, known in advance",),
        ("Features do not help here: the best fixed mix at the same cost (",),
    ),
    "target": (
        {"prices": DEAR, "rows": 900},
        {"target": 0.1},
        ("(target 0.1) for", "% less than the cheapest fixed mix that reaches the target"),
        ("Features do not help here: the cheapest fixed mix that reaches the target",),
    ),
}


@pytest.mark.parametrize("useful", [True, False])
@pytest.mark.parametrize("case", ANSWERS)
def test_useful_features_are_recommended_and_noise_is_not(case: str, useful: bool) -> None:
    given, asked, recommended, rejected = ANSWERS[case]
    routing = run_routing(table(useful=useful, **given), request(**asked))
    assert routing.helps is useful
    assert all(text in routing.sentence for text in (recommended if useful else rejected))
    assert 0.0 < routing.share_of_gap.value < 1.0 or not useful
    if case == "budget":
        spent = routing.rows[0].spent
        assert spent is not None
        assert spent.value <= 450.0
    elif case == "target":
        assert "aimed at, not guaranteed" in routing.detail
    else:
        assert "averaged over the guard's draws 0." in routing.detail
        assert ", realised 0." in routing.detail
        assert routing.against_safe is not None
        assert routing.against_safe.value <= 3.0


@pytest.mark.full
def test_share_under_budget_is_of_best_choice_within_it() -> None:
    """The oracle keeps to the budget too: with half of the money it cannot play the right action on every row."""
    one = table(900, prices=PRICED)
    asked = request(amounts=(900.0,))
    routing = run_routing(one, asked)
    budget = asked.budget(one.pool)
    assert budget is not None
    mix, best = 1 - optimum(one.pool, budget).value, best_per_row(one.pool, budget)
    assert best > np.asarray(one.pool.losses).min(axis=1).mean() + 0.1
    routed = routing.rows[0].mean_loss.value
    assert routing.share_of_gap.value == pytest.approx((mix - routed) / (mix - best))


def test_figures_are_those_of_traces() -> None:
    one, routing = table(), routed()
    traces = [
        play(Routed(models=(Ridge(),)), one.pool, seed=seed)
        for seed in repetition_seeds(1, _MIN_REPETITIONS)
    ]
    losses = {row.name: row.mean_loss.value for row in routing.rows}
    assert losses["Routed, averaged"] == pytest.approx(
        np.mean([trace.expected_loss for trace in traces]) / 300
    )
    assert losses["Routed, realised"] == pytest.approx(
        np.mean([trace.loss for trace in traces]) / 300
    )
    assert losses["safe: FollowTheLeader"] == pytest.approx(
        np.mean([trace.router.safe_loss for trace in traces]) / 300
    )
    assert losses["always small"] == pytest.approx(one.pool.means[0])
    assert routing.gain.value == pytest.approx(losses["always small"] - losses["Routed, averaged"])
    assert routing.share_of_gap.value == pytest.approx(
        np.mean([trace.router.share_of_gap for trace in traces])
    )
    ends = [trace.router.safe_loss - trace.expected_loss for trace in traces]
    assert routing.won[:, -1].tolist() == pytest.approx(ends)


def test_rows_with_delays_of_their_own_are_routed() -> None:
    """The reserve of rows in flight bounds every order, so the answer does not average over orders."""
    routing = run_routing(table()._replace(delays=np.arange(300) % 30), request(feedback="bandit"))
    assert "on average over the guard's draws at most 3 rows" in routing.sentence
    assert routing.explanation is not None
    assert routing.explanation.starts.size == 0
    assert [row.name for row in routing.rows] == [row.name for row in routed("bandit").rows]
    assert 0 < routing.gain.value < routed("bandit").gain.value


@pytest.mark.parametrize(
    ("options", "delays", "reason"),
    [
        ({"amounts": (1.0, 2.0)}, None, "one budget only"),
        ({"price": 2.0}, None, "routing ignores the switching price"),
    ],
)
def test_conditions_without_routing_are_noted(
    options: dict[str, Any], delays: Any, reason: str
) -> None:
    given = table(prices=PRICED)._replace(delays=delays)
    assert reason in (skip_reason(given, request(**options)) or "")
    assert skip_reason(table(), request()) is None


def test_routing_needs_features_and_their_use() -> None:
    given = table(60)
    without = run_comparison(
        given._replace(pool=Pool(given.pool.losses)), request(learners=("Uniform",))
    )
    assert without.to_dict()["routing"] is without.routing is None
    unused = run_comparison(given, request(learners=("Uniform",), price=2.0))
    assert unused.routing is None
    assert "features are not used: routing ignores the switching price" in unused.notes


def test_report_page_json_and_terminal_agree(capsys: pytest.CaptureFixture[str]) -> None:
    report = run_comparison(table(60), request("bandit", learners=("UCB1",)))
    assert report.routing is not None
    data = json.loads(json.dumps(report.to_dict(), allow_nan=False))["routing"]
    assert data["sentence"] == report.routing.sentence
    assert (
        data["losses"]["Routed, averaged"]["mean_loss"]["value"]
        == report.routing.rows[0].mean_loss.value
    )
    page = compare_page(report, command="tombola compare").replace("&#39;", "'")
    assert report.routing.sentence in page
    assert "Rows won by routing against the safe learner" in page
    _show_report(report)
    printed = " ".join(capsys.readouterr().out.split())
    assert report.routing.sentence in printed
    assert "Routed, realised" in printed
    note = (
        "routing sees whole rows after each round, the learners only the outcome of the "
        "played action"
    )
    assert note in report.notes


def test_repetitions_are_bounded() -> None:
    """More would take minutes, fewer have no interval to decide by."""
    for asked, played in ((1, _MIN_REPETITIONS), (8, 8), (40, _MAX_REPETITIONS)):
        routing = run_routing(table(40), CompareRequest(Conditions("full"), repetitions=asked))
        assert routing.gain.repetitions == played


def test_compare_command_takes_features(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tombola.cli.app import app

    pool = table().pool
    path, cells = tmp_path / "t.csv", np.column_stack([pool.losses, np.asarray(pool.features)])
    np.savetxt(path, cells, "%g", ",", header="small_loss,large_loss,side", comments="")
    app(
        [
            "compare",
            str(path),
            "--features",
            "side",
            "--feedback",
            "full",
            "--repetitions",
            "2",
            "--json",
            "--fresh",
            "--learners",
            "FollowTheLeader",
        ],
        standalone_mode=False,
    )
    data = json.loads(capsys.readouterr().out)
    assert data["actions"] == ["small", "large"]
    assert data["routing"]["helps"] is True


def test_page_explains_the_router() -> None:
    """Learning curve, capital, rows won, importance and a tree in words; under a budget cost against quality."""
    report = run_comparison(table(), request(learners=("FollowTheLeader",)), name="t", workers=1)
    page = compare_page(report, command="tombola compare t.csv")
    for text in (
        "Capital of the guard",
        "Learning curve of the router",
        "Twice the rows would bring",
        "In words",
        "side at most 0.5: small",
        "Features that matter",
        "orders lost.",
    ):
        assert text in page
    assert report.to_dict()["routing"]["explanation"]["importance"]["side"] > 0.2
    report = run_comparison(
        table(300, prices=(1.0, 10.0)),
        request(amounts=(1000.0,), learners=("EmpiricalLP",)),
        name="t",
        workers=1,
    )
    assert "RoutedLP chooses by features, on one order at several budgets" in compare_page(
        report, command="x"
    )
    costs = [one["cost"] for one in report.to_dict()["routing"]["quality"]]
    assert len(costs) == 4
    assert costs == sorted(costs)


@pytest.mark.parametrize("feedback", ["full", "bandit"])
def test_routing_is_advised_first_and_its_command_starts(
    feedback: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command is the one that the terminal prints; the list has the columns of the features."""
    monkeypatch.chdir(tmp_path)
    one = table()
    summary = run_comparison(one, request(feedback=feedback)).summary
    assert summary.advice.startswith("Advice for a new list")
    assert summary.advice.index("route by features with Routed") < summary.advice.index(", ")
    words = shlex.split(summary.command)
    names = words[words.index("--features") + 1].split(",")
    lines = [",".join(["id", *names])] + [
        ",".join([f"n{i}", *["0.5"] * len(names)]) for i in range(9)
    ]
    Path("ids.csv").write_text("\n".join(lines) + "\n")
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == 0, result.output
    assert "Routed" in result.output
