"""Bounds that hold in every order: nearly attained on constructed sequences, and each step of their proofs in play."""

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from tombola import Pool, bounds, compare
from tombola._types import Floats
from tombola.bounds.full_information import ALPHA, PHI
from tombola.bounds.switching import exp3_block
from tombola.learners import AdaHedge, BatchedExp3, Exp3, FlipFlop, TsallisInf, TsallisSwitching
from tombola.learners.base import Learner, MixedLearner
from tombola.paper.source_faults import SourceFault, injected
from tombola.rng import choice, new_rng

ROUNDING = 1e-9


# Mixability gaps: AdaHedge and FlipFlop (docs/theory/delay.md, section 4)


class Path(NamedTuple):
    """Mixes and rows of a play, shape (T, k)."""

    mixes: Floats
    rows: Floats

    @property
    def regrets(self) -> Floats:
        """Return the regret after each round."""
        lost: Floats = np.cumsum((self.mixes * self.rows).sum(axis=1)) - np.cumsum(
            self.rows, axis=0
        ).min(axis=1)
        return lost

    @property
    def rounds(self) -> Iterator[tuple[Floats, Floats, Floats, float, float]]:
        """Yield mix, row, totals before it, variance of the row under the mix, and regret after it, round by round."""
        totals = np.cumsum(self.rows, axis=0) - self.rows
        for mix, row, total, regret in zip(
            self.mixes, self.rows, totals, self.regrets, strict=True
        ):
            yield mix, row, total, float(mix @ row**2 - (mix @ row) ** 2), float(regret)


def against(learner: MixedLearner, k: int, T: int, tail: int) -> Path:
    """Play against the row that only the likeliest action loses; in the last `tail` rounds action 0
    alone wins.

    The first part keeps the actions together, where the gaps are largest, the second adds the cost
    of the last rate.
    """
    state: Any = learner.init(k, T)
    mixes, rows = np.zeros((T, k)), np.zeros((T, k))
    for t in range(T):
        learner.mix(state, mixes[t])
        rows[t] = np.arange(k) > 0 if t >= T - tail else np.arange(k) == mixes[t].argmax()
        learner.observe(state, rows[t])
    return Path(mixes, rows)


def mixability_gap(mix: Floats, row: Floats, totals: Floats, rate: float) -> float:
    """Return the loss of the mix minus its mix loss; at an infinite rate that is the change of the least total."""
    if rate == math.inf:
        return float(mix @ row - (totals + row).min() + totals.min())
    return float(mix @ row) + math.log(float(mix @ np.exp(-rate * row))) / rate


def check_ada_hedge(learner: AdaHedge, path: Path) -> None:
    """Regret <= gap + (gap before) / kappa, and gap^2 <= kappa V ln k + b gap, after every round."""
    log, gap, variance = math.log(path.rows.shape[1]), 0.0, 0.0
    b = 2 / 3 * learner.kappa * log + 1
    for mix, row, totals, spread, regret in path.rounds:
        before = gap
        gap += mixability_gap(mix, row, totals, learner.kappa * log / gap if gap > 0 else math.inf)
        variance += spread
        assert regret <= gap + before / learner.kappa + ROUNDING
        assert gap**2 <= learner.kappa * variance * log + b * gap + ROUNDING


def check_flip_flop(learner: FlipFlop, path: Path) -> None:
    """The same for the rounds of AdaHedge, with the gaps of both regimes in balance."""
    log = math.log(path.rows.shape[1])
    flip, flop, variance, ended, before, flopping = 0.0, 0.0, 0.0, 0.0, 0.0, False
    for mix, row, totals, spread, regret in path.rounds:
        if flopping:
            before = flop
            flop += mixability_gap(mix, row, totals, log / flop if flop > 0 else math.inf)
            variance += spread
        else:
            flip += mixability_gap(mix, row, totals, math.inf)
        assert regret <= flip + flop + ended + before + ROUNDING
        assert flip <= PHI / ALPHA * flop + 1 + ROUNDING
        assert flop**2 <= variance * log + (2 / 3 * log + 1) * flop + ROUNDING
        assert ended + before <= (PHI / (PHI - 1) + 1) * flop + ROUNDING
        if flopping and flop > ALPHA * flip:
            ended, before, flopping = ended + before, 0.0, False
        elif not flopping and flip > PHI / ALPHA * flop:
            flopping = True


# Learner, and the share of its bound that the constructed sequence must exceed.
FULL: list[tuple[Any, Callable[..., None], float]] = [
    (AdaHedge(), check_ada_hedge, 0.9),
    (AdaHedge(kappa=1.0), check_ada_hedge, 0.9),
    (FlipFlop(), check_flip_flop, 0.45),
]


