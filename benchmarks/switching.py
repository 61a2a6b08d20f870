"""Regret with switches on real tables at prices 0, 1 and 10: `python benchmarks/switching.py FOLDER`.

FOLDER holds NAME.npz files with an array `loss`. Every learner meets the same 60 orders. Printed are totals (regret and
price of the switches), the ratio of Thrifty to FrugalUCB with its standard error, runs of Thrifty above five times its
mean, and geometric means over the half it was tuned on, over the other half, and over made-up ugly pools. The word
`birthday` in the place of FOLDER plays the birthday test under bandit feedback, directly and simulated.
"""

import sys
from pathlib import Path

import numpy as np

from tombola import Pool, compare, instances, play
from tombola.learners.bandit import UCB2, BanditBirthdayTest, BlindAction, EpsilonGreedy
from tombola.learners.base import Learner
from tombola.learners.switching import FrugalUCB, Thrifty
from tombola.reductions import LazyOptimisticSimulation, OptimisticSimulation
from tombola.types import Floats

PRICES, ORDERS = (0.0, 1.0, 10.0), 60
TUNED = (
    "alpacaeval_v2", "aslib_csp_mzn_2013", "aslib_qbf_2014", "aslib_sat12_indu", "frugalml_command", "frugalml_yelp",
    "limeqo_job", "routellm_gsm8k", "swebench_bash",
)  # fmt: skip


def contestants(price: float) -> dict[str, Learner]:
    return {
        "Thrifty": Thrifty(price),
        "FrugalUCB": FrugalUCB(price),
        "UCB2": UCB2(),
        "BlindAction": BlindAction(),
        "EpsilonGreedy": EpsilonGreedy(),
    }


def ugly() -> dict[str, Pool]:
    """Return pools that a thrifty learner may get wrong."""
    rng = np.random.default_rng(7)
    means = {
        "all equal": np.full(30, 0.3),
        "nearly equal": 0.3 + 0.01 * rng.standard_normal(30),
        "one good of 30": np.where(np.arange(30) == 17, 0.2, 0.9),
        "best loses rarely": np.where(np.arange(8) == 3, 0.005, 0.05),
        "two actions": np.array([0.5, 0.45]),
        "one action": np.array([0.5]),
    }
    pools = {name: Pool((rng.random((3000, m.size)) < m).astype(float)) for name, m in means.items()}
    pools["T < k"] = Pool((rng.random((40, 60)) < rng.random(60)).astype(float))
    pools["heavy ties"] = instances.heavy_ties(2000, 12, seed=0)
    return pools


def oracle(pool: Pool, price: float) -> float:
    """Return the least that trying j actions once and staying with the best of them costs, were there no noise."""
    gaps = np.sort(np.asarray(pool.losses, dtype=np.float64).mean(axis=0))
    gaps -= gaps[0]
    k, rows = gaps.size, pool.rows
    best = np.inf
    for tried in range(1, k + 1):
        chances = np.array([np.prod((k - i - np.arange(1, tried)) / (k - np.arange(1, tried))) for i in range(k)])
        weights = chances.clip(0) * tried / k
        staying = float((weights * gaps).sum()) * (rows - tried)
        best = min(best, staying + tried * float(gaps.mean()) + price * (tried - 1 + (tried - 1) / tried * (tried > 1)))
    return best


def measure(pool: Pool, price: float) -> dict[str, Floats]:
    learners = contestants(price)
    runs = compare(pool, learners, repetitions=ORDERS, switching_price=price, seed=0)
    return {name: runs.regrets(name) for name in learners}


def table(pools: dict[str, Pool]) -> None:
    """Print one line for each pool and price, and the geometric means."""
    ratios: dict[tuple[str, float], list[float]] = {}
    for name, pool in pools.items():
        half = "tuned on" if name in TUNED else "made up" if " " in name else "others"
        for price in PRICES:
            totals = measure(pool, price)
            mean = {learner: float(total.mean()) for learner, total in totals.items()}
            thrifty, frugal = totals["Thrifty"], totals["FrugalUCB"]
            ratio = mean["Thrifty"] / mean["FrugalUCB"] if mean["FrugalUCB"] > 0 else 1.0
            error = float((thrifty - ratio * frugal).std()) / max(mean["FrugalUCB"], 1e-9) / ORDERS**0.5
            bad = int((thrifty > 5 * thrifty.mean()).sum()) if mean["Thrifty"] > 0 else 0
            if ratio > 0:
                ratios.setdefault((half, price), []).append(ratio)
            cells = " ".join(f"{mean[learner]:8.1f}" for learner in totals)
            size = f"{pool.rows} x {pool.k}"
            cells += f" {oracle(pool, price):8.1f}"
            print(f"{name:20} {size:>11} {price:4g} {cells}  {ratio:.2f} +- {error:.2f} {bad}", flush=True)
    for (half, price), some in ratios.items():
        geometric = float(np.exp(np.mean(np.log(some))))
        print(f"{half:10} price {price:g}: geometric mean {geometric:.3f}, worst {max(some):.2f} of {len(some)} pools")


def birthday() -> None:
    """Print the regret of the birthday test, directly and simulated."""
    for power, few in ((9, 4), (11, 4), (13, 4), (15, 1)):
        rows = 2**power
        base, pool = BanditBirthdayTest(grid=rows), instances.birthday(rows)
        kinds = ((base, 1), (OptimisticSimulation(base), few), (LazyOptimisticSimulation(base), 20))
        means = [np.mean([play(learner, pool, seed=seed).regret for seed in range(n)]) for learner, n in kinds]
        print(f"| {rows:,} | {means[0]:,.1f} | {means[1]:.0f} | {means[2]:.0f} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["birthday"]:
        birthday()
    elif len(sys.argv) == 2:
        print(f"{'':38}{' '.join(f'{name[:8]:>8}' for name in [*contestants(1.0), 'oracle'])}  Thrifty / FrugalUCB")
        files = [file for file in sorted(Path(sys.argv[1]).glob("*.npz")) if "loss" in np.load(file)]
        table({file.stem: Pool(np.load(file)["loss"]) for file in files} | ugly())
    else:
        raise SystemExit("switching.py: expected one folder of tables or `birthday`; write switching.py FOLDER.")
