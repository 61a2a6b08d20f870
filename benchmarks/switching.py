"""Regret with switches on real tables at prices 0, 1 and 10: `python benchmarks/switching.py FOLDER`.

FOLDER holds NAME.npz files with an array `loss`. Every learner meets the same 60 orders. Printed are totals (regret and
price of the switches), the least that a runner without noise could pay (`oracle`), the ratio of Thrifty to FrugalUCB
with its standard error, how far a blind action is behind Thrifty in standard errors of that difference, runs of Thrifty
above five times its mean, and geometric means over the tables it was tuned on and over the others. `switching.py made`
does the same on pools made for this report and on ugly ones, `switching.py tails FOLDER` counts such runs in more
orders of the shorter tables and of the ugly pool of two actions, and `switching.py birthday` plays the birthday test
under bandit feedback, directly and simulated.
"""

import sys
from pathlib import Path

import numpy as np

from measure import read_pools
from tombola import Pool, compare, instances, play
from tombola._types import Floats
from tombola.learners import (
    UCB2,
    BanditBirthdayTest,
    EpsilonGreedy,
    FrugalUCB,
    LazyOptimisticSimulation,
    OptimisticSimulation,
    RandomFixedAction,
    Thrifty,
)
from tombola.learners.base import Learner

PRICES, ORDERS, SEED = (0.0, 1.0, 10.0), 60, 2026
TUNED = (
    "alpacaeval_v2", "aslib_csp_mzn_2013", "aslib_qbf_2014", "aslib_sat12_indu", "frugalml_command", "frugalml_yelp",
    "limeqo_job", "routellm_gsm8k", "swebench_bash",
)  # fmt: skip


def default_learners(price: float) -> dict[str, Learner]:
    return {
        "Thrifty": Thrifty(price),
        "FrugalUCB": FrugalUCB(price),
        "UCB2": UCB2(),
        "RandomFixedAction": RandomFixedAction(),
        "EpsilonGreedy": EpsilonGreedy(),
    }


def ugly() -> dict[str, Pool]:
    """Return pools that a thrifty learner may get wrong."""
    generator = np.random.default_rng(7)
    means = {
        "all equal": np.full(30, 0.3),
        "nearly equal": 0.3 + 0.01 * generator.standard_normal(30),
        "one good of 30": np.where(np.arange(30) == 17, 0.2, 0.9),
        "best loses rarely": np.where(np.arange(8) == 3, 0.005, 0.05),
        "two actions": np.array([0.5, 0.45]),
        "one action": np.array([0.5]),
    }
    pools = {name: Pool((generator.random((3000, m.size)) < m).astype(float)) for name, m in means.items()}
    pools["T < k"] = Pool((generator.random((40, 60)) < generator.random(60)).astype(float))
    pools["heavy ties"] = instances.heavy_ties(2000, 12, seed=0)
    return pools


def oracle(pool: Pool, price: float) -> float:
    """Return the least that trying j actions once and staying with the best of them costs, were there no noise."""
    gaps = np.sort(np.asarray(pool.losses, dtype=np.float64).mean(axis=0))
    gaps -= gaps[0]
    k, rows = gaps.size, pool.rows
    best = np.inf
    for tried in range(1, k + 1):
        probabilities = np.array([np.prod((k - i - np.arange(1, tried)) / (k - np.arange(1, tried))) for i in range(k)])
        weights = probabilities.clip(0) * tried / k
        staying = float((weights * gaps).sum()) * (rows - tried)
        best = min(best, staying + tried * float(gaps.mean()) + price * (tried - 1 + (tried - 1) / tried * (tried > 1)))
    return best


def fresh() -> dict[str, Pool]:
    """Return pools made for this report alone: few and many rows an action; losses 0/1, beta, normal; columns alike."""
    generator = np.random.default_rng(20_261_116)
    pools: dict[str, Pool] = {}
    for rows, k in ((150, 60), (600, 40), (2500, 35), (900, 12), (8000, 10), (12_000, 3)):
        size = f"{rows} x {k}"
        spread = generator.choice([0.03, 0.1, 0.25])
        means = np.clip(generator.uniform(0.15, 0.85) + spread * generator.standard_normal(k), 0.02, 0.98)
        rng = (generator.random((rows, k)) < means).astype(float)
        alike = (0.6 * generator.random((rows, 1)) + 0.4 * generator.random((rows, k)) < means).astype(float)
        normal = np.clip(means + 0.15 * generator.standard_normal((rows, k)), 0, 1)
        kinds = {
            "rng": rng,
            "alike": alike,
            "normal": normal,
            "beta": generator.beta(3 * means, 3 * (1 - means), (rows, k)),
        }
        pools |= {f"fresh {kind} {size}": Pool(losses) for kind, losses in kinds.items()}
    return pools


