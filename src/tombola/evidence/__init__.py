"""Confidence intervals, certificates, audits and the random-order test."""

from tombola.evidence.audit_statement import Statement, parse_statement
from tombola.evidence.base import Confidence, Interval
from tombola.evidence.best_column import BestColumn, CertifiedMean, certify
from tombola.evidence.betting import Betting
from tombola.evidence.certificate import Certificate
from tombola.evidence.e_process import EProcess
from tombola.evidence.intervals import EmpiricalBernsteinSerfling, Hoeffding, Serfling
from tombola.evidence.judge_audit import JudgeAudit, JudgeSummary
from tombola.evidence.list_audit import AuditReport, audit
from tombola.evidence.list_order import OrderCheck, check_order
from tombola.evidence.monitors import (
    ActionMonitor,
    PairedDifferences,
    RowMonitor,
    certify_plays,
    certify_trace,
)
from tombola.evidence.order_test import OrderVerdict, RandomOrderTest, order_verdict
from tombola.evidence.pending import pending_interval
from tombola.evidence.predicted_mean import PredictedMean
from tombola.evidence.sequences import BernsteinSequence, HoeffdingSequence, StratifiedMean
from tombola.evidence.sequential_audit import (
    Audit,
    AuditResult,
    RunningMean,
    SampleSize,
    sample_size,
)

__all__ = [
    "ActionMonitor",
    "Audit",
    "AuditReport",
    "AuditResult",
    "BernsteinSequence",
    "BestColumn",
    "Betting",
    "Certificate",
    "CertifiedMean",
    "Confidence",
    "EProcess",
    "EmpiricalBernsteinSerfling",
    "Hoeffding",
    "HoeffdingSequence",
    "Interval",
    "JudgeAudit",
    "JudgeSummary",
    "OrderCheck",
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
    "audit",
    "certify",
    "certify_plays",
    "certify_trace",
    "check_order",
    "order_verdict",
    "parse_statement",
    "pending_interval",
    "sample_size",
]
