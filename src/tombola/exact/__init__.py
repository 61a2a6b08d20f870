"""Exact expected regret of a learner on small inputs.

It is computed from the tree of all row sequences.

The reference for everything that is sampled elsewhere, and for the hierarchy i.i.d. <= random order <= adversarial
(Theorem B.1 of the paper).
"""

from tombola.exact.distinct_rows import zero_one
from tombola.exact.regrets import Regrets, expected_loss, random_order, worst_case, worst_pool

__all__ = ["Regrets", "expected_loss", "random_order", "worst_case", "worst_pool", "zero_one"]
