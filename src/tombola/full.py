"""Learners with full feedback: they see the losses of all actions."""

from typing import TYPE_CHECKING

from tombola.learners.full import *  # noqa: F403 - a door to the learners' own rooms

if not TYPE_CHECKING:
    from tombola.learners.full import __all__ as __all__
