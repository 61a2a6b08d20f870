"""Shares of T OPT under budgets, bandit feedback beside whole rows: `benchmarks/budgets.py FOLDER [ORDERS [NAMES]]`.

`benchmarks/budgets.py FOLDER ORDERS NAMES target` is the mirror image: what is spent for the losses of those optima.
`benchmarks/budgets.py FOLDER ORDERS NAMES thrifty SEED` plays ThriftyLP alone, on the orders of another seed than 1.

FOLDER holds NAME.npz files with arrays `loss` and `cost`. The budget is 25, 50 and 75 % of what the best action costs
on all rows; every learner meets the same 40 orders, drawn play. `fixed` is the best single action whose mean cost fits
(its mean reward: no play), `oracle` knows all means but not which action is which. ThriftyLP was tuned on the pools
marked with a star, and on no other. At the end of each, what a delay and a price on switches change.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from budget_peers import EpsilonFirstLP, Oracle, PrimalDualBwK
from tombola import Budget, Pool, compare
from tombola.budget.budget import BudgetRun
from tombola.budget.optimum import UnreachableError, optimum
from tombola.budget.tracker import new_tracker
from tombola.engine.loop import LOSS, SPENT
from tombola.learners import EmpiricalLP, OptimisticLP, ThriftyLP

NAMES = (
    "swebench_bash", "alpacaeval_v2", "routellm_gsm8k", "routellm_mmlu", "frugalml_rafdb", "frugalml_yelp",
    "frugalml_command",
)  # fmt: skip
TUNED = ("routellm_gsm8k", "frugalml_command", "swebench_bash", "alpacaeval_v2", "frugalml_rafdb")
SHARES = (0.25, 0.5, 0.75)


def pool_in(folder: Path, name: str) -> Pool:
    """Return a pool with its costs."""
    with np.load(folder / f"{name}.npz") as arrays:
        return Pool(arrays["loss"].astype(np.float64), costs=arrays["cost"].astype(np.float64)[:, :, None])


def budget_for(pool: Pool, share: float) -> Budget:
    """Return a share of what the best action costs on all rows."""
    costs: Any = pool.costs
    free = (costs == 0).all(axis=(0, 2)).any()
    return Budget(share * float(costs[:, pool.best, 0].sum()), null=None if free else "add")


def oracle(pool: Pool, budget: Budget) -> Oracle:
    """Return the oracle of a pool."""
    costs: Any = pool.costs
    tracker, _ = new_tracker(BudgetRun(budget.resolve(pool.k, 1, costs)), pool.rows)
    scaled = costs[:, :, 0] * tracker.scale[0]
    losses = np.asarray(pool.losses)
    table = np.column_stack([losses.mean(0), losses.std(0), scaled.mean(0), scaled.std(0)])
    return Oracle(types=tuple(tuple(row) for row in table.tolist()))


def default_learners(pool: Pool, budget: Budget) -> dict[str, Any]:
    """Return the learners by name."""
    return {
        "EmpiricalLP (rows)": EmpiricalLP(),
        "ThriftyLP": ThriftyLP(),
        "OptimisticLP": OptimisticLP(),
        "PD-BwK": PrimalDualBwK(),
        "PD-BwK /20": PrimalDualBwK(0.05),
        "eps-first LP": EpsilonFirstLP(),
        "oracle": oracle(pool, budget),
    }


def fixed(pool: Pool, budget: Budget) -> float:
    """Return what the best action earns whose mean cost fits."""
    costs: Any = pool.costs
    fits = costs[:, :, 0].mean(axis=0) <= budget.per_resource[0] / pool.rows
    return float(((1.0 - pool.means)[fits]).max(initial=0.0)) * pool.rows


def line(pool: Pool, share: float, orders: int, few: int = 9, only: str = "", seed: int = 1, **how: Any) -> str:
    """Return the shares of T OPT of all learners, of the first few, or of one."""
    budget = budget_for(pool, share)
    best = optimum(pool, budget).value * pool.rows
    learners = dict(list(default_learners(pool, budget).items())[:few])
    learners = {only: learners[only]} if only else learners
    runs = compare(pool, learners, budget=budget, repetitions=orders, seed=seed, **how)
    found = []
    for name in learners:
        regrets = runs.regrets(name) / best
        error = 100 * regrets.std(ddof=1) / np.sqrt(orders)
        found.append(f"{name} {100 * (1 - regrets.mean()):.1f}±{error:.1f}")
    return f"{share:.0%}: T OPT {best:.0f}; fixed {100 * fixed(pool, budget) / best:.1f}; " + "; ".join(found)


def mirrored(pool: Pool, share: float, orders: int) -> str:
    """Return the mean loss and the spending where the target is what the best mix of a budget loses."""
    asked = budget_for(pool, share)
    target = 1.0 - optimum(pool, asked).value
    budget = Budget(target=target, null=asked.null)
    try:
        least = float(optimum(pool, budget).cost[0]) * pool.rows
    except UnreachableError:
        return f"{share:.0%}: a target of {target:.4f} takes rows that are left alone"
    runs = compare(pool, [EmpiricalLP(), ThriftyLP()], budget=budget, repetitions=orders, seed=1)
    found = []
    for name in runs.learners:
        end = runs.cell(name).sums[:, -1]
        losses, spent = end[:, LOSS] / pool.rows, end[:, SPENT] / least
        over, error = losses.mean() - target, losses.std(ddof=1) / np.sqrt(orders)
        found.append(f"{name} {over:+.4f}±{error:.4f}, at most {losses.max() - target:+.4f}, spends {spent.mean():.3f}")
    return f"{share:.0%}: target {target:.4f}, least {least:.4g}; " + "; ".join(found)


def main() -> None:
    folder, orders = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 40
    for name in sys.argv[3].split(",") if len(sys.argv) > 3 else NAMES:
        pool = pool_in(folder, name)
        print(f"{name}{'*' if name in TUNED else ''}, {pool.rows} x {pool.k}", flush=True)
        if sys.argv[4:5] == ["thrifty"]:
            for share in SHARES:
                print("  " + line(pool, share, orders, only="ThriftyLP", seed=int(sys.argv[5])), flush=True)
            continue
        if sys.argv[4:] == ["target"]:
            for share in SHARES:
                print("  " + mirrored(pool, share, orders), flush=True)
            continue
        for share in SHARES:
            print("  " + line(pool, share, orders), flush=True)
        print("  a delay of 20 rounds, " + line(pool, 0.5, orders, few=2, delay=20), flush=True)
        print("  a switch costs .1, " + line(pool, 0.5, orders, few=2, switching_price=0.1), flush=True)


if __name__ == "__main__":
    main()
