"""Labels that an audit needs with a judge, without one, and by prediction-powered inference.

    python benchmarks/judge.py [FOLDER] [--orders 1000]

FOLDER has pools with columns that serve as judge and label; without it only generated lists. PPI is
measured where `ppi_py` can be imported. A planned look needs the least number of labels at which
80 % of the orders are decided; at any number of looks the table has the mean, and the number by
which 80 % are decided. Errors: the same with the threshold at the mean of the list, where a proof
is wrong.
"""

import argparse
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tombola.evidence import EProcess, PredictedMean
from tombola.evidence.single_look import Stratum, single_look_p_value, split_by_judge

LEVEL = 0.05
POWER = 0.8
# Orders for the power of a planned look at one number of labels.
POWER_ORDERS = 400
ROWS = 2000

Lists = Iterator[tuple[str, Any, Any, float]]


def generated_lists() -> Lists:
    """Yield names, labels, scores and thresholds of lists of 2,000 rows."""
    rng = np.random.default_rng(0)
    for share, threshold in ((0.6, 0.5), (0.9, 0.83)):
        labels = (rng.permutation(ROWS) < share * ROWS).astype(float)
        for right in (0.8, 0.9, 0.95):
            wrong = rng.permutation(ROWS) < round((1 - right) * ROWS)
            yield f"share {share}, right {right:.0%}", labels, np.abs(labels - wrong), threshold


def pool_lists(folder: Path) -> Lists:
    """Yield the first 2,000 rows of two pools, in a random order fixed by a seed."""
    rows = np.random.default_rng(0).permutation(14_000)[:ROWS]
    yelp = np.load(folder / "frugalml_yelp.npz", allow_pickle=True)
    labels = (yelp["y"][rows] == 1).astype(float)
    for service in ("GitHub(Vader)", "Amazon", "Google"):
        column = yelp["actions"].tolist().index(service)
        says = np.abs(labels - yelp["loss"][rows, column])
        yield f"yelp positive, {service}", labels, says, round(labels.mean() - 0.1, 2)
    mmlu = 1.0 - np.load(folder / "routellm_mmlu.npz", allow_pickle=True)["loss"][rows]
    yield "mmlu Mixtral, GPT-4", mmlu[:, 0], mmlu[:, 1], round(mmlu[:, 0].mean() - 0.08, 2)


def any_time(labels: Any, judge: Any, threshold: float, orders: Any) -> Any:
    """Return the labels until a proof of "mean > threshold" with the judge, one number an order."""
    needed = np.full(len(orders), labels.size)
    for at, order in enumerate(orders):
        mean = PredictedMean(judge[:, np.newaxis], LEVEL, points=[threshold])
        for row in order:
            mean.update(int(row), float(labels[row]))
            if mean.max_wealth[0, 0] >= 1.0 / LEVEL:
                needed[at] = mean.count
                break
    return needed


def any_time_alone(labels: Any, threshold: float, orders: Any) -> Any:
    """Return the same without a judge."""
    process = EProcess(at_most=threshold, population=labels.size, level=LEVEL, actions=len(orders))
    process.extend(np.column_stack([labels[order] for order in orders]))
    return np.where(process.refuted, process.rows, labels.size)


def single_look(labels: Any, strata: Any, threshold: float) -> Callable[[Any], bool]:
    """Return the test that a planned look at these rows makes."""
    sizes = np.bincount(strata)
    most = int(np.floor(threshold * labels.size + 1e-9))
    known: dict[tuple[int, ...], bool] = {}

    def is_proved(rows: Any) -> bool:
        counts = np.bincount(strata[rows], minlength=sizes.size)
        ones = np.bincount(strata[rows], labels[rows], sizes.size).astype(int)
        key = (*counts.tolist(), *ones.tolist())
        if key not in known:
            parts = [Stratum(*map(int, part)) for part in zip(sizes, counts, ones, strict=True)]
            known[key] = single_look_p_value(parts, most, LEVEL) <= LEVEL
        return known[key]

    return is_proved


def prediction_powered(labels: Any, judge: Any, threshold: float) -> Callable[[Any], bool] | None:
    """Return the same test by PPI with its tuned weight; None if it is not installed."""
    try:
        ppi_mean_ci = import_module("ppi_py").ppi_mean_ci
    except ImportError:
        return None

    def is_proved(rows: Any) -> bool:
        rest = np.ones(labels.size, bool)
        rest[rows] = False
        low, _ = ppi_mean_ci(
            labels[rows], judge[rows], judge[rest], alpha=LEVEL, alternative="larger"
        )
        return bool(np.squeeze(low) > threshold)

    return is_proved


def labels_for_power(is_proved: Callable[[Any], bool], orders: Any) -> int:
    """Return the least number of labels at which 80 % of the orders are decided, by bisection."""
    grid = np.unique(np.round(20 * 1.04 ** np.arange(100)).astype(int))
    low, high = 0, grid.size - 1
    while low < high:
        middle = (low + high) // 2
        count = int(grid[middle])
        if np.mean([is_proved(order[:count]) for order in orders]) >= POWER:
            high = middle
        else:
            low = middle + 1
    return int(grid[low])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--orders", type=int, default=1000)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    lists = [*generated_lists(), *(pool_lists(options.folder) if options.folder else [])]
    print(
        "list; agree; any time: with judge mean/80 %, alone mean/80 %; one look: judge, alone, PPI;"
        " errors: any, one look, PPI"
    )
    for name, labels, judge, threshold in lists:
        if options.only not in name:
            continue
        rng = np.random.default_rng(1)
        orders = [rng.permutation(labels.size) for _ in range(options.orders)]
        few = orders[:POWER_ORDERS]
        cells = [f"{name:28s} {np.mean(labels == judge):.3f}"]
        with_judge = any_time(labels, judge, threshold, orders)
        alone = any_time_alone(labels, threshold, orders)
        cells.append(
            " ".join(f"{x.mean():.0f}/{np.quantile(x, POWER):.0f}" for x in (with_judge, alone))
        )
        strata = split_by_judge(judge)
        none = np.zeros(labels.size, int)
        tests = {
            "judge": single_look(labels, strata, threshold),
            "alone": single_look(labels, none, threshold),
            "ppi": prediction_powered(labels, judge, threshold),
        }
        planned = {method: labels_for_power(test, few) for method, test in tests.items() if test}
        cells.append(" ".join(f"{method} {count}" for method, count in planned.items()))
        edge = float(labels.mean())
        wrong = any_time(labels, judge, edge, [order[:300] for order in orders]) < labels.size
        errors = {"any": wrong.mean()}
        at_edge = {
            "judge": single_look(labels, strata, edge),
            "ppi": prediction_powered(labels, judge, edge),
        }
        for method, test in at_edge.items():
            if test:
                claims = [test(order[: planned[method]]) for order in orders]
                errors[method] = np.mean(claims)
        cells.append(" ".join(f"{method} {share:.3f}" for method, share in errors.items()))
        print("; ".join(cells), flush=True)


if __name__ == "__main__":
    main()
