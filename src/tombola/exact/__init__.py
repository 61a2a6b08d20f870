"""Exact expected regret of a learner on small inputs, in any setting, by walking the tree of all row sequences once.

It is the oracle for everything that is sampled elsewhere, and shows the hierarchy i.i.d. <= random order <= adversarial
(paper, appendix on the hierarchy) number by number. `tombola exact` says the same with the same words.
"""

from tombola.exact.distinct_rows import zero_one
from tombola.exact.regrets import Regrets, expected_loss, random_order, worst_case, worst_pool

__all__ = ["Regrets", "expected_loss", "random_order", "worst_case", "worst_pool", "zero_one"]
