"""Claims about switching costs: Theorem 4.9, and the random walk of Dekel et al.

Theorem 4.9 (L622): the gaps, the differences of the mean losses, shrink like 1/sqrt(T), so that the
rate is tested and not the gap. The paper's elimination drops nothing at these horizons. In given
order the pools show the losses of the best action first, so that elimination without a shuffle
drops it.

The bound is many times the regret. So the learners are compared with twins (`tombola.paper.twins`)
round by round, and the rate is tested by the corollary on gaps (docs/theory/switching.md): an
action with gap c/sqrt(T) is played at most 12 L T/c^2 + 1 times, which costs 12 L sqrt(T)/c, where
L is `bounds.switching.elimination_log`. A slope over three horizons would depend on how they fall
between the play counts at which actions may be dropped.

The multi-scale random walk (L583; Dekel, Ding, Koren and Peres 2014): in given order actions can
only be compared by switching between them, and regret with switches is at least of order T^(2/3) /
log T for every learner. In random order the same rows are ordinary noise, and a learner with few
switches has a rate of sqrt(T).
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tombola import _statistics, bounds, instances
from tombola._compare import compare
from tombola._play import play
from tombola._types import Floats, Seed
from tombola.bounds.switching import elimination_counts
from tombola.engine.loop import SWITCHES
from tombola.evidence.intervals import serfling_radius
from tombola.learners import (
    UCB1,
    UCB2,
    BatchedExp3,
    FrugalUCB,
    SerflingElimination,
    SimulationSuccessiveElimination,
)
from tombola.learners.base import Learner
from tombola.learners.switching.staged_elimination import State
from tombola.order import OrderLike
from tombola.paper import pvalues, twins
from tombola.paper.base import Claim, Overrides, Unit, Verdict, component, grid
from tombola.paper.curves import mean_band, reference_lines
from tombola.paper.extensions.switching import NO_OPTIMISM, NO_PRICE
from tombola.paper.rows import Row, Rows, levels, matching, select, slope
from tombola.paper.source_faults import SourceFault
from tombola.pool import Pool
from tombola.report.chart import Chart
from tombola.rng import repetition_seeds

# Gaps of the pools, in units of 1/sqrt(T).
_GAPS = (0.5, 16.0, 32.0)
# Rounds of the comparisons with twins.
_TWIN_ROUNDS = 1024
# Horizon at which the elimination of the paper drops an action.
_LONG = 3 * 2**18
# Gap of the pool on which the paper's elimination drops an action within the horizon; so wide that
# random losses change no decision.
_WIDE_GAP = 0.95
# Horizons at which the theorem's bound is below T.
_FAR = (2**30, 2**40)
# The theorem's bound over √(k T ln³ T), with k = 2: 4 √20 / (√2 - 1) = 43.2, and lower terms.
_RATE_CONSTANT = 44.0
# Name of SerflingElimination, the tight version of the learner of the paper, in this claim.
_TIGHT = "Serfling elimination"
_LEARNERS: dict[str, Learner] = {
    "faithful": SimulationSuccessiveElimination(),
    _TIGHT: SerflingElimination(),
    "UCB2": UCB2(),
    "FrugalUCB": FrugalUCB(),
}
# Twins of the learners, as functions of k and T.
_TWINS: dict[str, Callable[[int, int], twins.Twin]] = {
    "faithful": twins.SimulationEliminationTwin,
    _TIGHT: twins.SerflingEliminationTwin,
}


@dataclass(frozen=True)
class _Narrow(SerflingElimination):
    """SerflingElimination with 0.3 times its radius: a fault."""

    @staticmethod
    def radius(state: State, action: int) -> float:
        return 0.3 * serfling_radius(state.seen[action], state.population, state.level)


def _pool_losses_first(T: int, gap: float, seed: Seed) -> Pool:
    """Return a pool with two actions, the second better by `gap`."""
    # The losses of the second action come first, so that it looks worse.
    losses = np.array(instances.gap(T, 2, gap, seed=seed).losses, dtype=np.float64)
    return Pool(losses[np.lexsort((losses[:, 0], -losses[:, 1]))])


def _faithful_regret(T: int, gap: float) -> float:
    """Return the exact regret of the paper's elimination while it keeps both actions."""
    # It is half the difference of the total losses plus the switches; T is a power of two.
    ones = round(T * 0.5) - round(T * (0.5 - gap))
    return ones / 2 + bounds.simulation_elimination_switches(T, 2)


