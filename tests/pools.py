"""Tables for tests: small ones of our own, and the real ones where they lie beside this copy of the project."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tombola.demo import language_models, solvers
from tombola.pool import Pool

SHARED = Path(__file__).resolve().parents[2] / "shared" / "pools"


def drifting(rows: int = 1500) -> Pool:
    """Return calls that get better over the months: not in random order as they are listed."""
    rng = np.random.default_rng(11)
    sold = rng.random(rows) < np.linspace(0.05, 0.5, rows)
    return Pool(np.column_stack([np.full(rows, 0.5), 1.0 - sold]), ["skip", "call"])


OWN: dict[str, Callable[[], Pool]] = {
    "own_calls": drifting,
    "own_language_models": lambda: language_models(600, seed=2),
    "own_solvers": lambda: solvers(300, seed=3),
}
REAL = sorted(path.stem for path in SHARED.glob("*.npz") if "logged" not in path.stem)


def npz_of(name: str, folder: Path) -> Path:
    """Return the file of a table, with its card beside it; one of our own is written into this folder first."""
    if name not in OWN:
        return SHARED / f"{name}.npz"
    pool, path = OWN[name](), folder / f"{name}.npz"
    arrays = {"loss": np.asarray(pool.losses, np.float64), "actions": np.array(pool.actions)}
    if pool.costs is not None:
        arrays["cost"] = np.asarray(pool.costs)[:, :, 0]
    np.savez(path, **arrays)  # type: ignore[arg-type]
    means = arrays["loss"].mean(axis=0)
    card = {
        "T": pool.rows,
        "k": pool.k,
        "arrays": list(arrays),
        "best_fixed_action": pool.actions[int(means.argmin())],
        "best_fixed_mean_loss": float(means.min()),
    }
    path.with_suffix(".json").write_text(json.dumps(card))
    return path


def pool_with_costs(T: int, k: int, m: int, seed: int, *, cheap: float = 1.0) -> Pool:
    """Return random rows whose action 0 is null; nothing ties, so every LP has one solution."""
    generator = np.random.default_rng([seed, T, k, m])
    costs = generator.random((T, k, m)) * cheap
    costs[:, 0] = 0.0
    return Pool.from_rewards(generator.random((T, k)) * np.linspace(0.2, 1.0, k), costs=costs)
