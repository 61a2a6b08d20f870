"""The ranks behind the advice: every setting on the demo pools, printed as the table in src/tombola/tables/advice.py.

Run it with `python benchmarks/advice.py`; it takes a few minutes. The seed is 1, and all learners meet the same orders.
"""

from collections.abc import Callable
from time import perf_counter

import numpy as np

from tombola import Pool, compare, demo
from tombola.budget import Budget
from tombola.runs import Runs
from tombola.tables.contestants import Circumstances, budgeted_contestants, contestants

REPETITIONS, DELAY, PRICE = 20, 100, 5.0
POOLS: dict[str, Callable[[], Pool]] = {
    "digits": demo.digits,
    "language_models": lambda: demo.language_models(seed=1),
    "solvers": lambda: demo.solvers(seed=1),
    "evaluation": lambda: demo.evaluation(seed=1),
    "call_list": lambda: demo.call_list(seed=1).pool,
    "gpu_models": lambda: demo.gpu_models(seed=1),
}
SETTINGS = (
    Circumstances("full"),
    Circumstances("bandit"),
    Circumstances("full", delay=DELAY),
    Circumstances("bandit", delay=DELAY),
    Circumstances("bandit", switching_price=PRICE),
)


def half_way(pool: Pool) -> Budget:
    """Return a budget half-way between playing the cheapest action always and the best one always."""
    assert pool.costs is not None
    means = pool.costs[:, :, 0].mean(axis=0)
    return Budget(float(pool.rows * (means.min() + means[pool.best]) / 2), null="add")


def ranks(runs: Runs) -> list[str]:
    return runs.ranking()


def main() -> None:
    print("RANKS: dict[str, dict[str, float]] = {")
    for met in SETTINGS:
        start = perf_counter()
        orders = {}
        for name, make in POOLS.items():
            orders[name] = ranks(
                compare(
                    make(), contestants(met), repetitions=REPETITIONS, delay=met.delay,
                    switching_price=met.switching_price, workers=2, seed=1,
                )
            )  # fmt: skip
        show(met.kind, orders, perf_counter() - start)
    start = perf_counter()
    dear = {name: make() for name, make in POOLS.items() if make().costs is not None}
    orders = {
        name: ranks(
            compare(pool, budgeted_contestants(), budget=half_way(pool), repetitions=REPETITIONS, workers=2, seed=1)
        )
        for name, pool in dear.items()
    }
    show("budget", orders, perf_counter() - start)
    print("}")


def show(kind: str, orders: dict[str, list[str]], seconds: float) -> None:
    first = next(iter(orders.values()))
    means = {name: float(np.mean([order.index(name) + 1 for order in orders.values()])) for name in first}
    cells = ", ".join(f'"{name}": {means[name]:.2f}' for name in sorted(means, key=lambda n: means[n]))
    print(f'    "{kind}": {{{cells}}},  # {len(orders)} pools, {seconds:.0f} s', flush=True)


if __name__ == "__main__":
    main()
