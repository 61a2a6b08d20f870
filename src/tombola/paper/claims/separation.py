"""Theorem 3.2 (L256): the birthday test on i.i.d. inputs and in random order.

Regret is sublinear on i.i.d. inputs, and linear in random order.

The birthday test plays action 0 until one of its losses repeats, in round tau, and then follows the leader. On i.i.d.
inputs the regret is at most E[tau] <= 2 sqrt(T) plus the regret of following the leader; this is tested on the worst of
a family of inputs. In random order the regret on a pool of T different losses is (T+1)/2 in every play. With one
repeated loss the test stops at its second occurrence, and the mean regret is a finite sum.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tombola import bounds, instances
from tombola._compare import compare
from tombola._types import Floats, Seed
from tombola.learners import BirthdayTest, FixedAction, FollowTheLeader
from tombola.learners.base import Learner
from tombola.order import OrderLike
from tombola.paper import pvalues
from tombola.paper.base import Claim, Overrides, Row, Rows, Unit, Verdict, component, levels, select
from tombola.paper.curves import mean_band, reference_lines
from tombola.pool import Pool
from tombola.report.chart import Chart
from tombola.rng import repetition_seeds

# Leads of action 1 in units of 1/sqrt(T): the hardest i.i.d. input is near 1.
_LEADS = (-3.0, -1.0, 0.0, 0.5, 1.0, 2.0, 4.0)
# Name of the i.i.d. input in which action 1 never loses; an alternative to a lead.
_ZERO = "zero"


def _iid_input(T: int, lead: float | str) -> Pool:
    """Return an i.i.d. input as a pool to draw from.

    Action 0 has the losses 1/T, .., T/T. Action 1 has losses 0 or 1.

    lead: action 1 is better by lead / sqrt(T) on average; "zero" for losses that are all 0.

    >>> _iid_input(4, "zero").losses[:, 1].tolist(), _iid_input(16, 1.0).losses.sum(axis=0).tolist()
    ([0.0, 0.0, 0.0, 0.0], [8.5, 4.0])
    """
    losses = np.array(instances.birthday(T).losses)
    if not isinstance(lead, str):
        ones = round(T * ((T + 1) / (2 * T) - lead / T**0.5))
        losses[:, 1] = np.arange(T) * 7919 % T < ones  # spread over the losses of action 0
    return Pool(losses)


def _pool_with_repeat(T: int) -> Pool:
    """Return the birthday pool with one loss of action 0 twice.

    The loss is 1/2, first in the list; 1/T is left out.

    >>> _pool_with_repeat(4).losses[:, 0].tolist()
    [0.5, 0.5, 0.75, 1.0]
    """
    losses = np.arange(2, T + 1) / T
    rest = losses[losses != 0.5]
    return Pool(np.column_stack([np.concatenate([[0.5, 0.5], rest]), np.zeros(T)]))


def _repeat_mean(T: int) -> float:
    """Return the exact regret of the test on `_pool_with_repeat(T)`; T is even.

    The second 1/2 comes in round m with probability 2 (m - 1) / (T (T - 1)); action 0 is played until round m + 1.

    >>> round(_repeat_mean(4), 3)
    2.604
    """
    m = np.arange(2, T + 1)
    others = float(_pool_with_repeat(T).losses[2:, 0].sum()) / (T - 2)  # the mean of the losses that come once
    return float(np.sum(2 * (m - 1) / (T * (T - 1)) * (1.0 + (np.minimum(m + 1, T) - 2) * others)))


def _iid_bound(T: int) -> float:
    """Bound the birthday test on every i.i.d. input (L257).

    It costs E[tau] rounds, then follows the leader.

    >>> round(_iid_bound(1024), 1)
    138.6
    """
    return bounds.birthday(T) + bounds.follow_the_leader_iid(T, 2)


@dataclass(frozen=True)
class Separation(Claim, name="separation", expected="holds", alpha=5e-4, verdict_only=("bound",)):
    """Regret of the birthday test on i.i.d. inputs, and T/2 in random order.

    The birthday test plays action 0 until one of its losses repeats, then the action with the smaller total loss.

    Fields, which faults replace: test (function from the horizon T to the birthday test), iid and order (orders of the
    i.i.d. and of the shuffled plays, arguments of `compare`), bound (function from T to the limit of the mean regret on
    i.i.d. inputs).

    Title: One learner, one pool: i.i.d. draws and random order
    Source: Theorem 3.2 (L256)
    Statement: The birthday test has regret O(√(T log T)) on every i.i.d. input, and linear regret on some pool in
        random order.
    Meaning: A learner that works on fresh samples can fail on a shuffled list of the same rows. A guarantee for
        i.i.d. data does not apply to a shuffled list unless it is proved for random order.
    Limits: Passes if the mean regret on the worst of eight i.i.d. inputs, chosen on half of the plays and tested on the
        others, is at most 2 √T + 1 + √(2 ln 2) Σ 1/√n, n = 1 to T (t-test); if the regret in random order is (T+1)/2 in
        every play; and if, on a pool in which one loss comes twice, the mean regret does not differ from its exact
        value (two-sided t-test).
    """

    test: Callable[[int], Learner] = component(BirthdayTest)
    iid: OrderLike = "iid"
    order: OrderLike = "random"
    bound: Callable[[int], float] = component(_iid_bound)

    def units(self, *, full: bool) -> list[Unit]:
        return [{"T": 2**i, "plays": 200 if full else 80} for i in range(8, 19 if full else 16, 2)]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        T, count = unit["T"], unit["plays"]
        pools: dict[str, tuple[Pool, OrderLike]] = {
            f"iid {lead}": (_iid_input(T, lead), self.iid) for lead in (_ZERO, *_LEADS)
        }
        pools |= {"birthday": (instances.birthday(T), self.order), "twice": (_pool_with_repeat(T), self.order)}
        rows: list[Row] = []
        for (kind, (pool, order)), child in zip(pools.items(), repetition_seeds(seed, len(pools)), strict=True):
            plays = 3 * count if kind == "twice" else count
            runs = compare(pool, {"test": self.test(pool.rows)}, order, repetitions=plays, relabel=False, seed=child)
            rows += [
                {"T": T, "kind": kind, "play": r, "regret": float(regret)}
                for r, regret in enumerate(runs.regrets("test"))
            ]
        return rows

    def verdict(self, rows: Rows) -> Verdict:
        at = levels(rows, "T")
        hard = {T: worst_iid(rows, T) for T in at}
        share = max(float(regrets.mean()) / self.bound(T) for T, (_, regrets) in hard.items())
        off = max(float(np.abs(select(rows, "regret", T=T, kind="birthday") - (T + 1) / 2).max()) for T in at)
        pair = {T: select(rows, "regret", T=T, kind="twice") for T in at}
        checks = [
            *(pvalues.mean_at_most(hard[T][1], self.bound(T)) for T in at),
            *(pvalues.mean_equals(pair[T], _repeat_mean(T)) for T in at),
            pvalues.exact(off <= 1e-9 * at[-1]),
        ]
        last = at[-1]
        measured = (
            f"on the worst i.i.d. input at most {share:.2f} of the bound; in random order (T+1)/2"
            f"{', exactly' if off <= 1e-9 * last else f' is off by {off:.3g}'}, "
            f"and {pair[last].mean() / last:.3f} T with one loss twice (exact {_repeat_mean(last) / last:.3f} T)"
        )
        return self.verdict_from(checks, measured, "√(T log T) against T")

    def chart(self, rows: Rows) -> Chart:
        at = levels(rows, "T")
        worst_rows = [{"T": T, "regret": float(value)} for T in at for value in worst_iid(rows, T)[1]]
        return Chart(
            title=self.title,
            x_label="rows of the pool, T",
            y_label="regret of the birthday test",
            bands=(
                mean_band(rows, "random order", "T", "regret", kind="birthday"),
                mean_band(rows, "random order, one loss twice", "T", "regret", kind="twice"),
                mean_band(worst_rows, "worst i.i.d. input", "T", "regret"),
            ),
            lines=reference_lines(at, {"bound on i.i.d. inputs": self.bound}),
            alt="In random order the regret grows in proportion to T; on the worst i.i.d. input like √T.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "draws for the shuffle": {"order": "iid"},
            "a shuffle for the draws": {"iid": "random"},
            "no test": {"test": lambda _: FollowTheLeader()},
            "a test that never fires": {"test": lambda _: FixedAction(0)},
            "a grid with one point less": {"test": lambda T: BirthdayTest(T - 1)},
            "a twentieth of the bound": {"bound": lambda T: self.bound(T) / 20},
        }


def worst_iid(rows: Rows, T: int) -> tuple[str, Floats]:
    """Return the name of the worst i.i.d. input, and its regrets in half the plays.

    The worst one has the largest mean regret in the first half of its plays. The regrets are those of the second half,
    which is an independent test.

    rows: with columns T, kind (name of the input), play and regret.
    T: number of rounds; other rows are ignored.

    >>> worst_iid([{"T": 2, "kind": kind, "play": r, "regret": x + r} for kind, x in (("iid a", 1), ("iid b", 3))
    ...     for r in range(4)], 2)
    ('iid b', array([5., 6.]))
    """
    kinds = [kind for kind in levels(rows, "kind", T=T) if kind.startswith("iid")]
    plays = sorted(rows, key=lambda row: int(row["play"]))
    found: dict[Any, Floats] = {kind: select(plays, "regret", T=T, kind=kind) for kind in kinds}
    hardest = max(kinds, key=lambda kind: float(found[kind][: found[kind].size // 2].mean()))
    return hardest, found[hardest][found[hardest].size // 2 :]
