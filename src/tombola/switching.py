"""Learners for prices of switching: bandit feedback, and few changes of action."""

from tombola.learners.switching import *  # noqa: F403 - a door to the learners' own rooms
from tombola.learners.switching import __all__ as __all__
