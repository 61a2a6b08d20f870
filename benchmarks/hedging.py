"""AdaHedge(kappa) against the better one of follow the leader and Hedge, and Hedge with late rows.

`python benchmarks/hedging.py FOLDER`, where FOLDER holds NAME.npz files with an array `loss`. Printed is the mean
expected regret of AdaHedge over the smaller of those of the two others, on pools from ties to clear gaps and on the
tables, then what Hedge tuned to a delay for the worst order pays in random order. Nothing is chosen by its outcome.
"""

import sys
from pathlib import Path

import numpy as np

from measure import read_pools
from tombola import Pool, compare
from tombola._types import Floats
from tombola.learners import AdaHedge, FollowTheLeader, Hedge
from tombola.learners.base import Learner

KAPPAS = (1.0, 1.5, 2.0, 3.0)
T, ORDERS, ROUNDS = 1024, 400, 2_000_000
LATE_T, DELAY, LATE_ORDERS = 2**14, 1000, 60


def regrets(pool: Pool, learners: dict[str, Learner], orders: int, delay: int = 0) -> dict[str, Floats]:
    runs = compare(pool, learners, repetitions=orders, delay=delay, seed=1)
    return {name: runs.regrets(name, expected=True) for name in learners}


def factors(pool: Pool, orders: int) -> dict[float, tuple[float, float]]:
    """Return the factor of each kappa, with its standard error."""
    adaptive: dict[str, Learner] = {f"AdaHedge {kappa}": AdaHedge(kappa=kappa) for kappa in KAPPAS}
    found = regrets(pool, {"FollowTheLeader": FollowTheLeader(), "Hedge": Hedge(), **adaptive}, orders)
    rival = min((found["FollowTheLeader"], found["Hedge"]), key=np.mean)
    factor = {}
    for kappa in KAPPAS:
        own = found[f"AdaHedge {kappa}"]
        ratio = float(own.mean() / rival.mean())
        factor[kappa] = ratio, float((own - ratio * rival).std() / rival.mean() / orders**0.5)
    return factor


def made(k: int) -> dict[str, Pool]:
    """Return pools whose best action is better by 0, 1, .., 32 of 1/sqrt(T): rng, and rows that one action loses."""
    generator = np.random.default_rng(k)
    pools = {}
    for times in (0, 1, 2, 4, 8, 16, 32):
        probabilities = np.full(k, 0.5)
        probabilities[-1] -= min(0.5, times / 2 / T**0.5)
        pools[f"rng, gap {times}/sqrt(T)"] = Pool((generator.random((T, k)) < probabilities).astype(float))
        rows = np.arange(T) % k
        rows[generator.permutation(np.flatnonzero(rows == k - 1))[: int(times / 2 * T**0.5)]] = 0
        pools[f"one loses, {times}"] = Pool(np.eye(k)[rows])
    return pools


def table(title: str, pools: dict[str, Pool]) -> None:
    all_found: dict[float, list[float]] = {kappa: [] for kappa in KAPPAS}
    for name, pool in pools.items():
        orders = min(ORDERS, max(20, ROUNDS // pool.rows))
        found = factors(pool, orders)
        for kappa in KAPPAS:
            all_found[kappa].append(found[kappa][0])
        cells = ", ".join(f"kappa {kappa}: {found[kappa][0]:.2f} +- {found[kappa][1]:.2f}" for kappa in KAPPAS)
        print(f"{title} {name} ({pool.rows} x {pool.k}, {orders} orders): {cells}", flush=True)
    for kappa, some in all_found.items():
        print(
            f"{title} kappa {kappa}: geometric mean {np.exp(np.mean(np.log(some))):.2f}, worst {max(some):.2f}",
            flush=True,
        )


def late() -> None:
    """Print what tuning to the delay costs in random order."""
    generator = np.random.default_rng(0)
    pool = Pool((generator.random((LATE_T, 2)) < [0.55, 0.45]).astype(float))
    learners: dict[str, Learner] = {"Hedge()": Hedge(), "tuned": Hedge(order="given", delay=DELAY)}
    found = regrets(pool, learners, LATE_ORDERS, DELAY)
    cells = [f"{name} {own.mean():.1f} +- {own.std() / LATE_ORDERS**0.5:.1f}" for name, own in found.items()]
    print(f"T = {LATE_T}, d = {DELAY}, k = 2, gap .1, {LATE_ORDERS} orders: {', '.join(cells)}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("hedging.py: expected one folder of tables; write hedging.py FOLDER.")
    late()
    table("k = 2:", made(2))
    table("k = 10:", made(10))
    table("table", read_pools(Path(sys.argv[1])))
