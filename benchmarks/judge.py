"""Labels that an audit needs with a judge, without one, and by prediction-powered inference.

    python benchmarks/judge.py [FOLDER] [--orders 1000]
    python benchmarks/judge.py --limits

FOLDER has pools with columns that serve as judge and label; without it only generated lists. PPI is
measured where `ppi_py` can be imported. A planned look needs the least number of labels at which
80 % of the orders are decided; at any number of looks the table has the mean, and the number by
which 80 % are decided. Errors: the same with the threshold at the mean of the list, where a proof
is wrong. `--limits` prints the labels that any valid planned look needs on the generated lists.
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


def least_labels(share: float, right: float, threshold: float) -> int:
    """Return the labels at which the best test of size 5 % has a power of 80 %.

    The test of Neyman and Pearson, of labels like the list against labels at the threshold that are
    hardest to tell apart; rows are drawn independently. No valid test needs fewer.
    """
    ones = share * right + (1 - share) * (1 - right)
    # Share of wrong labels where the judge says 1, and where it says 0.
    false_one = (1 - share) * (1 - right) / ones
    false_zero = share * (1 - right) / (1 - ones)
    at_ones = np.linspace(1e-4, 0.9, 20_001)
    at_zeros = (threshold - ones * (1 - at_ones)) / (1 - ones)
    is_possible = (at_zeros > 0) & (at_zeros < 1)
    at_ones, at_zeros = at_ones[is_possible], at_zeros[is_possible]

    def divergence(p: float, q: Any) -> Any:
        return p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))

    apart = ones * divergence(false_one, at_ones) + (1 - ones) * divergence(false_zero, at_zeros)
    hardest = int(np.argmin(apart))
    weights = np.array([ones, ones, 1 - ones, 1 - ones])

    def law(wrong_one: float, wrong_zero: float) -> Any:
        return weights * np.array([wrong_one, 1 - wrong_one, wrong_zero, 1 - wrong_zero])

    truth = law(false_one, false_zero)
    null = law(at_ones[hardest], at_zeros[hardest])
    rng = np.random.default_rng(0)

    def power(count: int, samples: int = 60_000) -> float:
        scores = [rng.multinomial(count, p, samples) @ np.log(truth / null) for p in (null, truth)]
        edge = np.quantile(scores[0], 1 - LEVEL, method="higher")
        above = [np.mean(score > edge + 1e-9) for score in scores]
        equal = [np.mean(np.abs(score - edge) <= 1e-9) for score in scores]
        return float(above[1] + (LEVEL - above[0]) / equal[0] * equal[1])

    low, high = 5, 400
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= POWER else (middle + 1, high)
    return low


def print_limits() -> None:
    """Print the least labels of a planned look on the generated lists."""
    for share, threshold in ((0.6, 0.5), (0.9, 0.83)):
        for right in (0.8, 0.9, 0.95):
            least = least_labels(share, right, threshold)
            print(f"share {share}, right {right:.0%}, threshold {threshold}: at least {least}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--orders", type=int, default=1000)
    parser.add_argument("--only", default="")
    parser.add_argument("--limits", action="store_true")
    options = parser.parse_args()
    if options.limits:
        print_limits()
        return
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
