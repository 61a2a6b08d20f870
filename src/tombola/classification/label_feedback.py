"""Label feedback: features before the prediction, the true label after the delay."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from tombola import _validate
from tombola._formatting import plural
from tombola._types import Floats, RngState
from tombola.budget.budget import BudgetRun
from tombola.classification.pool import round_weight
from tombola.engine.tickets import (
    OUTCOME_START,
    ROUNDS,
    is_pending,
    mark_answered,
    read_ticket,
    unmark_answered,
    write_ticket,
)
from tombola.errors import FeedbackError, ParameterError
from tombola.feedback.base import TABLE_FULL, EncodedOutcome, FeedbackModel, LiveKernels


@dataclass(frozen=True, eq=False)
class LabelFeedback(FeedbackModel):
    """Feedback model of label learners: the true label and the weight of a mistake.

    An encoded outcome is (label, weight). There are two actions, the labels 0 and 1; `features` is the number of
    features.
    """

    default_actions: ClassVar[int | None] = 2
    names: ClassVar[tuple[str, ...] | None] = ("0", "1")
    features: int = 1

    @classmethod
    def for_learner(
        cls, learner: Any, horizon: int, *, actions: int, budget_run: BudgetRun | None, features: int | None
    ) -> Self:
        if budget_run is not None:
            raise ParameterError(f"budget: labels cost nothing, got one for {learner!r}; leave the budget out.")
        count = _validate.integer("Session", "features", 1 if features is None else features, least=1)
        learner.hypotheses.check(count)
        return cls(2, horizon, count)

    @property
    def outcome_width(self) -> int:
        return 2

    @property
    def n_features(self) -> int:
        return self.features

    def live_kernels(self, learner: Any, rng: RngState) -> LiveKernels:
        predictor = learner.start(self.horizon, self.features, rng)

        def act(cells: Floats, features: Floats) -> tuple[int, int, float]:
            if cells.item(0, ROUNDS) >= len(cells) - 1:
                return TABLE_FULL, 0, 0.0
            label, probability = predictor.predict(features)
            round_ = write_ticket(cells, label, probability)
            cells[round_, -self.features :] = features
            return round_, label, probability

        def observe(cells: Floats, row: int, round: int, outcome: EncodedOutcome) -> bool:
            if not is_pending(cells, row, *read_ticket(cells, row)):
                return False
            cells[row, OUTCOME_START : OUTCOME_START + 2] = outcome
            mark_answered(cells, row)
            try:
                predictor.learn(cells[row, -self.features :].copy(), int(outcome[0]), outcome[1])
            except BaseException:
                unmark_answered(cells, row)
                raise
            return True

        return LiveKernels(act, lambda *_: False, observe, None)

    def encode_features(self, given: Any) -> Floats:
        """Return validated features of a row, shape (features,).

        given: argument of `Session.act`: numbers, or one number for one feature.
        """
        try:
            row = np.atleast_1d(np.array(given, dtype=np.float64)) + 0.0
        except (TypeError, ValueError):
            row = np.full(self.features, np.nan)
        if row.shape != (self.features,) or not np.isfinite(row).all():
            raise FeedbackError(
                f"Session.act: features must be {plural(self.features, 'finite number')}, got "
                f"{given!r}; fill in what is missing, or give Session the number of features."
            )
        return row

    def encode(self, round: int, action: int, given: Mapping[str, Any]) -> EncodedOutcome:
        label: Any = given.get("label")
        weight: Any = given.get("weight")
        for name, value in given.items():
            if value is not None and name not in ("label", "weight"):
                raise FeedbackError(
                    f"Session.observe: expected nothing but a label and its weight for round {round}, got {name}; "
                    "write observe(ticket, label=...)."
                )
        if isinstance(label, str) or np.ndim(label) != 0 or label not in (0, 1):
            raise FeedbackError(f"Session.observe: label must be 0 or 1, got {label!r}; write label=0 or label=1.")
        if weight is None or weight == 1.0:
            return float(label), 1.0
        number = _validate.real("Session.observe", "weight", weight, above=0, most=1)
        return float(label), float(round_weight(np.array([number]))[0])

    def to_observe_kwargs(self, outcome: EncodedOutcome) -> dict[str, Any]:
        return {"label": int(outcome[0]), "weight": outcome[1]}

    def decode(self, outcome: EncodedOutcome) -> tuple[int, float]:
        return int(outcome[0]), outcome[1]

    def loss(self, action: int, outcome: EncodedOutcome) -> float:
        return outcome[1] if action != outcome[0] else 0.0

    def outcome_of_row(self, losses: Floats, action: int, costs: Any = None) -> dict[str, Any]:
        """Return {"label": label of smaller loss}; the label is 0 if they are equal."""
        return {"label": int(losses[1] < losses[0])}
