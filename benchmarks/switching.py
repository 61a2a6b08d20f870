"""Regret with switches at prices 0, 1 and 10: `benchmarks/switching.py FOLDER`.

FOLDER holds NAME.npz files with an array `loss`. All learners play the same 60 orders. Columns:
totals (regret plus price of switches), `oracle` (least total without noise), ratio of Thrifty to
FrugalUCB with its standard error, `blind` (lead of Thrifty over a random fixed action, in standard
errors), `bad` (runs of Thrifty above five times its mean). Geometric means follow, over the tables
that Thrifty was tuned on and over the others.

    switching.py made           the same on generated and degenerate pools
    switching.py tails FOLDER   bad runs in more orders of short tables and of two actions
    switching.py birthday       the birthday test under bandit feedback, directly and simulated
"""

import sys
from pathlib import Path

import numpy as np

from measure import geometric_mean, read_pools
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
# A run is bad above this multiple of the mean.
BAD_RUN = 5
# Rows of tables whose tails are counted, and orders of each.
MAX_TAIL_ROWS, TAIL_ORDERS = 6000, 300
# Tables on which Thrifty and AdaHedge were tuned.
TUNED = (
    "alpacaeval_v2",
    "aslib_csp_mzn_2013",
    "aslib_qbf_2014",
    "aslib_sat12_indu",
    "frugalml_command",
    "frugalml_yelp",
    "limeqo_job",
    "routellm_gsm8k",
    "swebench_bash",
)


def default_learners(price: float) -> dict[str, Learner]:
    learners = (Thrifty(price), FrugalUCB(price), UCB2(), RandomFixedAction(), EpsilonGreedy())
    return {type(learner).__name__: learner for learner in learners}


def degenerate_pools() -> dict[str, Pool]:
    """Return pools with ties, few rows, or one clear winner among many actions."""
    generator = np.random.default_rng(7)
    means = {
        "all equal": np.full(30, 0.3),
        "nearly equal": 0.3 + 0.01 * generator.standard_normal(30),
        "one good of 30": np.where(np.arange(30) == 17, 0.2, 0.9),
        "best loses rarely": np.where(np.arange(8) == 3, 0.005, 0.05),
        "two actions": np.array([0.5, 0.45]),
        "one action": np.array([0.5]),
    }
    pools = {
        name: Pool((generator.random((3000, m.size)) < m).astype(float))
        for name, m in means.items()
    }
    pools["T < k"] = Pool((generator.random((40, 60)) < generator.random(60)).astype(float))
    pools["heavy ties"] = instances.heavy_ties(2000, 12, seed=0)
    return pools


def oracle(pool: Pool, price: float) -> float:
    """Return the least expected total of trying j actions once and playing the best."""
    gaps = np.sort(np.asarray(pool.losses, dtype=np.float64).mean(axis=0))
    gaps -= gaps[0]
    k, rows = gaps.size, pool.rows
    best = np.inf
    for tried in range(1, k + 1):
        others = np.arange(1, tried)
        # Probability that action i is the best of those tried.
        weights = (
            np.array([np.prod((k - i - others) / (k - others)) for i in range(k)]).clip(0)
            * tried
            / k
        )
        exploitation = float((weights * gaps).sum()) * (rows - tried)
        switches = tried - 1 + (tried - 1) / tried * (tried > 1)
        best = min(best, exploitation + tried * float(gaps.mean()) + price * switches)
    return best


def generated_pools() -> dict[str, Pool]:
    """Return pools generated for this report only, used for no tuning.

    Few and many rows per action; losses 0/1, correlated 0/1 ("alike"), normal and beta.
    """
    generator = np.random.default_rng(20_261_116)
    pools: dict[str, Pool] = {}
    for rows, k in ((150, 60), (600, 40), (2500, 35), (900, 12), (8000, 10), (12_000, 3)):
        size = f"{rows} x {k}"
        spread = generator.choice([0.03, 0.1, 0.25])
        means = np.clip(
            generator.uniform(0.15, 0.85) + spread * generator.standard_normal(k), 0.02, 0.98
        )
        kinds = {
            "rng": (generator.random((rows, k)) < means).astype(float),
            "alike": (
                0.6 * generator.random((rows, 1)) + 0.4 * generator.random((rows, k)) < means
            ).astype(float),
            "normal": np.clip(means + 0.15 * generator.standard_normal((rows, k)), 0, 1),
            "beta": generator.beta(3 * means, 3 * (1 - means), (rows, k)),
        }
        pools |= {f"fresh {kind} {size}": Pool(losses) for kind, losses in kinds.items()}
    return pools


