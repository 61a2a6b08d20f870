"""Theorem 4a (docs/theory/budget.md): a bound of EmpiricalLP without margin.

It solves its linear program again whenever the number of rows has doubled. The second pool
exchanges the better action at these rounds: in given order the learner is always wrong and earns
nothing; in random order its regret is far below its bound. The bound is some thirty times the
largest regret, so every round of fluid play is compared with a twin.
"""

from collections.abc import Callable
from functools import partial

from tombola import bounds
from tombola._types import Seed
from tombola.learners import BudgetedLearner, EmpiricalLP
from tombola.order import OrderLike
from tombola.paper import pvalues
from tombola.paper.base import Extension, Overrides, Unit, Verdict, component, grid
from tombola.paper.claims import constraints
from tombola.paper.curves import mean_band, reference_lines
from tombola.paper.rows import Row, Rows, distinct, levels, select
from tombola.paper.source_faults import SourceFault
from tombola.paper.twins import empirical_lp_spending
from tombola.report.chart import Chart
from tombola.rng import repetition_seeds

# Parameter `growth` of EmpiricalLP in the claim: the factor of the rows seen between two solutions.
_GROWTH = 2.0
# One action per round, or the whole mix.
_PLAY_MODES = ("sampled", "fluid")


class EmpiricalLPRegret(
    Extension, name="empirical-lp", expected="holds", alpha=1e-4, verdict_only=("bound",)
):
    """Regret of EmpiricalLP against its bound, sampled and fluid, and overspending.

    Sampled play draws an action per round; fluid play charges the whole mix.

    Title: No margin, and still a bound
    Source: our Theorem 4a (docs/theory/budget.md)
    Statement: In random order, with probability 1 − δ, EmpiricalLP loses at most O(√(T log T)/ρ +
        log T/ρ²) of T OPT, in sampled and in fluid play, and never overspends; ρ is the budget per
        round, OPT the reward per round of the best fixed mix.
    Meaning: Solve the linear program of the rows seen with the budget left, again and again,
        without a reserve. On a shuffled list this is safe until close to the end, and collects
        nearly everything.
    Limits: Passes if no play overspends; if at most 5 % of the plays have a regret above the bound
        (binomial test), and the bound is below T OPT; and if fluid play spends the same as a
        second, naive implementation in every round. This last check is the decisive one, as the
        bound is some 30 times the largest regret.
    Alt: The loss is close to 0 at every horizon; the bound falls like 1/√T.
    """

    learner: BudgetedLearner = component(EmpiricalLP(growth=_GROWTH))
    order: OrderLike = "random"
    overdraft: float = 1.0  # factor on the budget
    # By horizon and play mode.
    bound: Callable[[int, str], float] = component(
        lambda T, way: bounds.empirical_lp(
            T,
            constraints.ACTIONS,
            1,
            constraints.RATE,
            constraints.DELTA,
            _GROWTH,
            sampled=way == "sampled",
        )
    )

    def units(self, *, full: bool) -> list[Unit]:
        sizes = {2**14: 100, 2**16: 40, 2**18: 20} if full else {2**13: 30, 2**14: 30, 2**15: 15}
        played = (
            grid(T=T, pool=constraints.POOLS, way=_PLAY_MODES, plays=n) for T, n in sizes.items()
        )
        return [
            *grid(T=constraints.LP_ROUNDS, plays=6),
            *(unit for units in played for unit in units),
        ]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        seeds = repetition_seeds(seed, unit["plays"])
        if "pool" not in unit:
            twin = partial(empirical_lp_spending, growth=_GROWTH)
            about = {"T": unit["T"], "pool": None, "way": "fluid"}
            return [
                {
                    **about,
                    "agreed": constraints.rounds_as_lp_twin(self.learner, twin, self.order, child),
                }
                for child in seeds
            ]
        T = unit["T"]
        make = constraints.POOLS[unit["pool"]]
        fluid = unit["way"] == "fluid"
        return [
            {"T": T, "pool": unit["pool"], "way": unit["way"], "play": r}
            | constraints.budget_play(
                self.learner, make(T, seed=child), self.order, self.overdraft, child, fluid=fluid
            )
            for r, child in enumerate(seeds)
        ]

    def verdict(self, rows: Rows) -> Verdict:
        computed, rows = [
            [row for row in rows if (row["pool"] is None) == kind] for kind in (True, False)
        ]
        differ = sum(row["agreed"] < row["T"] for row in computed)
        over = sum(bool(row["overspent"]) for row in rows)
        checks = [pvalues.exact(over == 0), pvalues.exact(differ == 0)]
        shares = []
        for T, pool, way in distinct(rows, "T", "pool", "way"):
            where = {"T": T, "pool": pool, "way": way}
            bound = self.bound(T, way)
            regrets = select(rows, "regret", **where)
            checks.append(
                pvalues.binomial_tail(int((regrets > bound).sum()), regrets.size, constraints.DELTA)
            )
            checks.append(pvalues.exact(bound < float(select(rows, "most", **where).min())))
            shares.append(float(regrets.max()) / bound)
        measured = (
            f"{over} of {len(rows)} plays overspent; regret at most {max(shares):.3f} of "
            "the bound in any play; "
        )
        measured += f"{differ} of {len(computed)} plays differ from the twin"
        return self.verdict_from(checks, measured, "O(√(T log)/ρ + log/ρ²)")

    def chart(self, rows: Rows) -> Chart:
        rows = [row for row in rows if row["pool"] is not None]
        losses = [{**row, "lost": max(0.0, row["regret"]) / row["most"]} for row in rows]
        most = float(select(rows, "most").max()) / levels(rows, "T")[-1]
        bands = [
            mean_band(losses, f"{pool}, {way}", "T", "lost", pool=pool, way=way)
            for pool in levels(rows, "pool")
            for way in _PLAY_MODES
        ]
        lines = reference_lines(
            levels(rows, "T"), {"bound, sampled": lambda T: self.bound(T, "sampled") / (most * T)}
        )
        return self.make_chart("share of T OPT that is lost", bands, lines, log="x")

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "always the null action": {"learner": constraints.AlwaysPlay()},
            "half as much again to spend": {"overdraft": 1.5},
            "a thousandth of the bound": {"bound": lambda T, way: self.bound(T, way) / 1000},
        }

    def source_faults(self) -> dict[str, SourceFault]:
        plan = "learners.budgeted.empirical_lp:EmpiricalLP.plan"
        rows = "int(state.horizon)"
        return {
            "rounds left not reduced by the rows seen": SourceFault(
                plan, "state.horizon - seen)", "state.horizon)"
            ),
            "solved a tenth too late": SourceFault(
                plan, f"int(seen), {rows}", f"int(1.1 * seen), {rows}"
            ),
        }
