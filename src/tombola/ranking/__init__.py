"""Ranks of candidates with their uncertainty: rank sets, ties, pairs.

Theory: docs/theory/ranks.md.
"""

from tombola.ranking._rank import rank
from tombola.ranking.result import MetricsRanking, Ranking, Reading

__all__ = ["MetricsRanking", "Ranking", "Reading", "rank"]
