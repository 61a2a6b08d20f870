"""Regret of AdaHedge relative to FollowTheLeader and Hedge; Hedge with delay.

`python benchmarks/hedging.py FOLDER`, where FOLDER holds NAME.npz files with an array `loss`.
Prints the mean expected regret of AdaHedge divided by the smaller one of the two others, on
generated pools from ties to clear gaps and on the tables, and the regret in random order of Hedge
tuned to a delay for the worst order. The pools were fixed beforehand.
"""

import sys
from pathlib import Path

import numpy as np

from measure import geometric_mean, read_pools
from tombola import Pool, compare
from tombola._types import Floats
from tombola.learners import AdaHedge, FollowTheLeader, Hedge
from tombola.learners.base import Learner

KAPPAS = (1.0, 1.5, 2.0, 3.0)
# Horizon of generated pools, and limits on the orders per pool: their number, and the rounds of all
# of them.
T, MAX_ORDERS, MAX_ROUNDS = 1024, 400, 2_000_000
DELAY_T, DELAY, DELAY_ORDERS = 2**14, 1000, 60


def regrets(
    pool: Pool, learners: dict[str, Learner], orders: int, delay: int = 0
) -> dict[str, Floats]:
    runs = compare(pool, learners, repetitions=orders, delay=delay, seed=1)
    return {name: runs.regrets(name, expected=True) for name in learners}


def factors(pool: Pool, orders: int) -> dict[float, tuple[float, float]]:
    """Return the factor of each kappa, with its standard error."""
    learners: dict[str, Learner] = {f"AdaHedge {kappa}": AdaHedge(kappa=kappa) for kappa in KAPPAS}
    found = regrets(
        pool, {"FollowTheLeader": FollowTheLeader(), "Hedge": Hedge(), **learners}, orders
    )
    base = min((found["FollowTheLeader"], found["Hedge"]), key=np.mean)
    factor = {}
    for kappa in KAPPAS:
        own = found[f"AdaHedge {kappa}"]
        ratio = float(own.mean() / base.mean())
        factor[kappa] = ratio, float((own - ratio * base).std() / base.mean() / orders**0.5)
    return factor


def generated_pools(k: int) -> dict[str, Pool]:
    """Return pools with a best action ahead by 0, 1, .., 32 times 1/sqrt(T).

    Losses are independent 0 and 1 ("rng"), or one action loses in each row ("one loses").
    """
    generator = np.random.default_rng(k)
    pools = {}
    for times in (0, 1, 2, 4, 8, 16, 32):
        probabilities = np.full(k, 0.5)
        probabilities[-1] -= min(0.5, times / 2 / T**0.5)
        pools[f"rng, gap {times}/sqrt(T)"] = Pool(
            (generator.random((T, k)) < probabilities).astype(float)
        )
        rows = np.arange(T) % k
        rows[generator.permutation(np.flatnonzero(rows == k - 1))[: int(times / 2 * T**0.5)]] = 0
        pools[f"one loses, {times}"] = Pool(np.eye(k)[rows])
    return pools


def print_factors(title: str, pools: dict[str, Pool]) -> None:
    ratios: dict[float, list[float]] = {kappa: [] for kappa in KAPPAS}
    for name, pool in pools.items():
        orders = min(MAX_ORDERS, max(20, MAX_ROUNDS // pool.rows))
        cells = []
        for kappa, (ratio, error) in factors(pool, orders).items():
            ratios[kappa].append(ratio)
            cells.append(f"kappa {kappa}: {ratio:.2f} +- {error:.2f}")
        print(
            f"{title} {name} ({pool.rows} x {pool.k}, {orders} orders): {', '.join(cells)}",
            flush=True,
        )
    for kappa, some in ratios.items():
        print(
            f"{title} kappa {kappa}: geometric mean {geometric_mean(some):.2f}, worst "
            f"{max(some):.2f}",
            flush=True,
        )


def print_delayed() -> None:
    """Print the regret in random order of Hedge with and without tuning to the delay."""
    generator = np.random.default_rng(0)
    pool = Pool((generator.random((DELAY_T, 2)) < [0.55, 0.45]).astype(float))
    learners: dict[str, Learner] = {"Hedge()": Hedge(), "tuned": Hedge(order="given", delay=DELAY)}
    found = regrets(pool, learners, DELAY_ORDERS, DELAY)
    cells = [
        f"{name} {own.mean():.1f} +- {own.std() / DELAY_ORDERS**0.5:.1f}"
        for name, own in found.items()
    ]
    print(
        f"T = {DELAY_T}, d = {DELAY}, k = 2, gap .1, {DELAY_ORDERS} orders: {', '.join(cells)}",
        flush=True,
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("hedging.py: expected one folder of tables; write hedging.py FOLDER.")
    print_delayed()
    print_factors("k = 2:", generated_pools(2))
    print_factors("k = 10:", generated_pools(10))
    print_factors("table", read_pools(Path(sys.argv[1])))
