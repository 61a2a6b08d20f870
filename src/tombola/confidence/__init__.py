"""Confidence for the mean of a finite pool drawn without replacement, certificates, and a test of random order."""

from tombola.confidence.base import Confidence, Interval
from tombola.confidence.bet import Bet
from tombola.confidence.betting import Betting
from tombola.confidence.certificate import Certificate, Watch, certify, certify_trace
from tombola.confidence.exchangeability import RandomOrderTest, Verdict, examine
from tombola.confidence.fixed import EmpiricalBernsteinSerfling, Hoeffding, Serfling
from tombola.confidence.sequences import BernsteinSequence, HoeffdingSequence

__all__ = [
    "BernsteinSequence",
    "Bet",
    "Betting",
    "Certificate",
    "Confidence",
    "EmpiricalBernsteinSerfling",
    "Hoeffding",
    "HoeffdingSequence",
    "Interval",
    "RandomOrderTest",
    "Serfling",
    "Verdict",
    "Watch",
    "certify",
    "certify_trace",
    "examine",
]
