"""Learners with bandit feedback: they observe the loss of the action played.

Learners are registered in `_MODULES` of `learners/__init__.py`.
"""
