"""E-processes: against the naive twin; exact mean wealth over all orders and stopping times."""

import math

import numpy as np
import pytest

from evidence_cases import Values, degenerate_values, sequences
from naive import evidence as naive
from tombola.evidence import EProcess
from tombola.evidence.betting import N_STRATEGIES, STRATEGY_WEIGHTS


@pytest.mark.parametrize("mean", [0.0, 0.02, 0.5, 0.93, 1.0])
@pytest.mark.usefixtures("short_work")
def test_e_process_equals_naive_twin(mean: float) -> None:
    for values in degenerate_values():
        for N in (values.size + 5, math.inf):
            for bet, seen in (
                (EProcess(at_most=mean, population=N, level=0.2), values),
                (EProcess(at_least=1 - mean, population=N, level=0.2), 1 - values),
            ):
                bet.extend(seen)
                wealth = np.maximum.accumulate([1.0, *naive.bet_wealth(mean, values.tolist(), N)])
                assert min(bet.wealth[0], 1e140) == pytest.approx(min(wealth[-1], 1e140), rel=1e-6)
                assert bet.rows[0] == (np.argmax(wealth >= 5.0) if wealth[-1] >= 5.0 else 0)


def paths_of(N: int) -> Values:
    return sequences((0.0, 1.0), N)


def best_stop(wealth: Values, ones: int) -> float:
    """Return the largest mean wealth that stopping at a time of one's choice can have, over the
    orders of a list.

    `wealth[n, path]` is the wealth after n values of every path of 0 and 1, in the order of
    `paths_of`.
    """
    N = wealth.shape[0] - 1
    value = np.where(paths_of(N).sum(axis=1) == ones, wealth[N], 0.0)
    for n in range(N - 1, -1, -1):
        seen = paths_of(n).sum(axis=1) if n else np.zeros(1)
        probability = np.clip((ones - seen) / (N - n), 0.0, 1.0)
        branches = value.reshape(-1, 2)
        value = np.maximum(
            wealth[n, :: 2 ** (N - n)],
            (1 - probability) * branches[:, 0] + probability * branches[:, 1],
        )
    return float(value[0])


def wealth_of_all_paths(N: int, mean: float, population: float) -> Values:
    """Return the wealth, not the largest so far, against a mean of at most `mean`."""
    bet, paths = EProcess(at_most=mean, population=population, actions=2**N), paths_of(N)
    found = [np.ones(2**N)]
    for column in paths.T:
        bet.extend(column, np.arange(2**N))
        now = np.array(STRATEGY_WEIGHTS) @ bet._state.wealth.reshape(-1, N_STRATEGIES).T
        found.append(np.where(np.isinf(bet.wealth), np.inf, now))
    return np.array(found)


@pytest.mark.parametrize("N", [1, 2, 3, 7, 12])
def test_e_process_optional_stopping_exact(N: int) -> None:
    """Exact: all orders of all 0/1 lists, all stopping times; the mean wealth is at most 1."""
    for ones in range(N + 1):
        wealth = wealth_of_all_paths(N, ones / N, N)
        assert best_stop(np.nan_to_num(wealth, posinf=0.0), ones) <= 1 + 1e-9
        whole = np.isinf(wealth[-1])
        assert not whole[paths_of(N).sum(axis=1) <= ones].any()
        assert whole[paths_of(N).sum(axis=1) > ones].all()


def test_e_process_with_replacement_factor_is_detected() -> None:
    """The same check detects bets that ignore the rows already drawn."""
    assert best_stop(wealth_of_all_paths(12, 0.5, math.inf), 6) > 1.05
