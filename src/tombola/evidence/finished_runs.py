"""Evidence from finished runs: every row answered several times (Theorem R2).

docs/theory/random_answers.md. A pass is one fresh answer of every candidate to every row. Answers
to different rows are independent given the earlier passes. The statements are about expected
answers on this list: mean differences D over the rows, of which the random answers are samples.

For a bet that is fixed before the pass, the product over rows of 1 + bet (d_i - s) has expectation
at most (1 + bet (D - s))^N <= 1 under "D <= s", by the inequality of the arithmetic and geometric
mean. So the wealth of a mixture of such strategies is an e-process at the ends of the passes. Within
a pass a bet must not change. Predictions g from earlier passes replace d by d - g + mean g.

If the answers of one run have a common cause, such as one seed or one state of a server, rows are
dependent, and only one factor per pass is valid (`run_effects`).
"""

import math
from typing import Any

import numpy as np

from tombola._types import Floats
from tombola.errors import ParameterError

# Standard deviations of a difference for which the bets of the first pass are made: a coin against
# a coin, pairs that agree on most rows, and pairs that agree on almost all.
_DEVIATIONS = (0.75, 0.4, 0.2)
# From the second pass on the deviation is known from earlier passes; bets are made for these
# multiples.
_MULTIPLES = (1.4, 1.0, 0.7)
# Largest share of the limit of a bet. Below 1, so that no strategy goes bankrupt.
_MAX_SHARE = 0.95
# Weight of "no difference between rows" in the second pass, in earlier answers: with one pass
# noise and differences cannot be told apart.
_PRIOR_PASSES = 1.0
# Least standard deviation of a difference.
_MIN_DEVIATION = 1e-3
# Steps of a bisection: intervals are exact to 2^-40.
_BISECTIONS = 40


def group_runs(runs: Floats) -> Floats:
    """Return passes from an uneven number of runs: shape (N, .., runs) to (R, N, ..).

    NaN marks a run that does not exist. R is the least number of runs of a cell. The runs of each
    cell are split by their number into R groups of sizes that depend on the number of runs only; a
    pass has the means of the groups. A product over all runs that exist would not be valid.

    >>> group_runs(np.array([[0.0, 1.0, 0.5], [1.0, 0.0, math.nan]])).tolist()
    [[0.5, 1.0], [0.5, 0.0]]
    """
    cells = runs.reshape(-1, runs.shape[-1])
    present = ~np.isnan(cells)
    counts = present.sum(axis=1)
    if counts.size == 0 or counts.min() == 0:
        raise ParameterError(
            "group_runs: expected at least one run of every cell, got a cell without any; leave "
            "out its row, or count it as the worst answer."
        )
    least = int(counts.min())
    passes = np.zeros((least, len(cells)))
    for count in np.unique(counts):
        same = counts == count
        values = cells[same][present[same]].reshape(-1, count)
        for r, group in enumerate(np.array_split(np.arange(count), least)):
            passes[r, same] = values[:, group].mean(axis=1)
    return np.asarray(passes.reshape(least, *runs.shape[:-1]))


def pass_wealth(
    differences: Floats,
    shift: float = 0.0,
    *,
    level: float = 0.05,
    run_effects: bool = False,
    planned: int | None = None,
) -> Floats:
    """Return the wealth against "D <= shift" after each pass, shape (R, ..).

    differences: one per pass and row, in [-1, 1], shape (R, N, ..); D is their expected mean. Runs
        are paired and ordered without a look at their values. Further axes are computed alike.
    shift: largest mean difference under the null hypothesis, above -1.
    level: at which the evidence should decide; the bets are chosen by it. The wealth is valid at
        any level: it reaches 1 / level at the end of some pass with probability at most `level`.
    run_effects: the rows of a run have a common cause; passes are independent of each other.
    planned: passes for which the bets are made, fixed before the first one; None: those given. Who
        looks at the end of each pass must fix it: else bets on early passes change with the look.

    >>> differences = np.tile([1.0, 1.0, 0.0, 1.0, -1.0, 1.0], (8, 1))
    >>> pass_wealth(differences).round(1).tolist()[-1] > 20
    True
    """
    bets = PassBets(differences, level, run_effects=run_effects, planned=planned)
    return np.asarray(np.exp(_log_wealth(bets, shift)))


