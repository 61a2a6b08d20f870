"""A race inside Optuna: the real package prunes trials that are proved not to be the best."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from tombola.errors import TombolaError

optuna = pytest.importorskip(
    "optuna", reason="optuna is not installed: pip install 'tombola[optuna]'"
)
RacePruner = import_module("tombola.plugins.optuna").RacePruner

LOSSES = (np.random.default_rng(5).random((150, 6)) < [0.5, 0.2, 0.8, 0.6, 0.25, 0.9]) * 1.0


def study_of(losses: Any, pruner: Any, direction: str = "minimize") -> tuple[Any, int]:
    calls = 0

    def objective(trial: Any) -> float:
        nonlocal calls
        candidate = trial.suggest_categorical("candidate", range(losses.shape[1]))
        seen = []
        for step, row in enumerate(pruner.order):
            calls += 1
            seen.append(
                losses[row, candidate] if direction == "minimize" else 1 - losses[row, candidate]
            )
            trial.report(seen[-1], step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return float(np.mean(seen))

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.GridSampler({"candidate": list(range(losses.shape[1]))}, seed=1)
    study = optuna.create_study(direction=direction, pruner=pruner, sampler=sampler)
    study.optimize(objective, n_trials=losses.shape[1])
    return study, calls


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_worse_trials_are_pruned(direction: str) -> None:
    study, calls = study_of(LOSSES, RacePruner(rows=150, trials=6, seed=2), direction)
    states = [trial.state.name for trial in study.trials]
    assert study.best_params["candidate"] == int(np.argmin(LOSSES.mean(axis=0)))
    assert states.count("PRUNED") >= 3
    assert calls < 0.7 * LOSSES.size


def test_pruner_rejects_bad_input(one_sentence: Callable[[object], str]) -> None:
    for losses, trials in ((LOSSES + 1, 6), (LOSSES, 3)):
        with pytest.raises(TombolaError) as refused:
            study_of(losses, RacePruner(rows=150, trials=trials, seed=2))
        one_sentence(refused.value)


def test_best_trial_is_pruned_at_most_at_level() -> None:
    """Two candidates, one better by one row of 40, 150 orders, level 0.3: 68 wrong prunings have probability 1e-4."""
    losses = np.zeros((40, 2))
    losses[:20, 0] = losses[19:, 1] = 1.0
    wrong = 0
    for seed in range(150):
        study, _ = study_of(losses, RacePruner(rows=40, trials=2, seed=seed, level=0.3))
        wrong += study.best_params["candidate"] != 0
    assert wrong <= 67