def _faithful_plays(T: int, gap: float = _WIDE_GAP) -> int:
    """Return the plays of the worse of two actions, by the paper's elimination.

    The observed means differ by `gap`.
    """
    # The plays are half of each block 2^i, until 2 e_i < gap, e_i = sqrt(20 (ln T)^3 / 2^i); all of
    # them if that comes too late.
    block = next(i for i in range(1, 128) if 80 * math.log(T) ** 3 < gap**2 * 2**i)
    return int(min(2**block, T // 2))


def _largest_steady_regret(T: int) -> float:
    """Return the largest regret of the paper's elimination on rows that are all equal.

    Its plays of the worse action are exact there. The largest regrets have a gap just below 2 e_i,
    which survives block i.
    """
    regrets = []
    for block in range(1, T.bit_length()):
        gap = min(1.0, math.sqrt(80 * math.log(T) ** 3 / 2**block))
        regrets.append(gap * _faithful_plays(T, gap))
    return max(regrets) + bounds.simulation_elimination_switches(T, 2)


def _most_plays(T: int, gap: float) -> float:
    """Return the most plays of the worse of two actions by SerflingElimination.

    The number is infinite if the worse action is not dropped in time. The action survives a
    decision at the count n only if 4 r(n) >= gap, and then plays until the next count. This holds
    with probability 1 - 1/T, together with the best action surviving.
    """
    twin = twins.SerflingEliminationTwin(2, T)
    count = twin.count
    while 2 * count < T and 4 * twin.radius(count) >= gap:
        count = math.ceil(1.5 * count)
    return count if 2 * count < T else math.inf


def _bound_formula(T: int) -> float:
    """Return the bound for two actions at delta = 1/T."""
    # It is 4 sqrt(2 T L) + 2 (2 L + 1) + drift + 1, and the switches.
    twin = twins.SerflingEliminationTwin(2, T)
    depth = twin.depth
    counts = [twin.count]
    while 2 * math.ceil(1.5 * counts[-1]) < T:
        counts.append(math.ceil(1.5 * counts[-1]))
    regret = math.sqrt(32 * T * depth) + 4 * depth + 2 + math.pi / 4 * math.sqrt(T) + 1
    return min(float(T), regret) + min(T - 1, len(counts) + 1)


def _paper_bound_formula(T: int) -> float:
    """Return the paper's bound for two actions and T a power of two, with its corrected proof."""
    # Round 1 to 4, the drift, and 4 e_(i-1) in each round of block i = 2, 3, ..; the switches.
    width = 4 * math.sqrt(20 * math.log(T) ** 3)
    blocks = sum(width * 2 ** ((i + 1) / 2) for i in range(2, T.bit_length() - 1))
    regret = min(float(T), 5 + math.pi / 4 * math.sqrt(T) + blocks)
    return regret + 1 + 2 * (T.bit_length() - 2)


class Switching(
    Claim,
    name="switching",
    expected="holds as corrected",
    alpha=5e-4,
    verdict_only=("bound", "paper_bound"),
):
    """Regret plus switches on two actions with gaps of 0.5, 16 and 32 over √T.

    Title: When every change costs
    Source: Theorem 4.9 (L622)
    Statement: In random order, regret and switches together are O(√(k T log³ T)), with k log T
        switches.
    Meaning: Each change of action (another model, another tool) costs as much as a loss of 1.
        Playing in long blocks keeps switches few. The printed radius is too wide to drop any action
        at usual horizons; radii for finite lists are valid too, and drop actions early.
    Limits: Passes if the mean regret plus switches of SerflingElimination at δ = 1/T is at most its
        bound (t-test), its switches at most theirs, and the bound equals its formula. It is more
        than ten times the regret, so more is required: in a share of at most 1/T of the plays the
        best action is dropped, or the other one later than its confidence radius allows (binomial
        test). Both eliminations choose the same actions as a second, naive implementation in every
        round. The elimination of the paper has its exact regret (two-sided t-test) and its exact
        number of switches and plays, and its mean regret plus switches is at most the theorem's
        bound with the constants of its corrected proof (t-test). At these horizons that bound is T,
        so more is required at T = 2^30 and 2^40, where it is not: it equals its formula, is at most
        44 √(2 T ln³ T), and is not exceeded on rows that are all equal, where the plays are exact.
    Alt: The paper's elimination stays on the line of a learner that learns nothing; the others are
        far below it, and all grow like √T.
    """

    learners: Mapping[str, Learner] = component(_LEARNERS)
    order: OrderLike = "random"
    bound: Callable[..., float] = component(bounds.elimination)
    paper_bound: Callable[..., float] = component(bounds.simulation_elimination)
    price: float = 1.0  # cost of a switch, in losses

    def units(self, *, full: bool) -> list[Unit]:
        powers = range(12, 19) if full else (12, 14, 16)
        rates = grid(T=[2**i for i in powers], gap=_GAPS, plays=200 if full else 60)
        twins = grid(T=_TWIN_ROUNDS, learner=_TWINS, plays=12)
        twins += grid(T=[2**i for i in powers if i <= 16], learner=_TIGHT, plays=len(_GAPS))
        return [*rates, *twins, {"T": _LONG, "learner": "faithful", "plays": 0}]

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        if "gap" not in unit:
            yield from self._exact_rows(unit, seed)
            return
        T = unit["T"]
        gap = unit["gap"]
        runs = compare(
            _pool_losses_first(T, gap / T**0.5, seed),
            self.learners,
            self.order,
            repetitions=unit["plays"],
            switching_price=self.price,
            seed=seed,
        )
        for name in self.learners:
            plays = runs.cell(name).plays[:, 0]
            switches = runs.cell(name).sums[:, -1, SWITCHES]
            for r, regret in enumerate(runs.regrets(name)):
                about = {"T": T, "gap": gap, "learner": name, "play": r, "regret": float(regret)}
                yield {**about, "worse": int(plays[r]), "switches": int(switches[r])}

    def _exact_rows(self, unit: Unit, seed: Seed) -> Iterator[Row]:
        """Yield rounds that agree with the twin, or plays of action 0, and exact numbers."""
        T = unit["T"]
        name = unit["learner"]
        count = unit["plays"]
        about = {"gap": None, "T": T, "learner": name}
        if count == 0:
            ones = np.array([(1 + _WIDE_GAP) / 2, (1 - _WIDE_GAP) / 2]) * T
            losses = (np.arange(T)[:, None] < ones).astype(np.float64)
            trace = play(self.learners[name], Pool(losses), seed=seed)
            yield {**about, "play": 0, "value": int(trace.plays[0]), "exact": _faithful_plays(T)}
            return
        generator = np.random.default_rng(seed)
        # Many gaps, since decisions are far apart: a radius that is off by a tenth changes some of
        # them.
        gaps = np.linspace(0.1, 0.5, count) if T == _TWIN_ROUNDS else np.array(_GAPS) / math.sqrt(T)
        for r, gap in enumerate(gaps):
            losses = generator.permutation(
                np.asarray(_pool_losses_first(T, float(gap), seed).losses, dtype=np.float64)
            )
            agreed = twins.rounds_agreed(self.learners[name], losses, _TWINS[name](2, T))
            yield {**about, "play": r, "value": agreed, "exact": T}

    def verdict(self, rows: Rows) -> Verdict:
        computed, rows = [
            [row for row in rows if (row["gap"] is None) == kind] for kind in (True, False)
        ]
        at = levels(rows, "T")
        gaps = levels(rows, "gap")
        checks, share = pvalues.means_at_most(
            matching(rows, learner=_TIGHT), ("T", "gap"), lambda T, _: self.bound(T, 2)
        )
        for T in at:
            checks += [
                check
                for gap in gaps
                for check in _play_checks(matching(rows, T=T, gap=gap), T, gap)
            ]
            checks.append(pvalues.binomial_tail(*_exceptions(rows, T), 1 / T))
            checks.append(pvalues.exact(twins.agrees(self.bound(T, 2), _bound_formula(T))))
        faithful, faithful_share = pvalues.means_at_most(
            matching(rows, learner="faithful"), ("T", "gap"), lambda T, _: self.paper_bound(T, 2)
        )
        checks += [*faithful, *self._theorem_checks()]
        steady_share = _largest_steady_regret(_FAR[0]) / self.paper_bound(_FAR[0], 2)
        differ = sum(row["value"] != row["exact"] for row in computed)
        checks.append(pvalues.exact(differ == 0))
        last = matching(rows, T=at[-1], gap=gaps[-1])
        improved, wide = (
            float(select(last, "regret", learner=name).mean()) for name in (_TIGHT, "faithful")
        )
        slopes = ", ".join(
            f"{slope(rows, 'T', 'regret', gap=gap, learner=_TIGHT).value:.2f}" for gap in gaps
        )
        lost, plays = np.sum([_exceptions(rows, T) for T in at], axis=0)
        measured = (
            f"Serfling elimination at most {share:.2f} of its bound, slopes {slopes}; T = "
            f"{at[-1]}, "
            f"gap {gaps[-1]:g}/√T: {improved:.0f}, faithful {wide:.0f} (nothing dropped, as "
            f"computed; at most {faithful_share:.2f} of the theorem's bound, and "
            f"{steady_share:.2f} at T = 2^30); "
            f"best dropped, or the other one too late, in {lost} of {plays} plays; "
            f"{differ} of {len(computed)} plays differ from exact values"
        )
        return self.verdict_from(
            checks, measured, "√(k T log³ T)", "√(k T log T)", outcome="holds as corrected"
        )

    def _theorem_checks(self) -> list[float]:
        """Return p-values of the theorem's bound, at horizons where it is below T."""
        checks = []
        for T in _FAR:
            bound = self.paper_bound(T, 2)
            checks += [
                pvalues.exact(twins.agrees(bound, _paper_bound_formula(T))),
                pvalues.exact(bound <= _RATE_CONSTANT * math.sqrt(2 * T * math.log(T) ** 3)),
                pvalues.exact(_largest_steady_regret(T) <= bound),
            ]
        return checks

    def chart(self, rows: Rows) -> Chart:
        rows = [row for row in rows if row["gap"] is not None]
        widest = levels(rows, "gap")[-1]
        curves: dict[str, Callable[[int], float]] = {
            "bound of Serfling elimination": lambda T: self.bound(T, 2),
            "nothing learned": lambda T: _faithful_regret(T, widest / T**0.5),
        }
        bands = [
            mean_band(rows, name, "T", "regret", learner=name, gap=widest) for name in self.learners
        ]
        lines = reference_lines(levels(rows, "T"), curves)
        return self.make_chart(f"regret plus switches (2 actions, gap {widest:g}/√T)", bands, lines)

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "0.3 of the radius": {"learners": {**self.learners, _TIGHT: _Narrow()}},
            "switches not counted": {"price": 0.0},
            "a learner that switches often": {"learners": {**self.learners, _TIGHT: UCB1()}},
            "a twentieth of the bound": {"bound": lambda *size: self.bound(*size) / 20},
            "a twentieth of the theorem's bound": {
                "paper_bound": lambda *size: self.paper_bound(*size) / 20
            },
            "four times the theorem's bound": {
                "paper_bound": lambda *size: self.paper_bound(*size) * 4
            },
        }

    def source_faults(self) -> dict[str, SourceFault]:
        serfling = "learners.switching.staged_elimination:SerflingElimination.radius"
        faithful = "learners.switching.simulation_elimination:SimulationSuccessiveElimination.init"
        radius = "evidence.intervals:serfling_radius"
        bound = "bounds.switching:elimination"
        return {
            "half of Serfling's radius": SourceFault(
                radius, "1.0, math.sqrt(", "1.0, 0.5 * math.sqrt("
            ),
            "Hoeffding in place of Serfling": SourceFault(serfling, "state.population", "1e300"),
            "(ln T)^½ in the paper's radius": SourceFault(faithful, "1.5)", "0.5)"),
            "elimination bound / 40": SourceFault(bound, "capped(regret +", "capped(regret / 40 +"),
            "2 e_i a round, as printed, in the theorem's bound": SourceFault(
                "bounds.switching:simulation_elimination", "4 * _radius(", "2 * _radius("
            ),
        }


def _play_checks(rows: Rows, T: int, gap: float) -> list[float]:
    """Return p-values of the switches, and of the exact regret of the paper's learner."""
    tight = matching(rows, learner=_TIGHT)
    faithful = matching(rows, learner="faithful")
    return [
        pvalues.exact(float(select(tight, "switches").max()) <= bounds.elimination_switches(T, 2)),
        pvalues.exact(
            bool(
                (select(faithful, "switches") == bounds.simulation_elimination_switches(T, 2)).all()
            )
        ),
        pvalues.mean_equals(select(faithful, "regret"), _faithful_regret(T, gap / T**0.5)),
    ]


def _exceptions(rows: Rows, T: int) -> tuple[int, int]:
    """Return plays that drop the best action, or the other too late, and all plays."""
    tight = matching(rows, learner=_TIGHT, T=T)
    last = elimination_counts(T, 2)[-1]
    # More plays of the worse action than this, and the best one was dropped.
    most = max(-(-3 * last // 2), T - last)
    limits = {gap: min(most, _most_plays(T, gap / math.sqrt(T))) for gap in levels(tight, "gap")}
    return sum(row["worse"] > limits[row["gap"]] for row in tight), len(tight)


_FRUGAL = "FrugalUCB"
# Standard deviation of the rescaled walk.
_SPREAD = 0.25
# Walks compared with the twin, and their longest horizon: the twin is slow.
_TWIN_WALKS = 6
_TWIN_WALK_ROUNDS = 512
_WALK_LEARNERS: dict[str, Learner] = {
    _FRUGAL: FrugalUCB(),
    "BatchedExp3": BatchedExp3(),
    "Serfling elimination": SerflingElimination(delta=0.1),
}


def _rescaled_walk(T: int, seed: Seed) -> Pool:
    """Return a walk of T rounds with standard deviation 1/4 and gap (2/T)^(1/3) / 2.

    Losses are clipped to [0, 1]. The walk of the proof has sigma = 1/(9 log2 T) to stay in [0, 1],
    and a gap so small that up to millions of rounds a few switches cost more than the worse action;
    the rescaled walk shows the rates at thousands of rounds.
    """
    losses = np.array(instances.random_walk(T, seed=seed).losses, dtype=np.float64)
    best = int(np.argmin(losses.sum(axis=0)))
    factor = _SPREAD * 9 * math.log2(T) / math.sqrt(math.log2(T) / 2)
    wide = np.repeat(0.5 + factor * (losses[:, [1 - best]] - 0.5), 2, axis=1)
    wide[:, best] -= 0.5 * (2 / T) ** (1 / 3)
    return Pool(wide.clip(0.0, 1.0))


class RandomWalk(Claim, name="random-walk", expected="holds", alpha=5e-4):
    """Growth of regret with switches on the multi-scale random walk.

    The pool is a walk of T = 256 to 16,384 losses that both actions share, one of them lower by a
    gap of order T^(−1/3). A switch costs 1.

    Title: The pool for which switching is costly, in given and random order
    Source: Dekel et al. 2014 (cited at L583)
    Statement: In adversarial order regret with switches grows like T^(2/3); shuffled, the same rows
        allow √T.
    Meaning: Losses that drift slowly can only be compared by switching back and forth. In random
        order there is no drift.
    Limits: Passes if the regret of FrugalUCB in given order grows at least as fast as T^(2/3) / log
        T, and in random order at most as fast as √(T ln T) (regression); if every learner loses
        more in given order than FrugalUCB in random order (t-test at level alpha); and if FrugalUCB
        chooses the same action as a second, naive implementation in every round. The slopes of the
        other learners are shown only: the theorem bounds their regret and not their slope.
    Alt: In given order the regrets run parallel to T to the power 2/3, shuffled FrugalUCB is
        flatter.
    """

    learners: Mapping[str, Learner] = component(_WALK_LEARNERS)
    given: OrderLike = "given"
    order: OrderLike = "random"
    walk: Callable[[int, Seed], Pool] = component(_rescaled_walk)

    def units(self, *, full: bool) -> list[Unit]:
        return grid(T=[2**i for i in range(8, 18 if full else 15)], walks=200 if full else 80)

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        rows: list[Row] = []
        for r, child in enumerate(repetition_seeds(seed, unit["walks"])):
            pool = self.walk(unit["T"], child)
            for kind, order in (("given", self.given), ("random", self.order)):
                runs = compare(
                    pool, self.learners, order, repetitions=1, switching_price=1.0, seed=child
                )
                for name in self.learners:
                    regret = float(runs.regrets(name)[0])
                    switches = int(runs.cell(name).sums[0, -1, SWITCHES])
                    about = {"T": unit["T"], "order": kind, "learner": name, "play": r}
                    rows.append({**about, "regret": regret, "switches": switches, "differs": False})
            if r < _TWIN_WALKS and unit["T"] <= _TWIN_WALK_ROUNDS:
                rows[-1] = {**rows[-1], "differs": self._differs(pool, child)}
        return rows

    def _differs(self, pool: Pool, seed: Seed) -> bool:
        """Return whether FrugalUCB differs from its twin on a walk, as listed or shuffled."""
        listed = np.asarray(pool.losses, dtype=np.float64)
        orders = (listed, np.random.default_rng(seed).permutation(listed))
        T, k = listed.shape
        return any(
            twins.rounds_agreed(self.learners[_FRUGAL], losses, twins.FrugalUCBTwin(k, T)) < T
            for losses in orders
        )

    def verdict(self, rows: Rows) -> Verdict:
        at = levels(rows, "T")
        lower, upper = (
            [T ** (2 / 3) / math.log2(T) for T in at],
            [math.sqrt(T * math.log(T)) for T in at],
        )
        checks = [
            pvalues.growth("at least", at, _regrets(rows, _FRUGAL, "given"), lower),
            pvalues.growth("at most", at, _regrets(rows, _FRUGAL, "random"), upper),
            pvalues.exact(not any(row["differs"] for row in rows)),
        ]
        gains = {name: _gains(rows, name) for name in self.learners}
        checks += [
            pvalues.exact(pvalues.mean_at_most(gain, 0.0) <= self.alpha) for gain in gains.values()
        ]
        slopes = [
            slope(rows, "T", "regret", order=order, learner=_FRUGAL)
            for order in ("given", "random")
        ]
        least = min(
            slope(rows, "T", "regret", order="given", learner=name).value for name in self.learners
        )
        measured = (
            f"{_FRUGAL}: slope {slopes[0]} given, {slopes[1]} shuffled; given, no "
            f"learner below {least:.2f}"
        )
        smallest = min(gains.values(), key=lambda gain: float(np.mean(gain)))
        measured += (
            f"; shuffling saves at least {_statistics.mean(smallest)} T^(2/3), for "
            "every learner in given order"
        )
        return self.verdict_from(checks, measured, "T^(2/3) against √T")

    def chart(self, rows: Rows) -> Chart:
        bands = (
            *(
                mean_band(rows, f"{name}, given", "T", "regret", order="given", learner=name)
                for name in self.learners
            ),
            mean_band(rows, f"{_FRUGAL}, shuffled", "T", "regret", order="random", learner=_FRUGAL),
        )
        lines = reference_lines(
            levels(rows, "T"), {"T^(2/3)": lambda T: T ** (2 / 3), "√T": math.sqrt}
        )
        return self.make_chart("regret plus switches", bands, lines)

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "a walk that is shuffled too": {"given": "random"},
            "a learner that switches as if rows were listed": {
                "learners": {**self.learners, _FRUGAL: BatchedExp3()}
            },
            "a walk without a best action": {
                "walk": lambda *of: Pool(np.repeat(self.walk(*of).losses[:, :1], 2, 1))
            },
        }

    def source_faults(self) -> dict[str, SourceFault]:
        return {"FrugalUCB without optimism": NO_OPTIMISM, "FrugalUCB without its price": NO_PRICE}


def _regrets(rows: Rows, learner: str, order: str) -> list[Floats]:
    return [select(rows, "regret", T=T, learner=learner, order=order) for T in levels(rows, "T")]


def _gains(rows: Rows, learner: str) -> Floats:
    """Return the gain of random order per walk, with equal weight for all horizons."""
    # It is (regret of a learner in given order - FrugalUCB in random order) / T^(2/3).
    pairs = zip(
        levels(rows, "T"),
        _regrets(rows, learner, "given"),
        _regrets(rows, _FRUGAL, "random"),
        strict=True,
    )
    return np.asarray(
        np.mean(
            [in_order / T ** (2 / 3) - shuffled / T ** (2 / 3) for T, in_order, shuffled in pairs],
            axis=0,
        )
    )