def difference_interval(
    differences: Floats, level: float = 0.05, *, run_effects: bool = False
) -> tuple[Floats, Floats]:
    """Return lower and upper bounds of D, wrong with probability at most `level` together.

    Parameters as of `pass_wealth`; bounds have the shape of one row of one pass. They hold at the
    ends of all passes simultaneously.
    """
    half = level / 2
    low = _lower_bound(PassBets(differences, half, run_effects=run_effects), half)
    high = -_lower_bound(PassBets(-differences, half, run_effects=run_effects), half)
    # Both ends may pass the mean by an unlucky pass; the larger interval is valid too.
    mean = differences.mean(axis=(0, 1))
    return np.minimum(low, mean), np.maximum(high, mean)


def mean_interval(
    losses: Floats, level: float = 0.05, *, run_effects: bool = False
) -> tuple[Floats, Floats]:
    """Return bounds of the expected mean loss on this list, at `level` together.

    losses: in [0, 1], shape (R, N, ..). Losses of 0 and 1 get binomial bounds (`success_interval`),
        others betting: a loss is 1/2 plus half a difference of [-1, 1].
    """
    if not run_effects and np.isin(losses, (0.0, 1.0)).all():
        trials = losses.shape[0] * losses.shape[1]
        return success_interval(losses.sum(axis=(0, 1)), trials, level)
    low, high = difference_interval(2.0 * losses - 1.0, level, run_effects=run_effects)
    return 0.5 + 0.5 * low, 0.5 + 0.5 * high


def success_interval(successes: Floats, trials: int, level: float) -> tuple[Floats, Floats]:
    """Return bounds of the mean success probability of independent trials, at `level`.

    The trials may have different probabilities. The bounds of Clopper and Pearson for equal ones
    are valid: for c >= n p + 1 the tail P(S >= c) is largest if all probabilities are p (Hoeffding
    1956, Theorem 4). Where the count is too close to the mean for this, Markov's inequality is
    used.

    >>> low, high = success_interval(np.array([0.0, 7.0]), 10, 0.05)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.348], [0.308, 0.933])
    """
    counts = np.asarray(successes, np.float64)
    low = _success_bound(counts, trials, level / 2)
    return low, 1.0 - _success_bound(trials - counts, trials, level / 2)


def _success_bound(counts: Floats, trials: int, level: float) -> Floats:
    """Return a lower bound of the mean success probability; 0 without a success."""
    from scipy.stats import beta

    low = np.asarray(beta.ppf(level, np.maximum(counts, 1.0), trials - counts + 1.0))
    # Markov: P(S >= c) <= n p / c.
    low = np.where(counts >= trials * low + 1.0, low, level * counts / trials)
    return np.where(counts > 0, low, 0.0)


