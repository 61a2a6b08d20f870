"""tombola: learn over a finite pool of rows drawn in random order.

Names are loaded on first use, so that `import tombola` is fast. All learners are in
`tombola.learners`; `bounds`, `budget`, `classification`, `evidence`, `instances`, `lab`, `paper`,
`policies` and `rng` are modules of their own.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0.dev0"

_MODULES = (
    "bounds", "budget", "classification", "evidence", "demo", "instances", "lab",
    "learners", "paper", "policies", "rng",
)  # fmt: skip
_HOME = {
    "AsyncClient": "service.client",
    "Budget": "budget.budget",
    "Client": "service.client",
    "Exp3": "learners",
    "FixedAction": "learners",
    "FollowTheLeader": "learners",
    "FrugalUCB": "learners",
    "Hedge": "learners",
    "Learner": "learners",
    "MixedLearner": "learners",
    "Pool": "pool",
    "Race": "racing",
    "RowDelays": "delay",
    "Runs": "runs",
    "Session": "session",
    "RaceFile": "worklists.race_file",
    "SessionFile": "worklists.session_file",
    "Simulation": "learners",
    "Thrifty": "learners",
    "Ticket": "engine.tickets",
    "TombolaError": "errors",
    "Trace": "trace",
    "UCB1": "learners",
    "UCB2": "learners",
    "audit": "evidence.list_audit",
    "certify": "evidence.best_column",
    "check_learner": "checks",
    "check_order": "evidence.list_order",
    "cite": "paper.citations",
    "compare": "_compare",
    "describe": "tables.describe",
    "gate": "gating",
    "play": "_play",
    "race": "racing",
    "rank": "ranking",
    "read_table": "tables",
}

__all__ = sorted((*_MODULES, *_HOME))


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"tombola.{name}")
    if name not in _HOME:
        # Only the most common learners are names of the package itself. A name in lower case may be
        # a submodule, which must not load the learners.
        is_learner = name[:1].isupper() and name in import_module("tombola.learners").__all__
        hint = f"; write tombola.learners.{name}" if is_learner else ""
        raise AttributeError(f"module 'tombola' has no attribute {name!r}{hint}")
    value = getattr(import_module(f"tombola.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
