"""Bandit algorithms of other libraries, played one round at a time."""

import io
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

LossRows: TypeAlias = list[list[float]]


@dataclass(frozen=True)
class Peer:
    """One algorithm of another library.

    rounds: enough to measure its time per round.
    target: speed of tombola as a multiple of its speed.
    """

    library: str
    algorithm: str
    rounds: int
    target: float
    play: Callable[[LossRows], float]


def river_peers() -> list[Peer]:
    """Return UCB1 and Exp3 of river."""
    from river import bandit

    def play(policy: Any, rows: LossRows) -> float:
        total, arms = 0.0, list(range(len(rows[0])))
        for row in rows:
            action = policy.pull(arms)
            total += row[action]
            policy.update(action, 1.0 - row[action])
        return total

    return [
        Peer("river", "UCB1", 5000, 200, lambda rows: play(bandit.UCB(delta=1, seed=0), rows)),
        Peer("river", "Exp3", 5000, 200, lambda rows: play(bandit.Exp3(gamma=0.1, seed=0), rows)),
    ]


def mabwiser_peers() -> list[Peer]:
    """Return UCB1 of MABWiser, which has no Exp3."""
    from mabwiser.mab import MAB, LearningPolicy

    def play(rows: LossRows) -> float:
        total, arms = 0.0, list(range(len(rows[0])))
        policy = MAB(arms, LearningPolicy.UCB1(alpha=1.0), seed=0)
        policy.fit(arms, [1.0 - loss for loss in rows[0]])
        for row in rows:
            action = policy.predict()
            total += row[action]
            policy.partial_fit([action], [1.0 - row[action]])
        return total

    return [Peer("MABWiser", "UCB1", 300, 2000, play)]


def smpybandits_peers() -> list[Peer]:
    """Return UCB1 and Exp3 of SMPyBandits."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        policies = import_module("SMPyBandits.Policies")

    def play(policy: Any, rows: LossRows) -> float:
        total = 0.0
        policy.startGame()
        for row in rows:
            action = int(policy.choice())
            total += row[action]
            policy.getReward(action, 1.0 - row[action])
        return total

    return [
        Peer("SMPyBandits", "UCB1", 1000, 500, lambda rows: play(policies.UCB(len(rows[0])), rows)),
        Peer(
            "SMPyBandits", "Exp3", 1000, 500, lambda rows: play(policies.Exp3(len(rows[0])), rows)
        ),
    ]


LIBRARIES = {"river": river_peers, "SMPyBandits": smpybandits_peers, "MABWiser": mabwiser_peers}


def installed_peers() -> tuple[list[Peer], dict[str, str]]:
    """Return the installed peers, and the import error of each missing library."""
    peers: list[Peer] = []
    missing: dict[str, str] = {}
    for name, load in LIBRARIES.items():
        try:
            peers += load()
        except ImportError as error:
            missing[name] = f"not importable here ({error})"
    return peers, missing