def measure(pool: Pool, price: float) -> dict[str, Floats]:
    learners = default_learners(price)
    runs = compare(pool, learners, repetitions=ORDERS, switching_price=price, seed=SEED)
    return {name: runs.regrets(name) for name in learners}


def half_of(name: str) -> str:
    """Return which geometric mean a pool belongs to."""
    return "tuned on" if name in TUNED else "fresh" if name.startswith("fresh") else "ugly" if " " in name else "others"


def line(name: str, pool: Pool, price: float) -> tuple[str, float, int]:
    """Return one line of the table, the ratio of Thrifty to FrugalUCB, and how many runs were catastrophic."""
    totals = measure(pool, price)
    thrifty, frugal, blind = totals["Thrifty"], totals["FrugalUCB"], totals["RandomFixedAction"]
    below = max(float(frugal.mean()), 1e-9)
    ratio = float(thrifty.mean()) / below if frugal.mean() > 0 else 1.0
    error = float((thrifty - ratio * frugal).std()) / below / ORDERS**0.5
    ahead = float((blind - thrifty).mean()) / max(float((blind - thrifty).std()) / ORDERS**0.5, 1e-9)
    bad = int((thrifty > 5 * thrifty.mean()).sum()) if thrifty.mean() > 0 else 0
    cells = " | ".join(f"{total.mean():.1f}" for total in totals.values())
    size = f"{pool.rows} x {pool.k}"
    last = f"{oracle(pool, price):.1f} | {ratio:.2f} ± {error:.2f} | {ahead:+.1f} | {bad}"
    return f"| {name} | {size} | {price:g} | {cells} | {last} |", ratio, bad


def table(pools: dict[str, Pool]) -> None:
    """Print one line for each pool and price, and the geometric means."""
    head = ["table", "rows x actions", "price", *default_learners(1.0), "oracle", "Thrifty / FrugalUCB", "blind", "bad"]
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    ratios: dict[tuple[str, float], list[float]] = {}
    catastrophes = 0
    for name, pool in pools.items():
        for price in PRICES:
            text, ratio, bad = line(name, pool, price)
            print(text, flush=True)
            catastrophes += bad
            if ratio > 0:
                ratios.setdefault((half_of(name), price), []).append(ratio)
    for (half, price), some in ratios.items():
        geometric = float(np.exp(np.mean(np.log(some))))
        print(f"{half:10} price {price:g}: geometric mean {geometric:.3f}, worst {max(some):.2f} of {len(some)} pools")
    runs = len(pools) * len(PRICES) * ORDERS
    print(f"{catastrophes} of {runs} runs of Thrifty above five times their mean")


def tails(pools: dict[str, Pool], orders: int) -> None:
    """Print how many of many runs are above five times their mean, for Thrifty and FrugalUCB."""
    for name, pool in pools.items():
        for price in PRICES:
            named: dict[str, Learner] = {"Thrifty": Thrifty(price), "FrugalUCB": FrugalUCB(price)}
            runs = compare(pool, named, repetitions=orders, switching_price=price, seed=SEED + 1)
            totals = {learner: runs.regrets(learner) for learner in named}
            bad = {learner: int((total > 5 * total.mean()).sum()) for learner, total in totals.items()}
            print(f"{name:22} {price:4g} {orders} orders, above five times the mean: {bad}", flush=True)


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
    elif sys.argv[1:] == ["made"]:
        table(fresh() | ugly())
    elif len(sys.argv) == 2:
        table(read_pools(Path(sys.argv[1])))
    elif len(sys.argv) == 3 and sys.argv[1] == "tails":
        short = {name: pool for name, pool in read_pools(Path(sys.argv[2])).items() if pool.rows < 6000}
        tails(short | {"two actions": ugly()["two actions"]}, 300)
    else:
        raise SystemExit("switching.py: expected a folder, `tails` and a folder, `made` or `birthday`.")
