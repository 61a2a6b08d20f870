"""Optuna: a pruner that stops a trial once another one is shown to be better.

The objective evaluates the rows in the order of `pruner.order`, and reports the loss of each with
its position as step:

    pruner = RacePruner(rows=500, trials=20, seed=1)
    def objective(trial):
        losses = []
        for step, row in enumerate(pruner.order):
            losses.append(loss(trial, row))
            trial.report(losses[-1], step)
            if trial.should_prune():
                raise TrialPruned
        return mean(losses)

Trials run one after another, so each pair of them has its own race at a share of the level
(docs/theory/race.md). The guarantee holds for candidates fixed beforehand, as by a grid or by
enqueue_trial. A sampler that uses losses on these rows makes candidates depend on the order; then
the pruner has no guarantee.
"""

import numpy as np
from optuna.pruners import BasePruner
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from tombola import _validate
from tombola.errors import FeedbackError, ParameterError
from tombola.order import draw_order
from tombola.racing.rules.best import Best
from tombola.rng import RngStreams


class RacePruner(BasePruner):
    """Prune trials of an Optuna study; the best is pruned with probability <= `level`.

    Pass it to create_study as pruner. A trial calls trial.report(value, step) for step 0, 1, ..:
    the value on row order[step], in [0, 1], minimised or maximised as the study states. The
    attribute `order` has the row numbers, from 0, in the order to evaluate.

    rows: number of rows that every trial evaluates.
    trials: largest number of trials; more raise ParameterError.
    seed: of the order of the rows.
    level: error probability over all trials.

    >>> RacePruner(rows=5, trials=2, seed=1).order
    [1, 3, 0, 4, 2]
    """

    def __init__(self, rows: int, trials: int, *, seed: int, level: float = 0.05) -> None:
        self._rows = _validate.integer("RacePruner", "rows", rows, least=1)
        self._trials = _validate.integer("RacePruner", "trials", trials, least=2)
        self._level = _validate.real("RacePruner", "level", level, above=0, below=1)
        self.order: list[int] = [
            int(row) for row in draw_order("random", rows, RngStreams(seed).order())
        ]
        self._pairs: dict[tuple[int, int], Best] = {}

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        """Return whether to prune a trial: another one is proved to be better. Called by Optuna.

        ParameterError for more trials than stated, FeedbackError if a value is not in [0, 1] or a
        step is missing.
        """
        if trial.number >= self._trials:
            raise ParameterError(
                f"RacePruner: expected at most {self._trials} trials, got {trial.number + 1}; "
                "state more."
            )
        sign = study.direction
        mine = _losses(trial, sign)
        others = study.get_trials(
            deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED, TrialState.RUNNING)
        )
        return any(
            self._worse(trial.number, mine, other.number, _losses(other, sign))
            for other in others
            if other.number != trial.number
        )

    def _worse(
        self, mine: int, my_losses: list[float], other: int, other_losses: list[float]
    ) -> bool:
        """Update the race of two trials, and return whether the first is dropped."""
        key = min(mine, other), max(mine, other)
        if key not in self._pairs:
            share = self._level / (self._trials - 1)
            self._pairs[key] = Best(
                candidates=2, rows=self._rows, population=self._rows, level=share
            )
        rule = self._pairs[key]
        both = [my_losses, other_losses]
        if key[0] != mine:
            both.reverse()
        for row in range(rule.rows_seen, min(map(len, both))):
            if not rule.done:
                rule.update(np.array([both[0][row], both[1][row]]))
        return bool(rule.state.active[key.index(mine)] == 0.0)


def _losses(trial: FrozenTrial, direction: StudyDirection) -> list[float]:
    """Return the losses that a trial has reported, one per row without gaps."""
    values = trial.intermediate_values
    losses = []
    for step in range(len(values)):
        value = values.get(step, float("nan"))
        loss = 1.0 - value if direction == StudyDirection.MAXIMIZE else value
        if not 0.0 <= loss <= 1.0:
            raise FeedbackError(
                "RacePruner: expected a value in [0, 1] for every row, reported as "
                "trial.report(value, step) with "
                f"step 0, 1, 2, ..., got {value!r} for step {step}; rescale it."
            )
        losses.append(float(loss))
    return losses
