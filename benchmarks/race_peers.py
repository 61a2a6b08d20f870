"""Methods to find the best candidate: (table, order, budget) -> (calls, winner)."""

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from tombola.evidence import Betting

LEVEL = 0.05


def unpaired(table: Any, order: Any, budget: int) -> tuple[int, int]:
    """Drop candidates whose confidence sequence is above that of another one."""
    N, k = table.shape
    seen = Betting(population=N, level=LEVEL / k, actions=k)
    active, calls = np.arange(k), 0
    for start in range(0, N, 10):
        rows = order[start : start + 10]
        for row in rows:
            seen.extend(table[row, active], active)
        calls += len(rows) * len(active)
        active = active[seen.lows[active] <= seen.highs[active].min()]
        if len(active) == 1:
            break
    return calls, int(active[np.argmin(seen.means[active])])


def t_bonferroni(table: Any, order: Any, budget: int, first: int = 50) -> tuple[int, int]:
    """Run paired t-tests against the leader after every row, at level / (k - 1)."""
    N, k = table.shape
    active, calls = np.arange(k), 0
    totals, squares = np.zeros(k), np.zeros((k, k))
    for n in range(1, N + 1):
        x = table[order[n - 1]]
        totals[active] += x[active]
        squares[np.ix_(active, active)] += (x[active][:, None] - x[active][None, :]) ** 2
        calls += len(active)
        if n >= first:
            leader = active[np.argmin(totals[active])]
            mean = (totals[active] - totals[leader]) / n
            deviation = np.sqrt(np.maximum(squares[active, leader] - n * mean**2, 0) / (n - 1))
            with np.errstate(divide="ignore", invalid="ignore"):
                p = stats.t.sf(mean / deviation * math.sqrt(n), n - 1)
            active = active[~((deviation > 0) & (p < LEVEL / (k - 1)))]
        if len(active) == 1:
            break
    return calls, int(active[np.argmin(totals[active])])


def _in_phases(
    table: Any, order: Any, lengths: Sequence[int], left: Sequence[int]
) -> tuple[int, int]:
    """Evaluate active candidates up to row lengths[i], then keep the best left[i]."""
    active, calls, seen = np.arange(table.shape[1]), 0, 0
    means = np.zeros(table.shape[1])
    for length, keep in zip(lengths, left, strict=True):
        length = max(seen, min(length, len(table)))
        calls += (length - seen) * len(active)
        seen = length
        if seen:
            means = table[order[:seen]].mean(axis=0)
        active = active[np.argsort(means[active], kind="stable")[:keep]]
    return calls, int(active[0])


def halving(table: Any, order: Any, budget: int) -> tuple[int, int]:
    """Run sequential halving (Karnin, Koren and Somekh 2013) on shared rows."""
    k = table.shape[1]
    phases = max(1, math.ceil(math.log2(k)))
    sizes = [math.ceil(k / 2**i) for i in range(phases + 1)]
    lengths = np.cumsum([budget // (size * phases) for size in sizes[:-1]])
    return _in_phases(table, order, lengths.tolist(), sizes[1:])


def rejects(table: Any, order: Any, budget: int) -> tuple[int, int]:
    """Run successive rejects (Audibert, Bubeck and Munos 2010) on shared rows."""
    k = table.shape[1]
    scale = 0.5 + sum(1 / i for i in range(2, k + 1))
    lengths = [math.ceil((budget - k) / (scale * (k + 1 - phase))) for phase in range(1, k)]
    return _in_phases(table, order, lengths, list(range(k - 1, 0, -1)))


def ucb_e(table: Any, order: Any, budget: int) -> tuple[int, int]:
    """Run UCB-E (Audibert et al. 2010) with the true gaps; rows are not shared."""
    N, k = table.shape
    gaps = np.sort(table.mean(axis=0) - table.mean(axis=0).min())
    gaps[0] = gaps[1]
    explore = 25 / 36 * (budget - k) / np.sum(1 / np.maximum(gaps, 1e-6) ** 2)
    counts, totals = np.ones(k), table[order[0]].copy()
    for _ in range(k, budget):
        index = totals / counts - np.sqrt(explore / counts)
        index[counts >= N] = np.inf
        a = int(np.argmin(index))
        totals[a] += table[order[int(counts[a])], a]
        counts[a] += 1
    return budget, int(np.argmin(totals / counts))


def wilcoxon_pruner(table: Any, order: Any, budget: int) -> tuple[int, int]:
    """Run Optuna's pruner with its defaults, one candidate after the other."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    candidates = np.random.default_rng(int(order[0])).permutation(table.shape[1])
    calls = 0

    def objective(trial: Any) -> float:
        nonlocal calls
        a = int(candidates[trial.number])
        trial.set_user_attr("candidate", a)
        for n, row in enumerate(order):
            calls += 1
            trial.report(float(table[row, a]), int(row))
            if n % 10 == 9 and trial.should_prune():
                raise optuna.TrialPruned
        return float(table[:, a].mean())

    study = optuna.create_study(
        pruner=optuna.pruners.WilcoxonPruner(), sampler=optuna.samplers.RandomSampler(seed=0)
    )
    study.optimize(objective, n_trials=table.shape[1])
    return calls, int(study.best_trial.user_attrs["candidate"])
