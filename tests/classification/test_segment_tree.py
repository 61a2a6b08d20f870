"""Keys and shape of the segment tree."""

import numpy as np

from label_cases import EXTREME_NUMBERS, TIES, predict_live
from tombola import play
from tombola.classification import ERM, Intervals, LabelledPool
from tombola.classification.segment_tree import _highest_bit, bits_of


def test_keys_keep_order_of_numbers() -> None:
    numbers = np.sort(np.array([*EXTREME_NUMBERS, 2.5, -3.5, 1e-10]))
    keys = [int(bits_of(numbers, place)) for place in range(numbers.size)]
    assert all(
        (a < b) == (x < y) for a, b, x, y in zip(keys, keys[1:], numbers, numbers[1:], strict=False)
    )
    assert [int(_highest_bit(np.uint64(1 << bit))) for bit in range(64)] == list(range(64))
    assert int(_highest_bit(np.uint64(2**64 - 1))) == 63


def test_adversarial_shape_of_trie_is_no_problem() -> None:
    """Powers of two make the deepest paths; the answers must not care."""
    features = np.concatenate(
        [
            2.0 ** np.arange(-500, 500, 5),
            -(2.0 ** np.arange(-500, 500, 5)),
            1 + 2.0 ** -np.arange(1, 53),
        ]
    )
    pool = LabelledPool(features, (np.arange(features.size) % 3 == 0).astype(int))
    for ties in TIES:
        trace = play(ERM(Intervals(), ties), pool, seed=3)
        assert (
            predict_live(ERM(Intervals(), ties), pool, trace.order, 0, 3) == trace.actions.tolist()
        )
