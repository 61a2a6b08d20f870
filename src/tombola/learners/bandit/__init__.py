"""Learners with bandit feedback: they observe the loss of the action played."""
