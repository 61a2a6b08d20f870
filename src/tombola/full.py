"""Learners with full feedback: they see the losses of all actions."""

from tombola.learners.full import *  # noqa: F403 - a door to the learners' own rooms
from tombola.learners.full import __all__ as __all__
