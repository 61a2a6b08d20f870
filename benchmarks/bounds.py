"""Write docs/theory/bounds.md: every learner's bound against its regret on ugly pools, and from where it says anything.

Run from the project's folder: python benchmarks/bounds.py. Nothing here is chosen by its outcome: pools, horizons,
repetitions and the seed are fixed below.
"""

from pathlib import Path

import numpy as np

from tombola import Pool, compare
from tombola.learners import (
    UCB1,
    UCB2,
    AdaHedge,
    BatchedExp3,
    BernsteinElimination,
    Exp3,
    ExploreThenCommit,
    FlipFlop,
    FollowTheLeader,
    FrugalUCB,
    Hedge,
    HedgeAnytime,
    OptimisticSimulation,
    SerflingElimination,
    SuccessiveElimination,
    Thrifty,
    TsallisInf,
    TsallisSwitching,
)
from tombola.learners.base import Learner

HORIZONS = (2**10, 2**13, 2**16)
REPETITIONS = 10
SEED = 20
DELAY = 100
FULL: dict[str, Learner] = {
    "FollowTheLeader": FollowTheLeader(),
    "Hedge": Hedge(),
    "HedgeAnytime": HedgeAnytime(),
    "AdaHedge": AdaHedge(),
    "AdaHedge, kappa 1": AdaHedge(kappa=1.0),
    "FlipFlop": FlipFlop(),
}
BANDIT: dict[str, Learner] = {
    "UCB1": UCB1(),
    "UCB2": UCB2(),
    "SuccessiveElimination": SuccessiveElimination(),
    "FrugalUCB, price 0": FrugalUCB(price=0.0),
    "FrugalUCB, price 1": FrugalUCB(price=1.0),
    "Thrifty, price 0": Thrifty(price=0.0),
    "Thrifty, price 1": Thrifty(price=1.0),
    "SerflingElimination, price 1": SerflingElimination(price=1.0),
    "BernsteinElimination, price 1": BernsteinElimination(price=1.0),
    "BatchedExp3, price 1": BatchedExp3(price=1.0),
    "TsallisSwitching, price 1": TsallisSwitching(price=1.0),
    "ExploreThenCommit": ExploreThenCommit(),
    "Exp3": Exp3(),
    "TsallisInf": TsallisInf(),
    "OptimisticSimulation of UCB1": OptimisticSimulation(UCB1()),
    "OptimisticSimulation of UCB2": OptimisticSimulation(UCB2()),
}
LONGEST = {"OptimisticSimulation of UCB1": 2**13, "OptimisticSimulation of UCB2": 2**10}  # T^2/4 rounds are simulated


def pools(T: int, k: int) -> dict[str, Pool]:
    """Return pools that are hard in different ways; the best action is never the first."""
    generator = np.random.default_rng([T, k])
    best = k - 1
    ties = np.eye(k)[np.arange(T) % k]
    rng = (generator.random((T, k)) < 0.5).astype(float)
    near, clear = (generator.random((T, k)) for _ in range(2))
    near[:, best] = np.maximum(0.0, near[:, best] - 2 * np.sqrt(k / T))
    clear = (clear < 0.6).astype(float)
    clear[:, best] = generator.random(T) < 0.3
    rare = np.zeros((T, k))
    rare[: T // 50, :best] = 1.0
    constant = np.ones((T, k))
    constant[:, best] = 0.0
    return {
        "ties": Pool(ties),
        "rng": Pool(rng),
        "near": Pool(near),
        "clear": Pool(clear),
        "rare": Pool(rare),
        "constant": Pool(constant),
    }


def price_of(name: str) -> float:
    """Return what a switch costs in the row of the table."""
    return 1.0 if name.endswith("price 1") else 0.0


def worst(name: str, learner: Learner, T: int, k: int, delay: int) -> tuple[float, str]:
    """Return the largest mean regret over the pools, and the pool."""
    found = []
    for pool_name, pool in pools(T, k).items():
        runs = compare(
            pool, {name: learner}, repetitions=REPETITIONS, delay=delay, switching_price=price_of(name), seed=SEED
        )
        found.append((float(np.mean(runs.regrets(name, expected=True))), pool_name))
    return max(found)


def first_useful(learner: Learner, k: int, delay: int) -> str:
    """Return the smallest power of two at which the bound is below T/2."""
    for power in range(1, 40):
        bound = learner.bound(k, 2**power, delay)
        if bound is None:
            return "none"
        if bound < 2**power / 2:
            return f"2^{power}"
    return "above 2^39"


def rows(learners: dict[str, Learner], delay: int) -> list[str]:
    """Return the lines of one table."""
    lines = []
    for name, learner in learners.items():
        for k in (2, 10):
            cells = []
            for T in HORIZONS:
                bound = learner.bound(k, T, delay)
                assert bound is not None
                if T > LONGEST.get(name, T):
                    cells.append(f"{bound:,.0f}, not played")
                    continue
                regret, pool = worst(name, learner, T, k, delay)
                assert regret <= bound, (name, k, T, delay, regret, bound)
                cells.append(f"{bound:,.0f} / {regret:,.0f} = {bound / max(regret, 1e-9):.1f} ({pool})")
            lines.append(f"| {name} | {k} | {' | '.join(cells)} | {first_useful(learner, k, delay)} |")
            print(lines[-1], flush=True)
    return lines


def table(learners: dict[str, Learner], delay: int) -> str:
    """Return one table of the note."""
    head = " | ".join(f"T = {T:,}" for T in HORIZONS)
    lines = rows(learners, delay)
    return "\n".join([f"| learner | k | {head} | below T/2 from |", "|---" * (len(HORIZONS) + 3) + "|", *lines])


def main() -> None:
    """Measure and write."""
    late: dict[str, Learner] = {**FULL, "SuccessiveElimination": BANDIT["SuccessiveElimination"]}
    page = Path("docs/theory/bounds.md")
    explanation = page.read_text(encoding="utf-8").split("## No delay")[0]
    text = f"""{explanation}## No delay

{table({**FULL, **BANDIT}, 0)}

## Delay {DELAY}

{table(late, DELAY)}
"""
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