def total_regrets(
    pool: Pool, learners: dict[str, Learner], price: float, orders: int = ORDERS, seed: int = SEED
) -> dict[str, Floats]:
    runs = compare(pool, learners, repetitions=orders, switching_price=price, seed=seed)
    return {name: runs.regrets(name) for name in learners}


def group_of(name: str) -> str:
    """Return the group of pools whose geometric mean a pool belongs to."""
    return (
        "tuned on"
        if name in TUNED
        else "fresh"
        if name.startswith("fresh")
        else "ugly"
        if " " in name
        else "others"
    )


def line(name: str, pool: Pool, price: float) -> tuple[str, float, int]:
    """Return a line of the table, the ratio to FrugalUCB, and the bad runs."""
    totals = total_regrets(pool, default_learners(price), price)
    thrifty, frugal = totals["Thrifty"], totals["FrugalUCB"]
    base = max(float(frugal.mean()), 1e-9)
    ratio = float(thrifty.mean()) / base if frugal.mean() > 0 else 1.0
    error = float((thrifty - ratio * frugal).std()) / base / ORDERS**0.5
    lead = totals["RandomFixedAction"] - thrifty
    lead_in_errors = float(lead.mean()) / max(float(lead.std()) / ORDERS**0.5, 1e-9)
    bad = int((thrifty > BAD_RUN * thrifty.mean()).sum()) if thrifty.mean() > 0 else 0
    cells = " | ".join(f"{total.mean():.1f}" for total in totals.values())
    last = f"{oracle(pool, price):.1f} | {ratio:.2f} ± {error:.2f} | {lead_in_errors:+.1f} | {bad}"
    return f"| {name} | {pool.rows} x {pool.k} | {price:g} | {cells} | {last} |", ratio, bad


def print_table(pools: dict[str, Pool]) -> None:
    """Print one line for each pool and price, and the geometric means."""
    head = [
        "table",
        "rows x actions",
        "price",
        *default_learners(1.0),
        "oracle",
        "Thrifty / FrugalUCB",
        "blind",
        "bad",
    ]
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    ratios: dict[tuple[str, float], list[float]] = {}
    all_bad = 0
    for name, pool in pools.items():
        for price in PRICES:
            text, ratio, bad = line(name, pool, price)
            print(text, flush=True)
            all_bad += bad
            if ratio > 0:
                ratios.setdefault((group_of(name), price), []).append(ratio)
    for (group, price), some in ratios.items():
        mean = geometric_mean(some)
        print(
            f"{group:10} price {price:g}: geometric mean {mean:.3f}, worst {max(some):.2f} of "
            f"{len(some)} pools"
        )
    print(
        f"{all_bad} of {len(pools) * len(PRICES) * ORDERS} runs of Thrifty above five times "
        "their mean"
    )


def print_tails(pools: dict[str, Pool], orders: int) -> None:
    """Print the number of bad runs of Thrifty and FrugalUCB."""
    for name, pool in pools.items():
        for price in PRICES:
            learners: dict[str, Learner] = {
                "Thrifty": Thrifty(price),
                "FrugalUCB": FrugalUCB(price),
            }
            totals = total_regrets(pool, learners, price, orders, SEED + 1)
            bad = {
                learner: int((total > BAD_RUN * total.mean()).sum())
                for learner, total in totals.items()
            }
            print(
                f"{name:22} {price:4g} {orders} orders, above five times the mean: {bad}",
                flush=True,
            )


def print_birthday() -> None:
    """Print the regret of the birthday test, directly and simulated."""
    for power, orders in ((9, 4), (11, 4), (13, 4), (15, 1)):
        rows = 2**power
        base, pool = BanditBirthdayTest(grid=rows), instances.birthday(rows)
        kinds = (
            (base, 1),
            (OptimisticSimulation(base), orders),
            (LazyOptimisticSimulation(base), 20),
        )
        means = [
            np.mean([play(learner, pool, seed=seed).regret for seed in range(n)])
            for learner, n in kinds
        ]
        print(f"| {rows:,} | {means[0]:,.1f} | {means[1]:.0f} | {means[2]:.0f} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["birthday"]:
        print_birthday()
    elif sys.argv[1:] == ["made"]:
        print_table(generated_pools() | degenerate_pools())
    elif len(sys.argv) == 2:
        print_table(read_pools(Path(sys.argv[1])))
    elif len(sys.argv) == 3 and sys.argv[1] == "tails":
        short = {
            name: pool
            for name, pool in read_pools(Path(sys.argv[2])).items()
            if pool.rows < MAX_TAIL_ROWS
        }
        print_tails(short | {"two actions": degenerate_pools()["two actions"]}, TAIL_ORDERS)
    else:
        raise SystemExit(
            "switching.py: expected a folder, `tails` and a folder, `made` or `birthday`."
        )
