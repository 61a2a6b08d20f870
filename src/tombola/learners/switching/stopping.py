"""Value of playing an uncertain action for as long as that pays: optimal stopping.

The mean loss of the action is normal with a known noise. The alternative has a known mean loss. The
value solves the one-armed bandit with a fixed horizon in continuous time (Chernoff and Ray 1965;
Lai 1987), by backward induction on a grid. After scaling, it depends on two numbers only, so one
table serves all actions and horizons.
"""

import math

import numpy as np

from tombola._types import Floats

# Grid of z, the distance from the alternative in posterior standard deviations: -6 to 6. Beyond it
# the decision is certain. The table keeps every second point.
_MAX_Z = 6.0
_Z_STEP = 0.05
_Z_STRIDE = 2
# Ratio of neighbouring grid points of t, the share of all information that is known; the table
# keeps every fourth.
_T_RATIO = 1.05
_T_STRIDE = 4
# Last row of the table: t = 1.05^(-4 * 83), below 1e-7.
_ROWS = 83
# Nodes of the Gauss-Hermite quadrature of one step.
_NODES = 11


def _solve() -> Floats:
    """Return sqrt(t) V(z, t), shape (rows of t from 1 down, points of z).

    V is the smallest expected integral of the mean loss above the alternative, from t to 1 in units
    of all information, over all stopping rules.
    """
    z = _Z_STEP * (np.arange(round(2 * _MAX_Z / _Z_STEP) + 1) - round(_MAX_Z / _Z_STEP))
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights /= weights.sum()
    table = [np.zeros(z.size)]
    value = np.zeros(z.size)
    after = 1.0
    for step in range(1, _ROWS * _T_STRIDE + 1):
        t = _T_RATIO**-step
        mean = z / math.sqrt(t)
        later = mean + math.sqrt(1.0 / t - 1.0 / after) * nodes[:, None]
        scaled = later * math.sqrt(after)
        # Far below the alternative the action is played to the end.
        ahead = np.where(
            scaled < -_MAX_Z, later * (1.0 - after), np.interp(scaled, z, value, right=0.0)
        )
        value = np.minimum(0.0, mean * (after - t) + weights @ ahead)
        after = t
        if step % _T_STRIDE == 0:
            table.append(value * math.sqrt(t))
    return np.ascontiguousarray(np.array(table)[:, ::_Z_STRIDE])


_TABLE = _solve()
_POINTS_PER_Z = 1.0 / (_Z_STEP * _Z_STRIDE)
_ROWS_PER_LOG = 1.0 / (_T_STRIDE * math.log(_T_RATIO))


def stopping_value(gap: float, variance: float, noise: float, rounds: float) -> float:
    """Return the expected loss above the alternative, by the best stopping rule.

    The loss is 0 if the action should not be played at all, else negative. A kernel.

    gap, variance: posterior mean loss of the action minus that of the alternative, and its
        posterior variance.
    noise, rounds: variance of one loss, and number of remaining rounds; all but the gap are above
        0.
    """
    deviation = math.sqrt(variance)
    if gap <= -_MAX_Z * deviation:
        return gap * rounds
    if gap >= _MAX_Z * deviation:
        return 0.0
    known = noise / variance
    column = (gap / deviation + _MAX_Z) * _POINTS_PER_Z
    row = min(_ROWS - 1e-9, math.log1p(rounds / known) * _ROWS_PER_LOG)
    i = int(row)
    j = min(int(column), _TABLE.shape[1] - 2)
    x, y = row - i, column - j
    upper = (1.0 - y) * _TABLE[i, j] + y * _TABLE[i, j + 1]
    lower = (1.0 - y) * _TABLE[i + 1, j] + y * _TABLE[i + 1, j + 1]
    return float(deviation * (known + rounds) * ((1.0 - x) * upper + x * lower))
