"""Learners with bandit feedback: they see the loss of the action they played, and nothing else of the row."""

from tombola.learners.bandit.bandit_birthday_test import BanditBirthdayTest
from tombola.learners.bandit.blind_action import BlindAction
from tombola.learners.bandit.epsilon_greedy import EpsilonGreedy
from tombola.learners.bandit.exp3 import Exp3
from tombola.learners.bandit.explore_then_commit import ExploreThenCommit
from tombola.learners.bandit.kl_ucb import KLUCB
from tombola.learners.bandit.successive_elimination import SuccessiveElimination
from tombola.learners.bandit.thompson_sampling import ThompsonSampling
from tombola.learners.bandit.tsallis_inf import TsallisInf
from tombola.learners.bandit.ucb1 import UCB1
from tombola.learners.bandit.ucb2 import UCB2

__all__ = [
    "KLUCB",
    "UCB1",
    "UCB2",
    "BanditBirthdayTest",
    "BlindAction",
    "EpsilonGreedy",
    "Exp3",
    "ExploreThenCommit",
    "SuccessiveElimination",
    "ThompsonSampling",
    "TsallisInf",
]
