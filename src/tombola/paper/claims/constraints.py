"""Claims about budgets: Theorem 4.5, and linear regret in adversarial order.

Theorem 4.5 (L458): horizons are such that the bounds are below the regret of playing the null
action always. The bounds hold with probability 1 - delta, so plays that miss them are counted. A
play ended by the stop rule is a miss too, since the margin should prevent it. On the second pool
the better action alternates between blocks of the list: irrelevant in random order, misleading in
given order. The bounds are several times the regret, so four values are compared with exact ones,
and every round with a twin (`tombola.paper.twins`).

Corollary 4.8 is a rate, 1/rho^2 + sqrt(T)/rho, measured where both terms are attained. A play earns
1 and costs rho on average, so that OPT, the reward per round of the best fixed mix within the
budget, is 1, and a rate of rho - 2 epsilon earns 2 epsilon/rho less.

Adversarial order (L427; Mannor, Tsitsiklis and Yu 2009): two lists share their first half. The
spending there determines the regret on both, and on one of them it is at least T/16, in every play
of every learner.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.optimize import linprog

from tombola import bounds
from tombola._play import play
from tombola._types import Floats, Seed
from tombola.budget.budget import Budget, BudgetTerms
from tombola.budget.optimum import optimum
from tombola.instances import hindsight, three_actions
from tombola.learners import (
    BudgetedLearner,
    BudgetSimulation,
    DualDescent,
    EmpiricalLP,
    PrimalDual,
    SerflingLP,
)
from tombola.order import OrderLike
from tombola.paper import pvalues
from tombola.paper.base import Claim, Overrides, Unit, Verdict, component, grid
from tombola.paper.curves import mean_band, reference_lines
from tombola.paper.rows import Row, Rows, distinct, levels, matching, select, slope
from tombola.paper.source_faults import SourceFault
from tombola.paper.twins import budget_simulation_spending, serfling_lp_spending
from tombola.pool import Pool
from tombola.report.chart import Chart
from tombola.rng import RngStreams, repetition_seeds
from tombola.trace import Trace

# Budget per round of each resource in the plays of the claim (rho of the theorem).
RATE = 0.8
# Failure probability of the bounds (delta of the theorem).
DELTA = 0.05
# Number of actions of the pools, null included (k of the theorem).
ACTIONS = 3
# Rates and rounds of the exact comparisons of the first play.
_RATES = (0.8, 0.4)
_EXACT_ROUNDS = 2**14
# Rounds in which EmpiricalLP and SerflingLP are compared with their twins: few, because twins are
# slow.
LP_ROUNDS = 512
# Difference of spending below which a round agrees: the tolerance of the solver of linear programs.
_SOLVER_TOLERANCE = 1e-7
# Rounds of the comparison of BudgetSimulation with its twin.
_TWIN_ROUNDS = 2**12
# Rates and horizons of Corollary 4.8: its slopes in T and in 1/rho.
_COROLLARY = ((0.8, 2**13), (0.8, 2**15), (0.8, 2**17), (0.4, 2**17), (0.2, 2**17))
# Rounds by which the first play may be later than by its formula: a mix may happen to have neither
# rewards nor costs for a while.
_SILENT_ROUNDS = 16


class _FixedState(NamedTuple):
    action: float


@dataclass(frozen=True)
class AlwaysPlay(BudgetedLearner):
    """Budgeted learner that plays one action while the budget allows it: a fault.

    action: index of the action; None is the null action, which earns nothing.
    """

    action: int | None = None

    def init(self, terms: BudgetTerms) -> _FixedState:
        return _FixedState(float(terms.null if self.action is None else self.action))

    @staticmethod
    def mix(state: _FixedState, mix: Floats) -> None:
        for action in range(mix.size):
            mix[action] = 1.0 if action == int(state.action) else 0.0

    @staticmethod
    def observe(
        state: _FixedState, round: int, played: Floats, losses: Floats, costs: Floats
    ) -> None:
        pass


def _affordable_plays(resources: int, delay: int) -> tuple[int, int]:
    """Return the plays made, and those that the budget affords in rational numbers."""
    # Every play costs 0.1, 0.2, .. of the resources, and the amounts are 10, 20, ..; the float 0.1
    # is more than a tenth.
    costs = [0.1 * (j + 1) for j in range(resources)]
    amounts = [10.0 * (j + 1) for j in range(resources)]
    table = np.zeros((200, 2, resources))
    table[:, 1] = costs
    pool = Pool.from_rewards(np.tile([0.0, 1.0], (200, 1)), costs=table)
    trace = play(AlwaysPlay(1), pool, "given", delay, budget=Budget(amounts, null=0), seed=0)
    exact = min(
        Fraction(amount) // Fraction(cost) for amount, cost in zip(amounts, costs, strict=True)
    )
    return int(np.count_nonzero(trace.actions)), int(exact)


def _several_resources(T: int, m: int, seed: Seed) -> Pool:
    """Return the pool `three_actions` with m independent 0/1 costs of the same means."""
    first, *others = (three_actions(T, seed=child) for child in repetition_seeds(seed, m))
    return Pool(
        first.losses, costs=np.concatenate([pool.costs for pool in (first, *others)], axis=2)
    )


def _shuffled_costs(T: int, share: float, seed: Seed) -> Floats:
    """Return costs of null and two actions, shape (T, 3), 1 in a share of the rows."""
    dear = np.repeat((np.arange(T) < round(share * T)).astype(np.float64)[:, None], 2, axis=1)
    return np.column_stack([np.zeros(T), np.random.default_rng(seed).permuted(dear, axis=0)])


def _margins_formula(T: int, rate: float) -> float:
    """Return the second term of Corollary 4.8: 2^i epsilon_i / rho, all blocks played."""
    first = _first_play_formula(T, 1, rate, 2.0, 0) - 1
    log = math.log(ACTIONS * math.log2(T) / DELTA)
    sizes = [2**i for i in range(int(math.log2(first)), math.ceil(math.log2(T)))]
    return sum(math.sqrt(6 * size * log) for size in sizes) / rate


def _first_play_formula(T: int, m: int, rate: float, margin: float, delay: int) -> int:
    """Return the first round of BudgetSimulation that is not null, by its formula."""
    # It is the first of block i, 2^i >= 24 margin^2 ln(m k log2(T) / delta) / rho^2; blocks wait
    # for the delay.
    needed = 24 * margin**2 * math.log(m * ACTIONS * math.log2(T) / DELTA) / rate**2
    block = math.ceil(math.log2(needed))
    return int(2**block + 1 + (block + 1) * delay)


def _first_play(trace: Trace) -> int:
    """Return the first round, from 1, with a reward or a cost; 0 if there is none."""
    active = (trace.rewards != 0) | (trace.costs != 0).any(axis=1)
    return int(np.argmax(active)) + 1 if active.any() else 0


def _flipping(T: int, *, seed: Seed) -> Pool:
    """Return rows whose better action alternates in blocks of 2^i; both cost 0.9."""
    turn = np.array([(max(1, t).bit_length() - 1) % 2 for t in range(T)])
    return Pool.from_rewards(
        np.column_stack([np.zeros(T), 1 - turn, turn]), costs=_shuffled_costs(T, 0.9, seed)
    )


# Pools of the claim by name: functions of the number of rows and a seed; three actions, one
# resource, action 0 null.
POOLS: dict[str, Callable[..., Pool]] = {"three actions": three_actions, "flipping": _flipping}


_LEARNERS: dict[str, BudgetedLearner] = {
    "as printed": BudgetSimulation(delta=DELTA, margin=2.0),
    "margin 3": BudgetSimulation(delta=DELTA, margin=3.0),
    "Serfling LP": SerflingLP(delta=DELTA),
    "empirical LP": EmpiricalLP(growth=1.2),
}
# Regret bound of each learner, as a function of the horizon.
_BOUNDS: dict[str, Callable[[int], float]] = {
    "as printed": lambda T: bounds.budget_simulation(T, ACTIONS, 1, RATE, DELTA, margin=2.0),
    "margin 3": lambda T: bounds.budget_simulation(T, ACTIONS, 1, RATE, DELTA, margin=3.0),
    "Serfling LP": lambda T: bounds.serfling_lp(T, ACTIONS, 1, RATE, DELTA),
}
# Margin of each version of BudgetSimulation, in units of epsilon.
_MARGINS = {"as printed": 2.0, "margin 3": 3.0}
# Learners with a margin that should keep the stop rule from ending the play.
_UNSTOPPED = ("margin 3", "Serfling LP")


def budget_play(
    learner: BudgetedLearner,
    pool: Pool,
    order: OrderLike,
    overdraft: float,
    seed: Seed,
    *,
    fluid: bool,
) -> dict[str, Any]:
    """Play once with a budget of 0.8 (RATE) per row; return the measurements.

    Keys: regret; most, the reward of the best fixed mix within the budget; first, the first round
        with a
    reward or a cost, from 1 (0: none); last, the mean cost per round in the second half of the
    play; overspent, whether the costs exceed the budget; stopped, whether less than 1 of the budget
    is left.

    overdraft: factor on the budget; 1 in a correct program, above 1 a fault.
    fluid: play whole mixes, charge expected costs, and stop when less than 1 of the budget is left.
    """
    amount = RATE * pool.rows
    how: dict[str, Any] = {"stop": "strict", "mixed": True} if fluid else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a warning that the horizon is too short is expected here
        budget = Budget(amount * overdraft, worst=1.0, null=0)
        trace = play(learner, pool, order, budget=budget, seed=seed, **how)
    return {
        "most": trace.comparator_reward,
        "regret": float(trace.regret),
        "first": _first_play(trace),
        "last": float(
            trace.costs[pool.rows // 2 :, 0].mean()
        ),  # the last block of BudgetSimulation
        "overspent": math.fsum([*trace.costs[:, 0].tolist(), -amount])
        > 0,  # fsum: the sign is exact
        "stopped": bool(trace.balance.left[0] < 1),
    }


class Constraints(
    Claim, name="constraints", expected="holds as corrected", alpha=5e-4, verdict_only=("bounds",)
):
    """Regret and spending of learners with a budget of 0.8 per round.

    BudgetSimulation with the printed and with a larger margin, SerflingLP and EmpiricalLP play two
    pools with three actions and one resource. ρ is the budget per round, OPT the reward per round
    of the best fixed mix within it, ε_i the margin that BudgetSimulation keeps in block i of 2^i
    rounds.

    Title: A budget that is never exceeded
    Source: Theorem 4.5 (L458), Corollary 4.8 (L578)
    Statement: With a budget of ρ T for each of m resources, BudgetSimulation has regret Õ(1/ρ² +
        √T/ρ) and never overspends, in random order.
    Meaning: Work through a list under a dollar cap. The cap is never exceeded, in any run. The
        paper's algorithm plays the null action for a long time first; solving the linear program of
        the rows seen, again and again, with the budget left, loses almost nothing.
    Limits: Passes if no play spends more than its budget, in exact arithmetic. At most 5 % of the
        plays of a learner may have a regret above its proved bound, or be ended by the budget
        (binomial test), and each bound must be below T OPT. With 1, 2 and 5 resources, with and
        without delay, the number of plays that a budget affords, the first round of
        BudgetSimulation that is not null, and all rounds of BudgetSimulation and SerflingLP must
        equal those of a formula or of a second, naive implementation. In its last block
        BudgetSimulation must spend its reduced rate up to ε_i, and its regret after the first play
        must be 1 to 3 times Σ 2^i ε_i / ρ (binomial tests, 5 %); the slopes of the regret in T and
        in 1/ρ must be at most those of the bound (t-test). The bounds are 3 to 14 times the regret.
    Alt: The empirical LP collects nearly everything; the others start to play late and collect
        less.
    """

    learners: Mapping[str, BudgetedLearner] = component(_LEARNERS)
    bounds: Mapping[str, Callable[[int], float]] = component(_BOUNDS)
    order: OrderLike = "random"
    overdraft: float = 1.0  # factor on the budget

    def units(self, *, full: bool) -> list[Unit]:
        sizes = {2**16: 40, 2**18: 20, 2**20: 10} if full else {2**16: 8}
        units = grid(m=(1, 2, 5), d=(0, 7))
        units += [{"rate": rate, "T": T, "plays": 20 if full else 4} for rate, T in _COROLLARY]
        return units + [
            {"T": T, "pool": pool, "plays": plays} for T, plays in sizes.items() for pool in POOLS
        ]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        if "m" in unit:
            return list(_exact_rows(unit["m"], unit["d"], seed))
        if "rate" in unit:
            return [_corollary_row(unit, child) for child in repetition_seeds(seed, unit["plays"])]
        rows: list[Row] = []
        for repetition, child in enumerate(repetition_seeds(seed, unit["plays"])):
            pool = POOLS[unit["pool"]](unit["T"], seed=child)
            for name, learner in self.learners.items():
                about = {"T": unit["T"], "pool": unit["pool"], "learner": name, "play": repetition}
                fluid = name != "empirical LP"
                rows.append(
                    about
                    | budget_play(learner, pool, self.order, self.overdraft, child, fluid=fluid)
                )
        return rows

    def verdict(self, rows: Rows) -> Verdict:
        computed = matching(rows, pool=None)
        rates = matching(rows, pool="attaining")
        rows = [row for row in rows if row["pool"] in POOLS]
        differ = sum(not 0 <= row["value"] - row["exact"] <= row["slack"] for row in computed)
        over = sum(bool(row["overspent"]) for row in rows)
        checks = [pvalues.exact(over == 0), pvalues.exact(differ == 0), *_rate_checks(rates)]
        shares = []
        for T, pool, name in distinct(
            [row for row in rows if row["learner"] in self.bounds], "T", "pool", "learner"
        ):
            where = {"T": T, "pool": pool, "learner": name}
            regrets = select(rows, "regret", **where)
            bound = self.bounds[name](T)
            checks.append(pvalues.binomial_tail(int((regrets > bound).sum()), regrets.size, DELTA))
            checks.append(pvalues.exact(bound < float(select(rows, "most", **where).min())))
            shares.append(float(regrets.mean()) / bound)
            if name in _MARGINS:
                checks += _block_checks(rows, where, _MARGINS[name])
            if name in _UNSTOPPED:
                checks.append(
                    pvalues.binomial_tail(
                        int(select(rows, "stopped", **where).sum()), regrets.size, DELTA
                    )
                )
        terms = [_second_term(row) for row in rates]
        last = levels(rows, "T")[-1]
        shares_lost = [
            {**row, "lost": row["regret"] / row["most"]} for row in matching(rows, T=last)
        ]
        lost = {
            name: 100 * float(select(shares_lost, "lost", learner=name).mean())
            for name in self.learners
        }
        measured = (
            f"{over} of {len(rows)} runs overspent; {differ} of {len(computed)} exact values "
            "differ; regret at most "
            f"{max(shares):.2f} of the bounds; the √T/ρ term of the corollary {min(terms):.2f} "
            f"to {max(terms):.2f} "
            "times Σ 2^i ε_i / ρ (2 as printed); "
            f"T = {last} loses, of T OPT: "
            + ", ".join(f"{name} {percent:.1f} %" for name, percent in lost.items())
        )
        words = ("margin 2ε, L536 without 2^i", "margin 3ε, strict stop")
        return self.verdict_from(checks, measured, *words, outcome="holds as corrected")

    def chart(self, rows: Rows) -> Chart:
        rows = [row for row in rows if row["pool"] in POOLS]
        shares = [{**row, "share": 100 * (1 - row["regret"] / row["most"])} for row in rows]
        bands = [mean_band(shares, name, "T", "share", learner=name) for name in self.learners]
        return self.make_chart("reward in % of the best fixed mix", bands, log="x")

    def faults(self) -> dict[str, Overrides]:
        limits = self.bounds.items()
        return {
            "no shuffle": {"order": "given"},
            "always the null action": {"learners": {**self.learners, "margin 3": AlwaysPlay()}},
            "margin dropped": {"learners": {**self.learners, "Serfling LP": EmpiricalLP()}},
            "half as much again to spend": {"overdraft": 1.5},
            "a tenth of the bounds": {
                "bounds": {name: lambda T, own=own: own(T) / 10 for name, own in limits}
            },
        }

    def source_faults(self) -> dict[str, SourceFault]:
        plan = "learners.reductions.budget_simulation:BudgetSimulation.plan"
        reserve = "budget.tracker:draw_and_reserve"
        serfling = "learners.budgeted.serfling_lp:SerflingLP.plan"
        return {
            "reservations forgotten": SourceFault(
                reserve, "= reserved[j] if fits else 0.0", "= 0.0"
            ),
            "costs rounded down": SourceFault("budget.tracker:_to_ticks", "np.ceil(", "np.floor("),
            "Simulation with margin 0": SourceFault(plan, "- self.margin *", "- 0.0 *"),
            "trained with the whole rate": SourceFault(
                plan, "rate, int(state.null)", "state.rate, int(state.null)"
            ),
            "Serfling LP with 0.9 of its margin": SourceFault(
                serfling, "- lp_margin(", "- 0.9 * lp_margin("
            ),
        }


def _exact_rows(m: int, d: int, seed: Seed) -> Iterator[Row]:
    """Yield values with exact ones: plays, first plays, rounds that agree with twins."""

    def row(rate: float, value: int, exact: int, slack: int = 0) -> Row:
        about = {"pool": None, "learner": "", "m": m, "d": d}
        return {**about, "rate": rate, "value": value, "exact": exact, "slack": slack}

    yield row(0.0, *_affordable_plays(m, d))
    T = _EXACT_ROUNDS
    learner = BudgetSimulation(delta=DELTA, delay=d)
    pool = _several_resources(T, m, seed)
    for rate in _RATES:
        first = _first_play(_fluid_play(learner, pool, rate, "random", d, seed))
        yield row(rate, first, _first_play_formula(T, m, rate, learner.margin, d), _SILENT_ROUNDS)
    yield row(_RATES[0], _rounds_as_twin(m, d, seed), _TWIN_ROUNDS)
    if (m, d) == (1, 0):
        twin = partial(serfling_lp_spending, delta=DELTA)
        yield row(
            RATE / 2, rounds_as_lp_twin(SerflingLP(delta=DELTA), twin, "random", seed), LP_ROUNDS
        )


def rounds_as_lp_twin(
    learner: BudgetedLearner, twin: Callable[..., Floats], order: OrderLike, seed: Seed
) -> int:
    """Return the number of rounds before learner and twin first differ in costs.

    Rows are random and continuous, so that every linear program has one solution.

    twin: second implementation of the learner in `tombola.paper.twins`: (losses, costs, budget) ->
        cost of every round.
    order: in which the rows are played.
    """
    generator = np.random.default_rng(seed)
    T = LP_ROUNDS
    rewards, costs = generator.random((2, T, ACTIONS)) * np.linspace(0, 1, ACTIONS)
    trace = _fluid_play(learner, Pool.from_rewards(rewards, costs=costs), RATE / 2, order, 0, seed)
    spent = twin(1 - rewards[trace.order], costs[trace.order], RATE / 2 * T)
    return _rounds_before(np.abs(spent - trace.costs[:, 0]) > _SOLVER_TOLERANCE)


def _fluid_play(
    learner: BudgetedLearner, pool: Pool, rate: float, order: OrderLike, delay: int, seed: Seed
) -> Trace:
    """Play whole mixes with the strict stop; budget `rate` per row and resource."""
    assert pool.costs is not None
    budget = Budget([rate * pool.rows] * pool.costs.shape[2], worst=1.0, null=0)
    return play(learner, pool, order, delay, budget=budget, stop="strict", mixed=True, seed=seed)


def _rounds_before(differs: Any) -> int:
    return int(np.argmax(differs)) if differs.any() else len(differs)


def _rounds_as_twin(m: int, d: int, seed: Seed) -> int:
    """Return the number of first rounds in which BudgetSimulation spends as its twin."""
    T = _TWIN_ROUNDS
    learner = BudgetSimulation(delta=DELTA, delay=d)
    rate = _RATES[0]
    pool = _several_resources(T, m, seed)
    assert pool.costs is not None
    trace = _fluid_play(learner, pool, rate, "random", d, seed)
    losses, costs = [
        np.asarray(table, dtype=np.float64)[trace.order] for table in (pool.losses, pool.costs)
    ]
    rng = RngStreams(seed).learner(learner)
    twin = budget_simulation_spending(losses, costs, rate, DELTA, learner.margin, d, rng)
    return _rounds_before((np.abs(twin - trace.costs) > pvalues.ROUNDING).any(axis=1))


def _corollary_row(unit: Unit, seed: Seed) -> Row:
    """Return a regret of BudgetSimulation that attains both terms of Corollary 4.8."""
    T = unit["T"]
    rate = unit["rate"]
    name = "as printed"
    # Two actions always earn 1, and cost 1 in a share `rate` of the rows.
    pool = Pool.from_rewards(np.tile([0.0, 1.0, 1.0], (T, 1)), costs=_shuffled_costs(T, rate, seed))
    trace = _fluid_play(_LEARNERS[name], pool, rate, "random", 0, seed)
    return {
        "pool": "attaining",
        "learner": name,
        "T": T,
        "rate": rate,
        "regret": float(trace.regret),
    }


def _rate_checks(rows: Rows) -> list[float]:
    """Return the p-values of the corollary: both terms, slopes in T and 1/rho."""
    far = sum(abs(_second_term(row) - 2.0) > 1.0 for row in rows)
    checks = [pvalues.binomial_tail(far, len(rows), DELTA)]
    at = distinct(rows, "T", "rate")
    longest = max(T for T, _ in at)
    richest = max(rate for _, rate in at)
    in_T = [place for place in at if place[1] == richest]
    in_rate = [place for place in at if place[0] == longest]
    for places, x in ((in_T, [T for T, _ in in_T]), (in_rate, [1 / rate for _, rate in in_rate])):
        limits = [
            _first_play_formula(T, 1, rate, 2.0, 0) - 1 + 2 * _margins_formula(T, rate)
            for T, rate in places
        ]
        regrets = [select(rows, "regret", T=T, rate=rate) for T, rate in places]
        checks.append(pvalues.growth("at most", x, regrets, limits))
    return checks


def _second_term(row: Row) -> float:
    """Return the regret after the first play, in units of the second term."""
    first = _first_play_formula(row["T"], 1, row["rate"], 2.0, 0) - 1
    return float((row["regret"] - first) / _margins_formula(row["T"], row["rate"]))


def _block_checks(rows: Rows, where: Mapping[str, Any], margin: float) -> list[float]:
    """Return p-values of the first play, and of the spending in the last block."""
    # The spending must be the reduced rate, up to epsilon.
    T = where["T"]
    first, last = select(rows, "first", **where), select(rows, "last", **where)
    epsilon = math.sqrt(12 / T * math.log(ACTIONS * math.log2(T) / DELTA))
    late = first - _first_play_formula(T, 1, RATE, margin, 0)
    far = int((np.abs(last - (RATE - margin * epsilon)) > epsilon).sum())
    return [
        pvalues.exact(bool(((late >= 0) & (late <= _SILENT_ROUNDS)).all())),
        pvalues.binomial_tail(far, last.size, DELTA),
    ]


# Second half of each of the two lists, which have the same first half.
_HALVES: tuple[Literal["rich"], Literal["poor"]] = ("rich", "poor")


def _regrets_by_spending(T: int) -> Floats:
    """Return the least regret on both lists, by plays in the first half."""
    # The shape is (2, T/2 + 1). The minimum is over all numbers of plays in the second half within
    # the budget T/2.
    regrets = []
    for half in _HALVES:
        pool = hindsight(T, half)
        assert pool.costs is not None
        earned = 1 - np.asarray(pool.losses)[:, 1]
        cost = np.asarray(pool.costs)[:, 1, 0]
        best = T * optimum(pool, Budget(T / 2, worst=[0.0, 1.0])).value
        for spent in range(T // 2 + 1):
            later = [
                n * earned[-1] for n in range(T // 2 + 1) if spent * cost[0] + n * cost[-1] <= T / 2
            ]
            regrets.append(best - spent * earned[0] - max(later))
    return np.array(regrets).reshape(2, -1)


def _least_regret(T: int) -> float:
    """Return the least worst-case regret of any learner, by a linear program."""
    regrets = _regrets_by_spending(T)
    ways = regrets.shape[1]
    solution = linprog(
        [*np.zeros(ways), 1.0],
        A_ub=np.column_stack([regrets, -np.ones(2)]),
        b_ub=np.zeros(2),
        A_eq=[[*np.ones(ways), 0.0]],
        b_eq=[1.0],
        bounds=[(0, None)] * ways + [(None, None)],
    )
    return float(np.asarray(solution.x, dtype=np.float64)[-1])


class Impossibility(
    Claim, name="impossibility", expected="holds", alpha=5e-4, verdict_only=("least",)
):
    """Regret with a budget on two lists with a common first half.

    Title: Why budgets need the shuffle
    Source: Mannor et al. 2009 (cited at L427)
    Statement: With budgets in adversarial order, regret is linear for every learner; in random
        order it is not.
    Meaning: If the first half of a list is not informative about the second, spending early and
        spending late are both wrong on some list. In random order every part of the list represents
        the rest.
    Limits: Passes if, in given order, the larger regret of the two lists is at least T/16 in every
        play, and exactly T/16 for the best possible learner on lists of 2 to 32 rows (linear
        program). In random order the mean regret must be below T/16 at the largest horizon
        (t-test), and that of EmpiricalLP must grow at most as fast as √(T ln T) (regression).
    Alt: In given order the regret of every learner is at least T/16; in random order it grows like
        √T.
    """

    learners: Mapping[str, BudgetedLearner] = component(
        {"empirical LP": EmpiricalLP(), "primal-dual": PrimalDual(), "dual descent": DualDescent()}
    )
    order: OrderLike = "random"
    amount: float = 0.5  # budget per round
    least: float = 1 / 16  # smallest possible regret per round in given order

    def units(self, *, full: bool) -> list[Unit]:
        sizes = [4**i for i in range(4, 9 if full else 8)]
        plays = 100 if full else 30
        return grid(T=(2, 4, 8, 16, 32), plays=0) + grid(T=sizes, plays=plays)

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        T = unit["T"]
        if unit["plays"] == 0:
            yield {"T": T, "kind": "least", "learner": "all", "play": 0, "regret": _least_regret(T)}
            return
        for repetition, child in enumerate(repetition_seeds(seed, unit["plays"])):
            for kind, order in (("given", "given"), ("random", self.order)):
                for name, learner in self.learners.items():
                    traces = [
                        play(
                            learner,
                            hindsight(T, half),
                            order,
                            budget=Budget(T * self.amount),
                            seed=child,
                        )
                        for half in _HALVES
                    ]
                    worse = max(float(trace.regret) for trace in traces)
                    yield {
                        "T": T,
                        "kind": kind,
                        "learner": name,
                        "play": repetition,
                        "regret": worse,
                    }

    def verdict(self, rows: Rows) -> Verdict:
        at = levels(rows, "T", kind="random")
        least_given = min(row["regret"] / row["T"] for row in rows if row["kind"] == "given")
        exact = [row["regret"] / row["T"] for row in rows if row["kind"] == "least"]
        mine = {name: matching(rows, kind="random", learner=name) for name in self.learners}
        shuffled = {name: [select(own, "regret", T=T) for T in at] for name, own in mine.items()}
        lp = shuffled["empirical LP"]
        rising = len(at) > 2 and min(float(regrets.mean()) for regrets in lp) > 0
        steepness = f"{slope(mine['empirical LP'], 'T', 'regret').value:.2f}" if rising else "none"
        checks = [
            pvalues.exact(least_given >= self.least - 1e-9),
            *(pvalues.exact(abs(value - self.least) <= 1e-9) for value in exact),
            *(
                pvalues.mean_at_most(regrets[-1], at[-1] * self.least)
                for regrets in shuffled.values()
            ),
            pvalues.growth("at most", at, lp, [(T * np.log(T)) ** 0.5 for T in at]),
        ]
        mean = max(float(regrets[-1].mean()) / at[-1] for regrets in shuffled.values())
        measured = (
            f"given order at least {least_given:.4f} T, the least of all learners {min(exact):.4f} T; "
            f"shuffled at most {mean:.4f} T at T = {at[-1]}, slope of the empirical LP {steepness}"
        )
        return self.verdict_from(checks, measured, "Ω(T) against Õ(√T)")

    def chart(self, rows: Rows) -> Chart:
        bands = [
            mean_band(rows, f"{name}, {words}", "T", "regret", kind=kind, learner=name)
            for kind, words in (("given", "given order"), ("random", "shuffled"))
            for name in self.learners
        ]
        lines = reference_lines(
            levels(rows, "T", kind="random"), {"T / 16": lambda T: T / 16, "√T": math.sqrt}
        )
        return self.make_chart("regret on the worse of two lists", bands, lines)

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "always the null action": {"learners": {**self.learners, "empirical LP": AlwaysPlay()}},
            "twice the budget": {"amount": 1.0},
            "twice the lower bound": {"least": 1 / 8},
            "half the lower bound": {"least": 1 / 32},
        }
