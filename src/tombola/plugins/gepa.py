"""GEPA: accept a proposal, and choose a program, only if the scores show that it is better.

    policy = GateEvaluation(seed=1)
    result = gepa.optimize(..., reflection_minibatch_size=20,
                           acceptance_criterion=GateAcceptance(), val_evaluation_policy=policy)
    program = result.candidates[policy.best_index(result)]

By default GEPA accepts a proposal whose sum of scores on a minibatch is larger. A proposal that
changes nothing passes that in about two of five cases, if answers are random. Here a gate decides
(docs/theory/gate.md). Both need a score in a known range on every row, higher is better.

The guarantee is for a proposal that was made without a look at the rows that judge it. GEPA writes
proposals from the traces of the minibatch, so `GateAcceptance` removes noise from answers, not a
prompt that has learnt the minibatch. `GateEvaluation` uses the validation rows, of which GEPA shows
only the scores, through its choice of parents.

DSPy passes both on: dspy.GEPA(..., gepa_kwargs={"acceptance_criterion": GateAcceptance(), ...}).
With track_stats=True the program to use is

    result = program.detailed_results
    program = result.candidates[policy.best_index(result)]

In 50 runs of DSPy 3.4.1 on a toy program that no proposal improves, the default accepted 190 of 447
proposals and returned another program than the first in 38 runs; the gate accepted 16 of 635, and
the policy chose another program in 1 run. With a true gain of .4 both chose the better one in all.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tombola import _validate
from tombola.errors import FeedbackError
from tombola.gating import GateResult, gate
from tombola.order import draw_order
from tombola.rng import RngStreams


class GateAcceptance:
    """Criterion of GEPA: accept a proposal that a gate shows to be better.

    A proposal that is not better is accepted with probability at most `level`. A minibatch of three
    rows, GEPA's default, can show nothing at .05; 20 or more can.

    within: accept instead what is shown to be not worse by more than this, in the unit of the score.
    level: probability of a wrong acceptance, for each proposal.
    range: smallest and largest possible score.
    binary: declare that every score is the smallest or the largest one; the exact test is sharper.

    >>> criterion = GateAcceptance(binary=True)
    >>> criterion.compare([0, 0, 0, 0, 0, 1], [1, 1, 1, 1, 1, 1]).tag
    'PASSED'
    >>> criterion.compare([0, 0, 1, 1], [1, 1, 0, 1]).tag
    'UNDECIDED'
    """

    def __init__(
        self,
        within: float | None = None,
        *,
        level: float = 0.05,
        range: tuple[float, float] = (0.0, 1.0),
        binary: bool = False,
    ) -> None:
        if within is not None:
            within = _validate.real("GateAcceptance", "within", within, above=0)
        self.within = within
        self.level = _validate.real("GateAcceptance", "level", level, above=0, below=1)
        self.range = range
        self.binary = binary

    def compare(self, before: Sequence[float], after: Sequence[float]) -> GateResult:
        """Return the gate of two lists of scores on the same rows."""
        return gate(
            np.asarray(before, float),
            np.asarray(after, float),
            within=self.within,
            better=self.within is None,
            kind="scores",
            range=self.range,
            level=self.level,
            binary=self.binary,
        )

    def should_accept(self, proposal: Any, state: Any) -> bool:
        """Return whether a proposal passes the gate against its parent. Called by GEPA.

        FeedbackError without scores of both on the same rows.
        """
        return self._result(proposal).passed is True

    def reject_reason(self, proposal: Any, state: Any) -> str:
        """Return why a proposal was rejected, for the log of GEPA."""
        result = self._result(proposal)
        change = result.comparisons[0]
        return (
            f"{result.tag}: {result.claim_line()} (old {change.number(change.old_mean)}, new "
            f"{change.number(change.new_mean)} on {change.rows:,} rows)"
        )

    def _result(self, proposal: Any) -> GateResult:
        before = proposal.subsample_scores_before
        after = proposal.subsample_scores_after
        if not before or not after or len(before) != len(after):
            raise FeedbackError(
                "GateAcceptance: expected scores of the proposal and of its parent on the same "
                f"rows, got {len(before or [])} and {len(after or [])}; use it with proposals that "
                "are evaluated on a minibatch."
            )
        return self.compare(before, after)


class GateEvaluation:
    """Policy of GEPA: choose a program only if it is shown to be better than the one before.

    The best program is the first one until another passes a gate against it, on the validation
    rows that both have. The j-th program has the share 6 / (pi j)^2 of the level, so that any
    number of them share it. Programs without such a proof stay in the pool of GEPA, and
    `result.best_candidate` of GEPA 0.1.4 is the one with the largest mean, whatever the policy says:
    take that of `best_index`.

    seed: of the random order of the validation rows.
    rows: number of validation rows to evaluate, the first of that order; None: all.
    level, within, range, binary: as in `GateAcceptance`; the level is for all programs together.
    """

    def __init__(
        self,
        *,
        seed: int,
        rows: int | None = None,
        within: float | None = None,
        level: float = 0.05,
        range: tuple[float, float] = (0.0, 1.0),
        binary: bool = False,
    ) -> None:
        self._seed = _validate.integer("GateEvaluation", "seed", seed, least=0)
        self._rows = (
            None if rows is None else _validate.integer("GateEvaluation", "rows", rows, least=1)
        )
        self._criterion = GateAcceptance(within, level=level, range=range, binary=binary)
        # Best program after the first n, for n = 1, 2, ..., of these scores, which never change.
        self._best: list[int] = []
        self._scores: Any = None

    def get_eval_batch(self, loader: Any, state: Any, target_program_idx: Any = None) -> list[Any]:
        """Return the validation rows to evaluate: the same random part for every program."""
        ids = list(loader.all_ids())
        order = draw_order("random", len(ids), RngStreams(self._seed).order())
        return [ids[int(place)] for place in order[: self._rows]]

    def get_best_program(self, state: Any) -> int:
        """Return the index of the best program so far."""
        return self._best_of(state.prog_candidate_val_subscores)

    def best_index(self, result: Any) -> int:
        """Return the index of the program to use, from the result of `gepa.optimize`."""
        return self._best_of(result.val_subscores)

    def _best_of(self, scores: Any) -> int:
        if scores is not self._scores:
            # Another run, or one that GEPA has loaded from its folder.
            self._best = []
            self._scores = scores
        for number in range(len(self._best), len(scores)):
            best = self._best[-1] if self._best else 0
            self._best.append(number if self._is_better(scores, best, number) else best)
        return self._best[-1]

    def get_valset_score(self, program_idx: int, state: Any) -> float:
        """Return the mean score of a program on the validation rows."""
        return float(state.get_program_average_val_subset(program_idx)[0])

    def _is_better(self, scores: Any, best: int, number: int) -> bool:
        if number == best:
            return True
        common = [row for row in scores[best] if row in scores[number]]
        if not common:
            return False
        criterion = GateAcceptance(
            self._criterion.within,
            level=self._criterion.level * 6.0 / (np.pi * number) ** 2,
            range=self._criterion.range,
            binary=self._criterion.binary,
        )
        before, after = ([scores[one][row] for row in common] for one in (best, number))
        return criterion.compare(before, after).passed is True
