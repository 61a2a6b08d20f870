"""Confidence intervals, certificates, audits and the random-order test."""

from tombola.confidence.audit import Audit, AuditResult, RunningMean, SampleSize, plan
from tombola.confidence.base import Confidence, Interval
from tombola.confidence.betting import Betting
from tombola.confidence.certificate import Certificate
from tombola.confidence.e_process import EProcess
from tombola.confidence.intervals import EmpiricalBernsteinSerfling, Hoeffding, Serfling
from tombola.confidence.monitors import (
    ActionMonitor,
    PairedDifferences,
    RowMonitor,
    certify,
    certify_trace,
)
from tombola.confidence.order_test import OrderVerdict, RandomOrderTest, check_order
from tombola.confidence.predicted_mean import PredictedMean
from tombola.confidence.sequences import BernsteinSequence, HoeffdingSequence, StratifiedMean
from tombola.confidence.statement import Statement, parse_statement

__all__ = [
    "ActionMonitor",
    "Audit",
    "AuditResult",
    "BernsteinSequence",
    "Betting",
    "Certificate",
    "Confidence",
    "EProcess",
    "EmpiricalBernsteinSerfling",
    "Hoeffding",
    "HoeffdingSequence",
    "Interval",
    "OrderVerdict",
    "PairedDifferences",
    "PredictedMean",
    "RandomOrderTest",
    "RowMonitor",
    "RunningMean",
    "SampleSize",
    "Serfling",
    "Statement",
    "StratifiedMean",
    "certify",
    "certify_trace",
    "check_order",
    "parse_statement",
    "plan",
]
