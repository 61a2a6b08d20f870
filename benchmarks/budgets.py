"""Shares of T OPT under budgets: `benchmarks/budgets.py FOLDER [ORDERS [NAMES]]`.

`benchmarks/budgets.py FOLDER ORDERS NAMES target` sets the loss of each optimum as the target and
prints spending. `benchmarks/budgets.py FOLDER ORDERS NAMES thrifty SEED` plays ThriftyLP alone,
with another seed than 1.

FOLDER holds NAME.npz files with arrays `loss` and `cost`. The budget is 25, 50 and 75 % of the cost
of the best action on all rows. All learners play the same 40 orders, sampled. `fixed` is the mean
reward of the best single action whose mean cost fits; `oracle` knows all means, but not which
action has which. ThriftyLP was tuned only on the pools marked with a star. The last two lines of a
pool have a delay, and a price of switches.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from budget_peers import EpsilonFirstLP, Oracle, PrimalDualBwK
from measure import standard_error
from tombola import Budget, Pool, compare
from tombola.budget.budget import BudgetRun
from tombola.budget.optimum import UnreachableError, optimum
from tombola.budget.tracker import new_tracker
from tombola.engine.loop import LOSS, SPENT
from tombola.learners import EmpiricalLP, OptimisticLP, ThriftyLP

NAMES = (
    "swebench_bash",
    "alpacaeval_v2",
    "routellm_gsm8k",
    "routellm_mmlu",
    "frugalml_rafdb",
    "frugalml_yelp",
    "frugalml_command",
)
TUNED = ("routellm_gsm8k", "frugalml_command", "swebench_bash", "alpacaeval_v2", "frugalml_rafdb")
SHARES = (0.25, 0.5, 0.75)


def read_pool(folder: Path, name: str) -> Pool:
    """Return a pool with its costs."""
    with np.load(folder / f"{name}.npz") as arrays:
        return Pool(
            arrays["loss"].astype(np.float64), costs=arrays["cost"].astype(np.float64)[:, :, None]
        )


def budget_for(pool: Pool, share: float) -> Budget:
    """Return a share of the cost of the best action on all rows."""
    costs: Any = pool.costs
    free = (costs == 0).all(axis=(0, 2)).any()
    return Budget(share * float(costs[:, pool.best, 0].sum()), null=None if free else "add")


def oracle(pool: Pool, budget: Budget) -> Oracle:
    """Return the learner that knows the means and deviations of a pool."""
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


def fixed_reward(pool: Pool, budget: Budget) -> float:
    """Return the total reward of the best action whose mean cost fits."""
    costs: Any = pool.costs
    fits = costs[:, :, 0].mean(axis=0) <= budget.per_resource[0] / pool.rows
    return float(((1.0 - pool.means)[fits]).max(initial=0.0)) * pool.rows


def line(
    pool: Pool, share: float, orders: int, names: Sequence[str] = (), seed: int = 1, **options: Any
) -> str:
    """Return the shares of T OPT of the named learners, or of all."""
    budget = budget_for(pool, share)
    best = optimum(pool, budget).value * pool.rows
    learners = default_learners(pool, budget)
    learners = {name: learners[name] for name in names or learners}
    runs = compare(pool, learners, budget=budget, repetitions=orders, seed=seed, **options)
    found = []
    for name in learners:
        regrets = 100 * runs.regrets(name) / best
        found.append(f"{name} {100 - regrets.mean():.1f}±{standard_error(regrets):.1f}")
    return (
        f"{share:.0%}: T OPT {best:.0f}; fixed {100 * fixed_reward(pool, budget) / best:.1f}; "
        + "; ".join(found)
    )


def target_line(pool: Pool, share: float, orders: int) -> str:
    """Return loss and spending; the target is the loss of the best mix of a budget."""
    amount = budget_for(pool, share)
    target = 1.0 - optimum(pool, amount).value
    budget = Budget(target=target, null=amount.null)
    try:
        least = float(optimum(pool, budget).cost[0]) * pool.rows
    except UnreachableError:
        return f"{share:.0%}: a target of {target:.4f} takes rows that are left alone"
    runs = compare(pool, [EmpiricalLP(), ThriftyLP()], budget=budget, repetitions=orders, seed=1)
    found = []
    for name in runs.learners:
        end = runs.cell(name).sums[:, -1]
        excess, spent = end[:, LOSS] / pool.rows - target, end[:, SPENT] / least
        text = f"{excess.mean():+.4f}±{standard_error(excess):.4f}, at most {excess.max():+.4f}"
        found.append(f"{name} {text}, spends {spent.mean():.3f}")
    return f"{share:.0%}: target {target:.4f}, least {least:.4g}; " + "; ".join(found)


def main() -> None:
    folder, orders = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 40
    for name in sys.argv[3].split(",") if len(sys.argv) > 3 else NAMES:
        pool = read_pool(folder, name)
        print(f"{name}{'*' if name in TUNED else ''}, {pool.rows} x {pool.k}", flush=True)
        for share in SHARES:
            if sys.argv[4:] == ["target"]:
                text = target_line(pool, share, orders)
            elif sys.argv[4:5] == ["thrifty"]:
                text = line(pool, share, orders, ["ThriftyLP"], int(sys.argv[5]))
            else:
                text = line(pool, share, orders)
            print(f"  {text}", flush=True)
        if not sys.argv[4:]:
            two = ("EmpiricalLP (rows)", "ThriftyLP")
            print(f"  a delay of 20 rounds, {line(pool, 0.5, orders, two, delay=20)}", flush=True)
            print(
                f"  a switch costs .1, {line(pool, 0.5, orders, two, switching_price=0.1)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
