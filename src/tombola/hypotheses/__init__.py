"""Classes of hypotheses: what a learner of labels is compared with, each with its search and its dimensions."""

from tombola.hypotheses.all_labellings import AllLabellings
from tombola.hypotheses.base import Hypotheses
from tombola.hypotheses.dimension import littlestone_dimension, vc_dimension
from tombola.hypotheses.estimator import Estimator
from tombola.hypotheses.finite import FiniteClass
from tombola.hypotheses.halfplanes import Halfplanes
from tombola.hypotheses.labelled_pool import LabelledPool
from tombola.hypotheses.line import Intervals, Thresholds, Unions
from tombola.hypotheses.rectangles import Rectangles
from tombola.hypotheses.stumps import Stumps

__all__ = [
    "AllLabellings",
    "Estimator",
    "FiniteClass",
    "Halfplanes",
    "Hypotheses",
    "Intervals",
    "LabelledPool",
    "Rectangles",
    "Stumps",
    "Thresholds",
    "Unions",
    "littlestone_dimension",
    "vc_dimension",
]
