"""Hypothesis classes, each with its online ERM and its dimensions."""

from tombola.classification.classes.base import HypothesisClass
from tombola.classification.classes.estimator import Estimator
from tombola.classification.classes.finite import AllLabellings, FiniteClass
from tombola.classification.classes.line import Intervals, Thresholds, Unions
from tombola.classification.classes.plane import Halfplanes, Rectangles
from tombola.classification.classes.stumps import Stumps
from tombola.classification.dimension import littlestone_dimension, vc_dimension
from tombola.classification.pool import LabelledPool

__all__ = [
    "AllLabellings",
    "Estimator",
    "FiniteClass",
    "Halfplanes",
    "HypothesisClass",
    "Intervals",
    "LabelledPool",
    "Rectangles",
    "Stumps",
    "Thresholds",
    "Unions",
    "littlestone_dimension",
    "vc_dimension",
]
