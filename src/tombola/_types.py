"""Array types, and the protocol of learners."""

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Array of float64, of any shape.
Floats: TypeAlias = NDArray[np.float64]
# Table of losses or costs, one row per row of a pool.
Rows: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
# Integers: rounds, actions or counts.
Rounds: TypeAlias = NDArray[np.int64]
# Row index of each round.
Order: TypeAlias = NDArray[np.uint32]
# State of a random generator: four 64-bit words, changed in place by each draw (`tombola.rng`).
RngState: TypeAlias = NDArray[np.uint64]
# Source of randomness of a call: equal seeds give equal results.
Seed: TypeAlias = int | np.random.SeedSequence


class AnyLearner(Protocol):
    """Learner of actions, under a budget, or of labels.

    The methods that the loop calls depend on the kind of feedback, so each base class declares its own.
    """

    @property
    def feedback(self) -> Any:
        """A key of `feedback.FEEDBACK_MODELS`, or a subclass of `FeedbackModel`."""

    @property
    def learns(self) -> bool:
        """Whether it improves with feedback; False for a baseline."""

    @property
    def plans(self) -> bool:
        """Whether `plan` may run between two rounds."""

    @property
    def mixes(self) -> bool:
        """Whether it returns the probability of every action."""
