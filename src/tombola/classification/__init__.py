"""Classification in random order: pools, learners, hypothesis classes, adversary."""

from tombola.classification.adversary import Attack, attack, attack_thresholds
from tombola.classification.classes.base import HypothesisClass
from tombola.classification.classes.estimator import Estimator
from tombola.classification.classes.finite import AllLabellings, FiniteClass
from tombola.classification.classes.line import Intervals, Stumps, Thresholds, Unions
from tombola.classification.classes.plane import Halfplanes, Rectangles
from tombola.classification.dimension import littlestone_dimension, vc_dimension
from tombola.classification.finite_learners import Experts, Halving, StandardOptimal
from tombola.classification.learner import ERM, LabelLearner
from tombola.classification.pool import LabelledPool

__all__ = [
    "ERM",
    "AllLabellings",
    "Attack",
    "Estimator",
    "Experts",
    "FiniteClass",
    "Halfplanes",
    "Halving",
    "HypothesisClass",
    "Intervals",
    "LabelLearner",
    "LabelledPool",
    "Rectangles",
    "StandardOptimal",
    "Stumps",
    "Thresholds",
    "Unions",
    "attack",
    "attack_thresholds",
    "littlestone_dimension",
    "vc_dimension",
]
