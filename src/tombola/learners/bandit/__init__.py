"""Learners with bandit feedback: they see the loss of the action they played, and nothing else of the row."""

from typing import TYPE_CHECKING

from tombola.learners.bandit.bandit_birthday_test import BanditBirthdayTest as BanditBirthdayTest
from tombola.learners.bandit.blind_action import BlindAction as BlindAction
from tombola.learners.bandit.epsilon_greedy import EpsilonGreedy as EpsilonGreedy
from tombola.learners.bandit.exp3 import Exp3 as Exp3
from tombola.learners.bandit.explore_then_commit import ExploreThenCommit as ExploreThenCommit
from tombola.learners.bandit.kl_ucb import KLUCB as KLUCB
from tombola.learners.bandit.successive_elimination import SuccessiveElimination as SuccessiveElimination
from tombola.learners.bandit.thompson_sampling import ThompsonSampling as ThompsonSampling
from tombola.learners.bandit.tsallis_inf import TsallisInf as TsallisInf
from tombola.learners.bandit.ucb1 import UCB1 as UCB1
from tombola.learners.bandit.ucb2 import UCB2 as UCB2

if not TYPE_CHECKING:  # type checkers read the imports: each name is written once
    __all__ = sorted(name for name in dir() if name[0].isupper() and name != "TYPE_CHECKING")
