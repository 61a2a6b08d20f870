"""Confidence intervals, certificates, audits and the random-order test."""

from tombola.evidence.audit import Audit, AuditResult, RunningMean, SampleSize, plan
from tombola.evidence.base import Confidence, Interval
from tombola.evidence.betting import Betting
from tombola.evidence.certificate import Certificate
from tombola.evidence.e_process import EProcess
from tombola.evidence.intervals import EmpiricalBernsteinSerfling, Hoeffding, Serfling
from tombola.evidence.monitors import (
    ActionMonitor,
    PairedDifferences,
    RowMonitor,
    certify,
    certify_trace,
)
from tombola.evidence.order_test import OrderVerdict, RandomOrderTest, check_order
from tombola.evidence.predicted_mean import PredictedMean
from tombola.evidence.sequences import BernsteinSequence, HoeffdingSequence, StratifiedMean
from tombola.evidence.statement import Statement, parse_statement

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
