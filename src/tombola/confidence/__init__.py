"""Confidence for the mean of a pool drawn without replacement, certificates, audits, and a test of random order."""

from tombola.confidence.assertion import (
    Assertion,
    asserted,
    differ_at_most,
    mean_above,
    mean_below,
    share_at_least,
)
from tombola.confidence.audit import Audit, Effort, Finding, plan
from tombola.confidence.base import Confidence, Interval
from tombola.confidence.bet import Bet
from tombola.confidence.betting import Betting
from tombola.confidence.certificate import RowWatch, Watch, certify, certify_trace
from tombola.confidence.certified import Certificate
from tombola.confidence.course import Course
from tombola.confidence.exchangeability import OrderVerdict, RandomOrderTest, examine
from tombola.confidence.fixed import EmpiricalBernsteinSerfling, Hoeffding, Serfling
from tombola.confidence.pairs import Pairs
from tombola.confidence.sequences import BernsteinSequence, HoeffdingSequence
from tombola.confidence.strata import Strata

__all__ = [
    "Assertion",
    "Audit",
    "BernsteinSequence",
    "Bet",
    "Betting",
    "Certificate",
    "Confidence",
    "Course",
    "Effort",
    "EmpiricalBernsteinSerfling",
    "Finding",
    "Hoeffding",
    "HoeffdingSequence",
    "Interval",
    "OrderVerdict",
    "Pairs",
    "RandomOrderTest",
    "RowWatch",
    "Serfling",
    "Strata",
    "Watch",
    "asserted",
    "certify",
    "certify_trace",
    "differ_at_most",
    "examine",
    "mean_above",
    "mean_below",
    "plan",
    "share_at_least",
]