def check_full_information(learner: Any, check: Callable[..., None], share: float) -> None:
    """Two actions for the bound; three for the steps of the proof, also on random rows."""
    T = 4096
    regret = max(float(against(learner, 2, T, tail).regrets[-1]) for tail in (100, 200))
    assert share * learner.bound(2, T) < regret <= learner.bound(2, T)
    check(learner, against(learner, 3, 600, 50))
    check(learner, against(learner, 2, 600, 0))


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(
    ("learner", "check", "share"), FULL, ids=lambda one: getattr(one, "__name__", repr(one))
)
def test_bound_of_mixability_gaps(learner: Any, check: Callable[..., None], share: float) -> None:
    check_full_information(learner, check, share)


def test_flip_flop_bound_equals_its_steps() -> None:
    """c gap + 1, with the gap of the largest variance, and c by the sums of both regimes."""
    T, k = 5000, 7
    ended = sum(PHI**-i for i in range(200))
    gap = next(
        x
        for x in np.arange(1, T, 0.001)
        if x**2 > T / 4 * math.log(k) + (2 / 3 * math.log(k) + 1) * x
    )
    assert bounds.flip_flop(T, k) == pytest.approx(
        (ended + 1 + PHI / ALPHA + 1) * gap + 1, abs=0.01
    )


# Follow the regularised leader on estimated losses (docs/theory/transfer.md;
# docs/theory/switching.md, section 4)


class Draw(NamedTuple):
    """One draw of a bandit learner.

    mix, totals: probabilities, and estimated totals before it, shape (k,).
    losses: of the rounds that it decides, shape (k,).
    """

    mix: Floats
    totals: Floats
    losses: Floats


def draws(learner: Any, rows: Floats, seed: int) -> Iterator[Draw]:
    """Step through a play, draw by draw; a learner with plans draws for a block."""
    T, k = rows.shape
    state, rng, totals, start = (
        learner.init(k, T),
        new_rng(np.random.SeedSequence(seed)),
        np.zeros(k),
        0,
    )
    while start < T:
        with np.errstate(over="ignore"):  # the rng wraps around by design
            if isinstance(learner, MixedLearner):
                mix, length = np.empty(k), 1
                learner.mix(state, mix)
                action = choice(mix, rng)
            else:
                learner.plan(state, rng)
                mix, action, length = (
                    state.weights.copy(),
                    int(state.current[0]),
                    int(state.left[0]),
                )
        block = rows[start : start + length]
        yield Draw(mix, totals.copy(), block.sum(axis=0))
        for row in block:
            learner.observe(state, action, mix[action], row[action])
        totals[action] += block[:, action].sum() / mix[action]
        start += length


def exponential(totals: Floats, rate: float) -> float:
    """Return min <p, totals> + sum p ln p / rate."""
    return float(
        totals.min() - math.log(float(np.exp(-rate * (totals - totals.min())).sum())) / rate
    )


def tsallis(totals: Floats, rate: float) -> float:
    """Return min <p, totals> - (4 / rate) sum sqrt(p), by bisection for the multiplier."""
    low, high = 2 / rate, 2 / rate * math.sqrt(totals.size)
    for _ in range(60):
        middle = (low + high) / 2
        inside = (4 / (rate * (totals - totals.min() + middle)) ** 2).sum() > 1
        low, high = (middle, high) if inside else (low, middle)
    mix = 4 / (rate * (totals - totals.min() + high)) ** 2
    return float(mix @ totals - 4 / rate * np.sqrt(mix).sum())


class Proof(NamedTuple):
    """Parts of a bound: potential, rate and largest stability of draw n = 1, 2, ..; attained share; price."""

    learner: Any
    potential: Callable[[Floats, float], float]
    rate: Callable[[int, int, int], float]
    stability: Callable[[Draw, float], float]
    share: float
    price: float = 0.0


def exp3_rate(n: int, k: int, T: int) -> float:
    """Return the rate of Exp3 for T draws."""
    return math.sqrt(2 * math.log(k) / (k * T))


def batched_rate(n: int, k: int, T: int) -> float:
    """Return the rate of Exp3 on blocks."""
    length = exp3_block(T, k)
    return exp3_rate(n, k, math.ceil(T / length)) / length


def switching_rate(n: int, k: int, T: int) -> float:
    """Return the rate of TsallisSwitching."""
    return math.sqrt(8 / n) / max(1, math.ceil(1.5 * math.sqrt(n / k)))


def second_moment(draw: Draw, rate: float) -> float:
    """Return (rate / 2) E sum p estimate^2."""
    return rate / 2 * float((draw.losses**2).sum())


def root_moment(draw: Draw, rate: float) -> float:
    """Return (rate / 2) E sum p^1.5 estimate^2."""
    return rate / 2 * float((np.sqrt(draw.mix) * draw.losses**2).sum())


PROOFS = [
    Proof(Exp3(), exponential, exp3_rate, second_moment, 0.6),
    Proof(TsallisInf(), tsallis, lambda n, k, T: 2 / math.sqrt(n), root_moment, 0.4),
    Proof(BatchedExp3(), exponential, batched_rate, second_moment, 0.6, 1.0),
    Proof(TsallisSwitching(), tsallis, switching_rate, root_moment, 0.4, 1.0),
]
by_learner = pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: repr(proof.learner))


