"""Write docs/theory/lower.md: bounds of learners and their regret on hard pools.

Run in the project's folder: python benchmarks/bounds.py. Pools, horizons, repetitions and the seed
were fixed before the first run.
"""

from pathlib import Path
from typing import Any

import numpy as np

from tombola import Pool, compare, learners
from tombola.learners import UCB1, UCB2, AdaHedge, OptimisticSimulation
from tombola.learners.base import Learner

HORIZONS = (2**10, 2**13, 2**16)
REPETITIONS = 10
SEED = 20
DELAY = 100
# End of the name of a learner that pays for switches.
PRICE_SUFFIX = ", price 1"


def by_name(*names: str) -> dict[str, Learner]:
    """Return learners with default parameters; `NAME, price X` sets a price."""
    return {name: _learner(*name.split(", price ")) for name in names}


def _learner(name: str, price: str = "") -> Any:
    return getattr(learners, name)(**({"price": float(price)} if price else {}))


FULL = by_name("FollowTheLeader", "Hedge", "HedgeAnytime", "AdaHedge")
FULL |= {"AdaHedge, kappa 1": AdaHedge(kappa=1.0)} | by_name("FlipFlop")
BANDIT = by_name(
    "UCB1",
    "UCB2",
    "SuccessiveElimination",
    "FrugalUCB, price 0",
    "FrugalUCB, price 1",
    "Thrifty, price 0",
    "Thrifty, price 1",
    "SerflingElimination, price 1",
    "BernsteinElimination, price 1",
    "BatchedExp3, price 1",
    "TsallisSwitching, price 1",
    "ExploreThenCommit",
    "Exp3",
    "TsallisInf",
)
BANDIT |= {
    f"OptimisticSimulation of {type(base).__name__}": OptimisticSimulation(base)
    for base in (UCB1(), UCB2())
}
# Simulations play T^2/4 rounds.
MAX_HORIZONS = {"OptimisticSimulation of UCB1": 2**13, "OptimisticSimulation of UCB2": 2**10}


def hard_pools(T: int, k: int) -> dict[str, Pool]:
    """Return hard pools; the best action is never the first."""
    generator = np.random.default_rng([T, k])
    best = k - 1
    ties = np.eye(k)[np.arange(T) % k]
    coins = (generator.random((T, k)) < 0.5).astype(float)
    near, clear = (generator.random((T, k)) for _ in range(2))
    near[:, best] = np.maximum(0.0, near[:, best] - 2 * np.sqrt(k / T))
    clear = (clear < 0.6).astype(float)
    clear[:, best] = generator.random(T) < 0.3
    rare = np.zeros((T, k))
    rare[: T // 50, :best] = 1.0
    constant = np.ones((T, k))
    constant[:, best] = 0.0
    losses = {
        "ties": ties,
        "rng": coins,
        "near": near,
        "clear": clear,
        "rare": rare,
        "constant": constant,
    }
    return {name: Pool(table) for name, table in losses.items()}


def largest_regret(name: str, learner: Learner, T: int, k: int, delay: int) -> tuple[float, str]:
    """Return the largest mean regret over the pools, and the pool."""
    price, regrets = float(name.endswith(PRICE_SUFFIX)), []
    for pool_name, pool in hard_pools(T, k).items():
        options: Any = {
            "repetitions": REPETITIONS,
            "delay": delay,
            "switching_price": price,
            "seed": SEED,
        }
        runs = compare(pool, {name: learner}, **options)
        regrets.append((float(np.mean(runs.regrets(name, expected=True))), pool_name))
    return max(regrets)


def first_useful(learner: Learner, k: int, delay: int) -> str:
    """Return the smallest power of two at which the bound is below T/2."""
    for power in range(1, 40):
        bound = learner.bound(k, 2**power, delay)
        if bound is None:
            return "none"
        if bound < 2**power / 2:
            return f"2^{power}"
    return "above 2^39"


def cell(name: str, learner: Learner, T: int, k: int, delay: int) -> str:
    """Return bound and regret at one horizon; AssertionError if the regret is larger."""
    bound = learner.bound(k, T, delay)
    assert bound is not None
    if T > MAX_HORIZONS.get(name, T):
        return f"{bound:,.0f}, not played"
    regret, pool = largest_regret(name, learner, T, k, delay)
    assert regret <= bound, (name, k, T, delay, regret, bound)
    return f"{bound:,.0f} / {regret:,.0f} = {bound / max(regret, 1e-9):.1f} ({pool})"


def table(learners: dict[str, Learner], delay: int) -> str:
    """Return one table of the page."""
    head = " | ".join(f"T = {T:,}" for T in HORIZONS)
    lines = [f"| learner | k | {head} | below T/2 from |", "|---" * (len(HORIZONS) + 3) + "|"]
    for name, learner in learners.items():
        for k in (2, 10):
            cells = " | ".join(cell(name, learner, T, k, delay) for T in HORIZONS)
            lines.append(f"| {name} | {k} | {cells} | {first_useful(learner, k, delay)} |")
            print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    """Measure, and write the page after its explanation."""
    delayed = {**FULL, "SuccessiveElimination": BANDIT["SuccessiveElimination"]}
    page = Path("docs/theory/lower.md")
    explanation = page.read_text(encoding="utf-8").split("## No delay")[0]
    text = f"""{explanation}## No delay

{table({**FULL, **BANDIT}, 0)}

## Delay {DELAY}

{table(delayed, DELAY)}
"""
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
