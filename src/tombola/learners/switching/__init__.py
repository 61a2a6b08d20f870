"""Bandit learners for a price on switches."""