def all_lose(T: int, k: int) -> Pool:
    """Return rows in which all actions lose; in the last half the last action does not.

    The estimates of the first half spread as far as the bound allows, and the second half makes
    that cost.
    """
    rows = np.ones((T, k))
    rows[T // 2 :, -1] = 0.0
    return Pool(rows)


def check_stability(proof: Proof) -> None:
    """E [loss - change of the potential] <= the stability of the proof in every draw, exactly over its outcomes."""
    T, k = 120, 4
    for seed in range(2):
        rows = np.random.default_rng(seed).random((T, k)) ** (2 * seed)
        for n, draw in enumerate(draws(proof.learner, rows, seed), 1):
            rate = proof.rate(n, k, T)
            before = proof.potential(draw.totals, rate)
            lost = 0.0
            for action, probability in enumerate(draw.mix):
                loss = draw.losses[action]
                after = proof.potential(draw.totals + np.eye(k)[action] * loss / probability, rate)
                lost += probability * (loss - after + before)
            assert lost <= proof.stability(draw, rate) + ROUNDING


@cache
def mean_regret(learner: Learner, T: int, k: int, price: float) -> float:
    """Return the mean of 40 plays on `all_lose`, with the price of switches."""
    runs = compare(
        all_lose(T, k), [learner], "given", repetitions=40, switching_price=price, seed=0
    )
    return float(runs.regrets(type(learner).__name__).mean())


def check_attained(proof: Proof) -> None:
    """The mean regret on `all_lose` is between a share of the bound and the bound."""
    T, k = 1024, 8
    bound = proof.learner.bound(k, T)
    assert proof.share * bound < mean_regret(proof.learner, T, k, proof.price) <= bound


def check_estimated_losses(proof: Proof) -> None:
    """Check the stability of every draw, and the bound itself."""
    check_stability(proof)
    check_attained(proof)


@pytest.mark.usefixtures("plainly")
@by_learner
def test_bound_of_estimated_losses(proof: Proof) -> None:
    check_estimated_losses(proof)


# Each fault, and the check that must fail with it.
FAULTS = [
    (
        "learners.full_information.ada_hedge:AdaHedge.observe",
        "state.kappa *",
        "3.0 * state.kappa *",
        FULL[0],
    ),
    ("bounds.full_information:ada_hedge", "(1 + 1 / kappa)", "0.9 * (1 + 1 / kappa)", FULL[0]),
    ("bounds.full_information:_mixability_gap", "horizon * log / 4", "horizon * log / 8", FULL[1]),
    (
        "learners.full_information.ada_hedge:FlipFlop.observe",
        "else _adapted",
        "else 3.0 * _adapted",
        FULL[2],
    ),
    (
        "learners.full_information.ada_hedge:_regime_ends",
        "gaps[_FLIP] > PHI",
        "gaps[_FLIP] > 2.0 * PHI",
        FULL[2],
    ),
    ("learners.full_information.ada_hedge:_regime_ends", "> ALPHA *", "> 0.2 * ALPHA *", FULL[2]),
    ("bounds.full_information:flip_flop", "PHI / ALPHA + 2", "0.5", FULL[2]),
    ("learners.bandit.exp3:Exp3.init", "2 * math.log", "18 * math.log", PROOFS[0]),
    ("learners.bandit.exp3:Exp3.observe", "+= loss / probability", "+= loss", PROOFS[0]),
    ("bounds.bandit:exp3", "2 * actions * horizon", "0.8 * actions * horizon", PROOFS[0]),
    ("learners.bandit.tsallis_inf:TsallisInf.mix", "1.0 / math.sqrt", "3.0 / math.sqrt", PROOFS[1]),
    (
        "bounds.bandit:tsallis_inf",
        "4 * math.sqrt(actions) - 2",
        "1.4 * math.sqrt(actions)",
        PROOFS[1],
    ),
    (
        "learners.switching.batched_exp3:BatchedExp3.init",
        "2 * math.log",
        "18 * math.log",
        PROOFS[2],
    ),
    ("bounds.switching:batched_exp3", "2 * actions * count", "0.4 * actions * count", PROOFS[2]),
    (
        "learners.switching.tsallis_switching:TsallisSwitching.plan",
        "math.sqrt(2.0",
        "math.sqrt(18.0",
        PROOFS[3],
    ),
    (
        "bounds.switching:tsallis_switching",
        "return capped(spread",
        "return 0.3 * capped(spread",
        PROOFS[3],
    ),
]


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(
    ("function", "old", "new", "proof"), FAULTS, ids=lambda one: one if isinstance(one, str) else ""
)
def test_fault_is_detected(function: str, old: str, new: str, proof: Any) -> None:
    """A rate or a constant that is wrong by a factor of about three breaks a step of the proof or the bound."""
    with injected(SourceFault(function, old, new)), pytest.raises(AssertionError):
        check_estimated_losses(proof) if isinstance(proof, Proof) else check_full_information(
            *proof
        )
