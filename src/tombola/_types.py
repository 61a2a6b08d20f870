"""Array types, and the protocol of learners."""

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Array of float64, of any shape.
Floats: TypeAlias = NDArray[np.float64]
# Table of losses or costs: axis 0 has the rows of a pool, axis 1 the actions.
Rows: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
# Array of int64: actions, labels, indices, rounds or counts.
Integers: TypeAlias = NDArray[np.int64]
# Row index of each round.
Order: TypeAlias = NDArray[np.uint32]
# State of a random generator: four 64-bit words, changed in place by each draw (`tombola.rng`).
RngState: TypeAlias = NDArray[np.uint64]
# Source of randomness of a call, an integer of at least 0 or a SeedSequence: equal seeds give equal
# results.
Seed: TypeAlias = int | np.random.SeedSequence


class AnyLearner(Protocol):
    """Protocol of all learners: of actions, of actions under a budget, or of labels.

    The methods that a play calls depend on the kind of feedback: they are documented in the base
    classes `Learner` and `MixedLearner` (losses), `BudgetedLearner` (losses and costs), and
    `LabelLearner` (labels). Subclass one of these.
    """

    @property
    def feedback(self) -> Any:
        """Kind of feedback: a name such as "bandit", or a `FeedbackModel` class."""

    @property
    def learns(self) -> bool:
        """Whether the learner improves with feedback; False for a baseline."""

    @property
    def plans(self) -> bool:
        """Whether the learner has a method `plan`, run between two rounds."""

    @property
    def mixes(self) -> bool:
        """Whether the learner returns a mix, the probability of every action."""
