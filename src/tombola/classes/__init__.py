"""Classification in random order: labelled pools, classes of hypotheses, ERM, and what an adversary could do."""

from tombola.classes.adversary import Attack, attack, attack_thresholds
from tombola.classes.all_labellings import AllLabellings
from tombola.classes.dimension import littlestone_dimension, vc_dimension
from tombola.classes.erm import ERM
from tombola.classes.estimator import Estimator
from tombola.classes.experts import Experts
from tombola.classes.finite import FiniteClass
from tombola.classes.halfplanes import Halfplanes
from tombola.classes.halving import Halving
from tombola.classes.hypotheses import Hypotheses
from tombola.classes.labelled_pool import LabelledPool
from tombola.classes.learner import LabelLearner
from tombola.classes.line import Intervals, Thresholds, Unions
from tombola.classes.optimal import StandardOptimal
from tombola.classes.playing import LabelTrace, play_labels
from tombola.classes.rectangles import Rectangles
from tombola.classes.session import LabelSession
from tombola.classes.stumps import Stumps

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
    "LabelSession",
    "LabelTrace",
    "LabelledPool",
    "Rectangles",
    "StandardOptimal",
    "Stumps",
    "Thresholds",
    "Unions",
    "attack",
    "attack_thresholds",
    "littlestone_dimension",
    "play_labels",
    "vc_dimension",
]
