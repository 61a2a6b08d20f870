"""Classification in random order: labelled pools, learners of labels, and what an adversary could do."""

from tombola.hypotheses import (
    AllLabellings,
    Estimator,
    FiniteClass,
    Halfplanes,
    Hypotheses,
    Intervals,
    LabelledPool,
    Rectangles,
    Stumps,
    Thresholds,
    Unions,
    littlestone_dimension,
    vc_dimension,
)
from tombola.labels.adversary import Attack, attack, attack_thresholds
from tombola.labels.erm import ERM
from tombola.labels.experts import Experts
from tombola.labels.halving import Halving
from tombola.labels.learner import LabelLearner
from tombola.labels.optimal import StandardOptimal

__all__ = [
    "ERM",
    "AllLabellings",
    "Attack",
    "Estimator",
    "Experts",
    "FiniteClass",
    "Halfplanes",
    "Halving",
    "Hypotheses",
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
