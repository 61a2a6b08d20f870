"""VC dimension of decision stumps."""

import itertools

from tombola.classification import (
    Stumps,
)


def test_vc_of_stumps() -> None:
    """A set of v points is shattered by d features iff d orders of the points have all subsets as ends; tried out.

    The bound on the growth function is below 2^(v+1) at v + 1 points, so no larger set is shattered.
    """
    for features, vc in ((1, 2), (2, 3), (3, 4)):
        assert Stumps(features).vc == vc
        assert best_shattering(features, vc) == 2**vc
        assert (Stumps(features).growth(vc + 1) or 0) < 2 ** (vc + 1)
        for points in range(1, vc + 2 if features < 3 else 5):
            assert best_shattering(features, points) <= (Stumps(features).growth(points) or 0)


def best_shattering(features: int, points: int) -> int:
    orders = list(itertools.permutations(range(points)))
    most = 0
    for rest in itertools.combinations_with_replacement(orders, features - 1):
        sets = set()
        for order in (tuple(range(points)), *rest):
            for cut in range(points + 1):
                sets.add(frozenset(order[:cut]))
                sets.add(frozenset(order[cut:]))
        most = max(most, len(sets))
        if most == 2**points:
            break
    return most
