"""Delayed feedback (paper L292-L425): the lemma on what Simulation trains on, the theorem, and its corollary."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tombola import bounds, instances, statistics
from tombola.claims.base import Claim, Outcome, Row, Rows, Unit, Verdict, band, levels, pick, slope
from tombola.claims.curves import certain
from tombola.comparing import compare
from tombola.engine.coins import new_coins
from tombola.learners.base import Learner
from tombola.learners.full import FollowTheLeader, Hedge
from tombola.playing import play
from tombola.pool import Pool
from tombola.reductions import Lemma, Paper, Revealed, Simulation
from tombola.reductions.simulation import KEPT
from tombola.report.chart import Band, Chart, Line
from tombola.statistics import Estimate
from tombola.streams import repetitions
from tombola.types import Floats, Seed
from tombola.validate import seed_sequence

SURE = 1 - 1e-5
EASY = ("split", "gap", "balanced")
SCHEDULES: dict[str, Callable[[int], Simulation]] = {
    "lemma": lambda d: Simulation(FollowTheLeader(), Lemma(delay=d)),
    "paper": lambda d: Simulation(FollowTheLeader(), Paper(delay=d)),
}
LEARNERS: dict[str, Callable[[int], Learner]] = {
    "Simulation": lambda d: Simulation(FollowTheLeader(), Lemma(delay=d)),
    "Simulation, not waiting": lambda _: Simulation(FollowTheLeader(), Revealed()),
    "follow the leader": lambda _: FollowTheLeader(),
    "Hedge": lambda d: Hedge(delay=d),
}
THREE = ("Simulation", "Simulation, not waiting", "follow the leader")
POOLS: dict[str, Callable[[int], Pool]] = {
    "split": instances.split,
    "gap": lambda T: instances.gap(T, 4, 0.4, seed=1),
    "balanced": lambda T: instances.balanced(T, 8, seed=1),
    "hard": lambda T: instances.split(T, 0.5 + 0.5 / math.sqrt(T)),
}


def bound_of(learner: str, T: int, k: int, d: int) -> float:
    """Return the proved bound of a learner in random order."""
    return bounds.follow_the_leader(T, k, d) if learner == "follow the leader" else bounds.simulation(T, k, d)


def measure(unit: Unit, names: list[str], seed: Seed) -> list[Row]:
    """Play learners on a pool in random order, with the bounds beside the regrets."""
    T, d = unit["T"], unit["d"]
    pool = POOLS[unit["pool"]](T)
    learners = {name: LEARNERS[name](d) for name in names}
    runs = compare(pool, learners, delay=d, repetitions=unit["plays"], seed=seed)
    about = {
        "pool": unit["pool"],
        "order": "random",
        "T": T,
        "d": d,
        "printed": bounds.simulation_printed(T, pool.k, d),
    }
    return [
        {**about, "learner": name, "play": r, "regret": float(regret), "corrected": bound_of(name, T, pool.k, d)}
        for name in names
        for r, regret in enumerate(runs.regrets(name, expected=True))
    ]


def worst(rows: Rows, column: str) -> float:
    """Return the largest upper limit of a mean regret over the bound in this column, over all settings."""
    settings = {(row["pool"], row["learner"], row["T"], row["d"], row[column]) for row in rows}
    return max(
        float(statistics.mean(pick(rows, "regret", pool=pool, learner=name, T=T, d=d), level=SURE).high / bound)
        for pool, name, T, d, bound in settings
    )


def trained_on(learner: Simulation, losses: Floats, delay: int, seed: Seed) -> dict[int, Floats]:
    """Drive a Simulation over these rows, and return the past of each training by the round in which it happens."""
    T, k = losses.shape
    state = learner.init(k, T)._replace(past=np.zeros((T, k)))
    coins, mix = new_coins(seed_sequence("trained_on", seed)), np.zeros(k)
    pasts = {}
    for t in range(1, T + 1):
        if t - delay - 1 >= 1:
            learner.observe(state, t - delay - 1, losses[t - delay - 2])
        if learner.due(state):
            pasts[t] = state.past[: int(state.counters[KEPT])].copy()
            learner.plan(state, coins)
        learner.mix(state, mix)
    return pasts


def blocks_of(schedule: str, T: int, delay: int) -> list[tuple[int, range]]:
    """Return every block that begins by round T as its number i and its rounds: t_i, .., t_i + 2^i - 1.

    >>> blocks_of("lemma", 10, 1)
    [(0, range(3, 4)), (1, range(5, 7)), (2, range(8, 12))]
    """
    late = 1 if schedule == "lemma" else 0
    starts = ((i, 2**i + late + (i + late) * delay) for i in range(1 - late, T.bit_length() + 1))
    return [(i, range(start, start + 2**i)) for i, start in starts if start <= T]


@dataclass(frozen=True)
class DelayLemma(Claim):
    """The mean of the training distribution is the mean of the past blocks, on every block of every schedule."""

    name: ClassVar[str] = "delay-lemma"
    title: ClassVar[str] = "What Simulation trains on"
    source: ClassVar[str] = "Lemma 4.1 (L323)"
    statement: ClassVar[str] = (
        "The mean of the training distribution of block i is the mean loss of the blocks before it."
    )
    meaning: ClassVar[str] = (
        "Training draws from the rows already revealed, with replacement. So nothing is invented: on average, the "
        "learner trains on exactly the past. As printed, the sum forgets round 1, which the past contains."
    )
    expected: ClassVar[Outcome] = "holds as corrected"

    def units(self, *, full: bool) -> list[Unit]:
        """Try both readings of the schedule, short and long delays, horizons that are powers of two and not."""
        horizons = (1, 2, 3, 37, 64, 300, 1024, 4096) if full else (1, 2, 37, 64, 300)
        delays = (0, 1, 3, 10, 40, 299)
        return [{"schedule": name, "T": T, "d": d} for name in SCHEDULES for T in horizons for d in delays]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        """Compare the two sides on every block; the losses are multiples of 1/8, so that the sums have no rounding."""
        T, d, name = unit["T"], unit["d"], unit["schedule"]
        losses = np.random.default_rng(seed_sequence("DelayLemma", seed)).integers(0, 9, (T, 3)) / 8
        pasts = trained_on(SCHEDULES[name](d), losses, d, seed)
        known: list[int] = []
        rows: list[Row] = []
        for i, block in blocks_of(name, T, d):
            trained = pasts[block.start].mean(axis=0) if block.start in pasts else np.full(3, np.nan)
            counted = losses[[0, *known]]
            printed = losses[known if name == "lemma" else [0, *known]].sum(axis=0) / 2**i
            sides = {"printed": printed, "corrected": counted.sum(axis=0) / len(counted)}
            off = {side: float(np.nan_to_num(np.abs(trained - mean), nan=1.0).max()) for side, mean in sides.items()}
            size = len(pasts.get(block.start, ()))
            rows.append({**unit, "block": i, "known": size, "blocks_before": len(counted), **off})
            known += [t - 1 for t in block if t <= T]
        return rows

    def verdict(self, rows: Rows) -> Verdict:
        """Ask for equality, to the last bit, of both means and of the numbers of rows."""
        wrong = {side: int((pick(rows, side) != 0).sum()) for side in ("printed", "corrected")}
        sizes = all(row["known"] == row["blocks_before"] for row in rows)
        largest = float(pick(rows, "printed").max())
        measured = (
            f"equal on {len(rows) - wrong['corrected']} of {len(rows)} blocks, to the last bit; "
            f"as printed on {len(rows) - wrong['printed']}, off by up to {largest:.3g}"
        )
        words = {"printed": "1/2^i Σ over blocks before i", "corrected": "the same, round 1 counted as a block"}
        if wrong["corrected"] or not sizes:
            return Verdict("refuted", measured, **words)
        return Verdict("holds as corrected" if wrong["printed"] else "holds", measured, **words)

    def chart(self, rows: Rows) -> Chart:
        """Show the largest difference of the two sides, block by block."""
        x = np.array(levels(rows, "block"), dtype=np.float64)
        curves = [("as printed", "printed"), ("with round 1", "corrected")]
        return Chart(
            title=self.title,
            x_label="block, i",
            y_label="largest difference of the two sides",
            bands=tuple(
                certain(words, x, np.array([pick(rows, side, block=i).max() for i in x])) for words, side in curves
            ),
            log_x=False,
            log_y=False,
            alt="As printed, the two sides differ by up to 1 in the first block, half as much in each that follows; "
            "with round 1 counted they do not differ at all.",
        )


@dataclass(frozen=True)
class DelayTheorem(Claim):
    """Regret of Simulation below both bounds: shuffled, a delay adds; in adversarial order it multiplies."""

    name: ClassVar[str] = "delay-theorem"
    title: ClassVar[str] = "What a delay costs: shuffled, and in the worst order"
    source: ClassVar[str] = "theorem on delayed feedback (L333)"
    statement: ClassVar[str] = (
        "With feedback d rounds late, Simulation has regret at most 5 √(T log T) + d log T + Σ R(2^i) in random order."
    )
    meaning: ClassVar[str] = (
        "Late answers cost a shuffled list a fixed number of rounds. In an order chosen against you they cost in "
        "proportion to √(d T): the longer the list, the more a delay hurts. The rows are the same in both cases."
    )
    expected: ClassVar[Outcome] = "holds"

    def units(self, *, full: bool) -> list[Unit]:
        """Play pools at several horizons and delays, and the trap at one horizon with growing delays."""
        horizons, plays = ((2**8, 2**13, 2**18), 200) if full else ((2**8, 2**12), 8)
        most = [{"pool": pool, "T": T, "d": d, "plays": plays} for pool in EASY for T in horizons for d in (0, 10, 100)]
        traps = [("random", d, 200 if full else 30) for d in (3, 7, 15)]
        traps += [("given", d, 1000 if full else 60) for d in (1, 3, 7, 11, 15)]
        T = 2**20 if full else 2**16
        return [*most, *({"pool": "trap", "order": order, "T": T, "d": d, "plays": plays} for order, d, plays in traps)]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        """Play Simulation on a pool in random order, or on traps; in their given order a learner made for that plays.

        It is Hedge, tuned to the delay, whose bound in adversarial order is the best up to a constant.
        """
        if unit["pool"] != "trap":
            return measure(unit, ["Simulation"], seed)
        T, d, order = unit["T"], unit["d"], unit["order"]
        learner = "Simulation" if order == "random" else "Hedge"
        limits = {"printed": bounds.simulation_printed(T, 2, d), "corrected": bounds.simulation(T, 2, d)}
        about = {"pool": "trap", "learner": learner, "order": order, "T": T, "d": d, **limits}
        rows: list[Row] = []
        for r, child in enumerate(repetitions(seed, unit["plays"])):
            pool = instances.delay_trap(T, d, seed=child)
            late, prompt = (
                play(LEARNERS[learner](delay), pool, order=order, delay=delay, seed=child) for delay in (d, 0)
            )
            rows.append({**about, "play": r, "regret": late.expected_regret, "prompt": prompt.expected_regret})
        return rows

    def verdict(self, rows: Rows) -> Verdict:
        """Ask for regrets below both bounds, and for a delay that adds d log T at most: shuffled, but not as given."""
        shuffled = [row for row in rows if row["order"] == "random"]
        printed, corrected = worst(shuffled, "printed"), worst(shuffled, "corrected")
        T, late = levels(rows, "T", pool="trap")[0], levels(rows, "d", pool="trap", order="random")
        extra = {order: added(rows, order, late[-1]) for order in ("random", "given")}
        allowed = late[-1] * math.log2(T)
        measured = (
            f"at most {printed:.2f} of the printed bound, {corrected:.2f} of the corrected one; delay {late[-1]} adds "
            f"{extra['random']} shuffled, {extra['given']} in given order; d log T = {allowed:.0f}"
        )
        words = ("5 √(T log T) + d log T + Σ R(2^i)", "1 + 6.97 √(T log k) + d ⌈log T⌉ + Σ R(2^i)")
        shuffled_too_dear = any(added(rows, "random", d).low > d * math.log2(T) for d in late)
        if corrected > 1 or shuffled_too_dear or extra["given"].high < allowed:
            return Verdict("refuted", measured, *words)
        if extra["random"].high > allowed or extra["given"].low < allowed:
            return Verdict("inconclusive", measured, *words)
        return Verdict("holds" if printed <= 1 else "holds as corrected", measured, *words)

    def chart(self, rows: Rows) -> Chart:
        """Show what each delay adds to the regret, in both orders."""
        T = levels(rows, "T", pool="trap")[0]
        late = levels(rows, "d", pool="trap", order="given")
        x = np.array(late, dtype=np.float64)
        return Chart(
            title=self.title,
            x_label=f"delay d, in rounds (T = {T:,} rows)",
            y_label="regret that the delay adds",
            bands=(_added_band(rows, "given order", "given"), _added_band(rows, "shuffled", "random")),
            lines=(Line("d log T", x, x * math.log2(T)),),
            log_x=False,
            log_y=False,
            alt="In given order a delay adds far more than d log T to the regret; shuffled, the same rows show next to "
            "nothing of it.",
        )


def added(rows: Rows, order: str, delay: int) -> Estimate:
    """Return how much more regret there is than with prompt feedback on the same rows, with its 95 % interval."""
    late, prompt = (pick(rows, column, pool="trap", order=order, d=delay) for column in ("regret", "prompt"))
    return statistics.mean(late - prompt)


def _added_band(rows: Rows, name: str, order: str) -> Band:
    late = levels(rows, "d", pool="trap", order=order)
    found = [added(rows, order, d) for d in late]
    return Band(name, np.array(late, dtype=np.float64), *(np.array([one[i] for one in found]) for i in range(3)))


@dataclass(frozen=True)
class DelayCorollary(Claim):
    """Regret O(sqrt(T log T) + d log T): as printed, without waiting, and with no Simulation at all."""

    name: ClassVar[str] = "delay-corollary"
    title: ClassVar[str] = "Three ways to live with late feedback"
    source: ClassVar[str] = "corollary on delayed feedback (L421)"
    statement: ClassVar[str] = (
        "Some learner has regret O(√(T log T) + d log T) in random order with feedback d rounds late."
    )
    meaning: ClassVar[str] = (
        "Waiting for answers before each block is not needed: learn from whatever has come back. Following the leader "
        "on that has regret d + π √(2 T log k) at most, without the logarithm and without knowing d."
    )
    expected: ClassVar[Outcome] = "holds"

    def units(self, *, full: bool) -> list[Unit]:
        """Play growing delays at one horizon, and growing horizons with one delay."""
        top, plays = (18, 200) if full else (14, 20)
        delays = [{"pool": "split", "T": 2**top, "d": d, "plays": plays} for d in (1, 10, 100, 1000)]
        return delays + [{"pool": "hard", "T": 2**i, "d": 16, "plays": plays} for i in range(8, top + 1)]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        """Play the three learners on the same orders."""
        return measure(unit, list(THREE), seed)

    def verdict(self, rows: Rows) -> Verdict:
        """Ask for regrets below the bounds and, where actions differ by 1/√T, for slope 1/2 in T."""
        printed, corrected = worst(rows, "printed"), worst(rows, "corrected")
        slopes = [slope(rows, "T", "regret", pool="hard", learner=name) for name in THREE]
        steepest = max(slopes, key=lambda found: found.low)
        measured = (
            f"at most {corrected:.2f} of their bounds, {printed:.2f} of the printed one; slope in T at most {steepest}"
        )
        words = ("O(√(T log T) + d log T)", "d + π √(2 T log k) by following the leader")
        if corrected > 1 or printed > 1 or steepest.low > 0.55:
            return Verdict("refuted", measured, *words)
        return Verdict("holds" if steepest.high < 0.75 else "inconclusive", measured, *words)

    def chart(self, rows: Rows) -> Chart:
        """Show regret over the delay, with the bounds."""
        late = levels(rows, "d", pool="split")
        chosen = [row for row in rows if row["pool"] == "split"]
        x, T = np.array(late, dtype=np.float64), levels(rows, "T", pool="split")[0]
        lines = [
            Line(words, x, np.array([pick(chosen, column, d=d, learner=name)[0] for d in late]))
            for words, column, name in (
                ("printed bound", "printed", "Simulation"),
                ("bound of Simulation", "corrected", "Simulation"),
                ("bound of the leader", "corrected", "follow the leader"),
            )
        ]
        return Chart(
            title=self.title,
            x_label=f"delay d, in rounds (T = {T:,} rows)",
            y_label="regret in random order",
            bands=tuple(band(chosen, name, "d", "regret", learner=name) for name in THREE),
            lines=tuple(lines),
            alt="Simulation pays for every wait; not waiting, or following the leader, pays far less; all are below "
            "their bounds.",
        )
