"""Learners for prices of switching: bandit feedback, and few changes of action."""

from typing import TYPE_CHECKING

from tombola.learners.switching import *  # noqa: F403 - a door to the learners' own rooms

if not TYPE_CHECKING:
    from tombola.learners.switching import __all__ as __all__
