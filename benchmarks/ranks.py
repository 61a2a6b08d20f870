"""Rank sets at half of the rows: wrong claims and separated pairs, against paired t-tests with the same looks.

A claim is wrong if it contradicts the order on the whole list. `uncorrected` tests every pair at the level, `holm`
corrects over the pairs of one look; neither corrects for looks. `ranks` are the claims of a race after the last look,
which include those of all looks before. Run: `python benchmarks/ranks.py FOLDER_OF_POOLS [SHUFFLES]`.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from tombola.racing.ranks import Ranks

LEVEL = 0.05
POOLS = ("swebench_bash", "alpacaeval_v2", "m3_forecasts", "aslib_sat12_indu", "routellm_gsm8k")
LOOKS = (1, 10, 100)
MIN_ROWS = 20  # t-tests on fewer rows are not what anyone publishes


def paired_pvalues(rows: Any) -> tuple[Any, Any]:
    """Return two-sided p-values of paired t-tests and mean differences, shape (k, k)."""
    n = len(rows)
    means, covariance = rows.mean(axis=0), np.cov(rows, rowvar=False)
    variance = np.diag(covariance)[:, None] + np.diag(covariance)[None, :] - 2 * covariance
    difference = means[:, None] - means[None, :]
    deviation = np.sqrt(np.maximum(variance, 0.0) / n)
    # Identical columns have neither a difference nor a spread: no evidence.
    t = np.divide(np.abs(difference), deviation, out=np.zeros_like(difference), where=deviation > 1e-12)
    return 2 * stats.t.sf(t, n - 1), difference


def holm(p: Any) -> Any:
    """Return the rejected pairs of Holm's procedure over all unordered pairs."""
    upper = np.triu_indices(len(p), 1)
    values = p[upper]
    order = np.argsort(values)
    failed = values[order] > LEVEL / np.arange(values.size, 0, -1)
    count = int(np.argmax(failed)) if failed.any() else values.size
    rejected = np.zeros_like(p, bool)
    rejected[upper[0][order[:count]], upper[1][order[:count]]] = True
    return rejected | rejected.T


def compare(losses: Any, shuffles: int) -> dict[str, tuple[float, float]]:
    """Return the share of shuffles with a wrong claim, and of pairs separated at the last look."""
    N, k = losses.shape
    totals, half, pairs = losses.sum(axis=0), N // 2, k * (k - 1) / 2
    above = totals[:, None] > totals[None, :] + 1e-9 * N
    wrong: dict[str, list[bool]] = {}
    found: dict[str, list[float]] = {}
    rule = Ranks(k, N, N, LEVEL)
    for shuffle in range(shuffles):
        order = np.random.default_rng(shuffle).permutation(N)[:half]
        rule.play(losses, order.astype(np.uint32))
        wrong.setdefault("ranks", []).append(bool((rule.before & above).any()))
        found.setdefault("ranks", []).append(rule.before.sum() / pairs)
        for looks in LOOKS:
            bad = {"uncorrected": False, "holm": False}
            claims: dict[str, Any] = {}
            for n in np.unique(np.maximum(MIN_ROWS, np.linspace(half / looks, half, looks).astype(int))):
                p, difference = paired_pvalues(losses[order[:n]])
                claims = {"uncorrected": (p <= LEVEL) & (difference < 0), "holm": holm(p) & (difference < 0)}
                bad = {name: bad[name] or bool((claim & above).any()) for name, claim in claims.items()}
            for name, claim in claims.items():
                wrong.setdefault(f"{name}, {looks} looks", []).append(bad[name])
                found.setdefault(f"{name}, {looks} looks", []).append(claim.sum() / pairs)
    return {name: (float(np.mean(wrong[name])), float(np.mean(found[name]))) for name in wrong}


if __name__ == "__main__":
    folder, shuffles = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200
    for pool in POOLS:
        losses = np.ascontiguousarray(np.load(folder / f"{pool}.npz", allow_pickle=False)["loss"], np.float64)
        print(f"{pool}: {losses.shape[0]:,} x {losses.shape[1]}, {shuffles} shuffles", flush=True)
        for name, (bad, separated) in compare(losses, shuffles).items():
            print(f"  {name:<24} wrong {bad:.3f}  separated {separated:.3f}", flush=True)
