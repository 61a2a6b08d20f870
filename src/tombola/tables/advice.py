"""Advice: for every setting the learner that should be used and why, with its bound and its measured rank."""

from typing import NamedTuple

from tombola import bounds
from tombola.tables.contestants import Kind

# The mean rank on the demo pools (six; three of them have costs), 20 repetitions, a delay of 100 rounds, a price of 5
# losses, a budget half-way between the cheapest and the best action. Measured by: python benchmarks/advice.py
RANKS: dict[str, dict[str, float]] = {
    "full": {
        "FollowTheLeader": 1.33,
        "FlipFlop": 2.00,
        "AdaHedge": 2.67,
        "HedgeAnytime": 4.00,
        "Hedge": 5.00,
        "Uniform": 6.00,
    },
    "bandit": {
        "ThompsonSampling": 1.50,
        "FrugalUCB": 1.67,
        "KLUCB": 3.00,
        "TsallisInf": 5.00,
        "ExploreThenCommit": 5.00,
        "UCB2": 5.17,
        "Exp3": 7.00,
        "UCB1": 7.67,
        "SuccessiveElimination": 9.00,
    },
    "late rows": {
        "FollowTheLeader": 1.00,
        "FlipFlop": 2.50,
        "AdaHedge": 2.83,
        "HedgeAnytime": 3.83,
        "Simulation of leaders": 4.83,
        "Interleaved Hedge": 6.00,
        "Hedge": 7.00,
        "Uniform": 8.00,
    },
    "late losses": {
        "ThompsonSampling": 1.00,
        "FrugalUCB": 2.17,
        "KLUCB": 3.33,
        "TsallisInf": 4.50,
        "ExploreThenCommit": 4.50,
        "UCB2": 6.33,
        "Exp3": 6.67,
        "UCB1": 7.50,
        "SuccessiveElimination": 9.00,
    },
    "switching": {
        "FrugalUCB": 1.00,
        "SerflingElimination": 2.83,
        "UCB2": 3.17,
        "KLUCB": 4.33,
        "BatchedExp3": 4.33,
        "TsallisSwitching": 5.67,
        "ThompsonSampling": 7.17,
        "ExploreThenCommit": 8.00,
        "UCB1": 9.33,
        "TsallisInf": 9.50,
        "Exp3": 10.67,
        "SuccessiveElimination": 12.00,
    },
    "budget": {
        "EmpiricalLP": 1.33,
        "DualDescent": 1.67,
        "PrimalDual": 3.00,
        "SerflingLP": 4.00,
    },
}


class Advice(NamedTuple):
    """Which learner to use in a setting, why, and which one to use where a proof is wanted."""

    kind: Kind
    setting: str
    learner: str
    why: str
    proved: str

    @property
    def rank(self) -> float:
        """The mean rank of the learner on the demo pools, where 1 is best."""
        return RANKS[self.kind][self.learner]

    @property
    def rivals(self) -> int:
        """How many learners were ranked."""
        return len(RANKS[self.kind])

    def __str__(self) -> str:
        return f"{self.setting}, use {self.learner}: {self.why}"


_LEADER = "in random order the best action so far is the one to play, and nothing has to be tuned"
_SAMPLING = "it plays an action as often as what was seen makes it likely to be the best"
ADVICE: dict[str, Advice] = {
    advice.kind: advice
    for advice in (
        Advice("full", "where whole rows are seen", "FollowTheLeader", _LEADER, "FollowTheLeader"),
        Advice("late rows", "where whole rows are seen, but late", "FollowTheLeader", _LEADER, "FollowTheLeader"),
        Advice("bandit", "where only the loss played is seen", "ThompsonSampling", _SAMPLING, "TsallisInf"),
        Advice("late losses", "where only the loss played is seen, and late", "ThompsonSampling", _SAMPLING, ""),
        Advice(
            "switching",
            "where every switch has a price",
            "FrugalUCB",
            "it switches only where that can pay in the rounds that are left",
            "SerflingElimination",
        ),
        Advice(
            "budget",
            "within a budget",
            "EmpiricalLP",
            "it plans again and again, with what is left for the rows that are left",
            "SerflingLP",
        ),
    )
}


def bound_of(advice: Advice, actions: int, horizon: int, *, delay: int = 0, price: float = 0.0) -> float | None:
    """Return the bound on the expected regret of the learner with a proof, in random order, or None if there is none.

    >>> round(bound_of(ADVICE["full"], 2, 1000), 1)
    115.9
    """
    if advice.kind in ("full", "late rows") and price == 0:
        return bounds.follow_the_leader(horizon, actions, delay)
    if advice.kind == "bandit":
        return bounds.tsallis_inf(horizon, actions)
    if advice.kind == "switching" and delay == 0:
        return bounds.elimination(horizon, actions, price)
    return None


def line(
    advice: Advice, place: int | None, count: int, actions: int, horizon: int, *, delay: int = 0, price: float = 0.0
) -> str:
    """Return the advice as one line, with the rank on this table and on the demo pools, and the bound.

    >>> print(line(ADVICE["full"], 1, 6, 2, 1000))
    where whole rows are seen, use FollowTheLeader: ...; rank 1 of 6 here, 1.3 of 6 on the demo pools on average;
    its expected regret is at most 116 in random order
    """
    here = f"rank {place} of {count} here, " if place else ""
    bound = bound_of(advice, actions, horizon, delay=delay, price=price)
    return f"{advice}; {here}{advice.rank:.1f} of {advice.rivals} on the demo pools on average; {_proof(advice, bound)}"


def _proof(advice: Advice, bound: float | None) -> str:
    if bound is not None and advice.proved == advice.learner:
        return f"its expected regret is at most {bound:.0f} in random order"
    if bound is not None:
        return f"no bound is proved for it, but for {advice.proved}: at most {bound:.0f}"
    return "no bound is proved for it, but for SerflingLP" if advice.kind == "budget" else "no bound is proved here"