class PassBets:
    """Strategies of bets on differences by pass: their shares of the limit, and predictions.

    Everything of pass r is a function of the passes before it, and does not depend on the shift of
    the null hypothesis, so that the wealth falls as the shift rises: intervals are exact.

    y: (S, R, N, ..) differences minus predictions, plus their mean, by strategy.
    reach: (S, R, ..) largest prediction minus mean prediction; the limit of a bet is
        1 / (1 + shift + reach).
    share: (S, R, ..) bet as a share of this limit, at most 0.95.
    """

    def __init__(
        self,
        differences: Floats,
        level: float,
        *,
        run_effects: bool = False,
        planned: int | None = None,
    ) -> None:
        if differences.ndim < 2 or not (np.abs(differences) <= 1.0 + 1e-9).all():
            raise ParameterError(
                "passes: expected differences in [-1, 1] by pass and row, got shape "
                f"{differences.shape} with values from {differences.min():g} to "
                f"{differences.max():g}; divide by the range of the answers."
            )
        if run_effects:
            # One factor per pass: its only row is the mean over the rows.
            differences = differences.mean(axis=1, keepdims=True)
        passes, rows = differences.shape[:2]
        strategies = len(_DEVIATIONS) * 2
        rest = differences.shape[2:]
        self.y = np.broadcast_to(differences, (strategies, *differences.shape)).copy()
        self.reach = np.zeros((strategies, passes, *rest))
        self.share = np.zeros((strategies, passes, *rest))
        scale = math.sqrt(2.0 * math.log(1.0 / level) / ((planned or passes) * rows))
        for r in range(passes):
            earlier = differences[:r]
            for j, (guess, multiple) in enumerate(zip(_DEVIATIONS, _MULTIPLES, strict=True)):
                for predicted in (False, True):
                    s = 2 * j + predicted
                    deviation: Any = guess
                    if r > 0:
                        deviation = multiple * self._deviation(s, r)
                    self.share[s, r] = np.minimum(scale / deviation, _MAX_SHARE)
                    if predicted and r > 0 and rows > 1:
                        g = row_predictions(earlier)
                        self.y[s, r] -= g - g.mean(axis=0)
                        self.reach[s, r] = g.max(axis=0) - g.mean(axis=0)

    def _deviation(self, strategy: int, r: int) -> Any:
        """Return the standard deviation of y in the earlier passes."""
        before = self.y[strategy, :r]
        if before.shape[1] > 1:
            spread = before.std(axis=1).mean(axis=0)
        else:
            # One factor per pass: the deviation of means is estimated from two passes on.
            spread = before[:, 0].std(axis=0) if r > 1 else np.full(before.shape[2:], 0.2)
        return np.maximum(spread, _MIN_DEVIATION)


def row_predictions(earlier: Floats) -> Floats:
    """Predict the difference of each row by its mean over earlier passes, shrunk.

    earlier: (passes, N, ..). The weight of the mean is between / (between + noise / passes), with
    the variances estimated from two passes on.

    >>> row_predictions(np.array([[1.0, -1.0, 0.0]])).tolist()
    [0.5, -0.5, 0.0]
    """
    passes = len(earlier)
    mean = earlier.mean(axis=0)
    if passes == 1:
        return np.asarray(mean / (1.0 + _PRIOR_PASSES))
    noise = earlier.var(axis=0, ddof=1).mean(axis=0)
    between = np.maximum(mean.var(axis=0) - noise / passes, 0.0)
    weight = between / np.maximum(between + noise / passes, _MIN_DEVIATION**2)
    return np.asarray(weight * mean)


def _log_wealth(bets: PassBets, shift: Any) -> Floats:
    """Return the logarithm of the wealth after each pass against "D <= shift"."""
    limit = 1.0 / np.maximum(1.0 + shift + bets.reach, 1e-12)
    bet = bets.share * limit
    growth = np.log1p(bet[:, :, None] * (bets.y - shift)).sum(axis=2)
    strategy = np.cumsum(growth, axis=1)
    largest = strategy.max(axis=0)
    return np.asarray(largest + np.log(np.exp(strategy - largest).mean(axis=0)))


def _lower_bound(bets: PassBets, level: float) -> Floats:
    """Return the largest rejected shift: a lower bound of D at `level`; -1 if none is."""
    low = np.full(bets.reach.shape[2:], -1.0)
    high = np.ones(bets.reach.shape[2:])
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        rejected = _log_wealth(bets, middle).max(axis=0) >= math.log(1.0 / level)
        low = np.where(rejected, middle, low)
        high = np.where(rejected, high, middle)
    return low
