"""Naive twins: every learner again, as a few obvious lines that recompute everything from the whole history."""
