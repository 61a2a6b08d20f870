"""The adversary forces as many mistakes as the dimension allows."""

import numpy as np

from tombola import Hedge, play
from tombola.bounds import classification as bounds
from tombola.classification import (
    ERM,
    Experts,
    FiniteClass,
    Halving,
    LabelledPool,
    StandardOptimal,
    attack,
)


def test_adversary_reaches_the_dimension() -> None:
    generator = np.random.default_rng(9)
    for trial in range(60):
        matrix = np.unique(generator.integers(0, 2, (int(generator.integers(2, 12)), 6)), axis=0)
        if len(matrix) < 2:
            continue
        chain = FiniteClass(matrix)
        depth = chain.littlestone()
        assert depth is not None
        for learner in (
            StandardOptimal(chain),
            Halving(chain),
            ERM(chain),
            Experts(chain, Hedge()),
        ):
            met = attack(learner, chain, seed=trial)
            assert met.mistakes == depth, learner
            assert play(ERM(chain), met.pool, seed=0).comparator_losses.sum() == 0, (
                "labels stay realizable"
            )
        truth = matrix[generator.integers(len(matrix))]
        points = generator.integers(0, 6, 30)
        pool = LabelledPool(points, truth[points])
        assert play(StandardOptimal(chain), pool, seed=trial).mistakes <= depth
        assert play(Halving(chain), pool, seed=trial).mistakes <= bounds.halving(len(matrix))
