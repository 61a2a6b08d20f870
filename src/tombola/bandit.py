"""Learners with bandit feedback: they see the loss of the action they played."""

from typing import TYPE_CHECKING

from tombola.learners.bandit import *  # noqa: F403 - a door to the learners' own rooms

if not TYPE_CHECKING:
    from tombola.learners.bandit import __all__ as __all__
