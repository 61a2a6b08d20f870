"""How much answers change from run to run, and what more runs or rows would decide.

Tables with several runs of each candidate on each row: an agent is run again, and answers
differently. The variance of its answers has two parts, the noise within a row and the differences
between rows. More runs reduce the first only.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import comb

from tombola._types import Floats
from tombola.evidence.finished_runs import mean_interval
from tombola.tables.runs import RunSpread, run_spread

# Mean differences below this are none; it is far above rounding.
_NO_GAP = 1e-9
# Needs of more than this many calls are as good as never.
_MAX_CALLS = 10**9


class Share(NamedTuple):
    """An estimated probability with bounds, each in [0, 1]."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class RunNoise:
    """Noise of the answers of k candidates, from runs; built by `run_noise`.

    rows: number of rows. runs: least and largest number of runs of a cell.
    changed: (k,), share of the rows on which the answers of a candidate differ between runs.
    changed_rows: number of rows on which the answers of some candidate differ.
    noise: (k,), variance of an answer around the mean of its row.
    between: (k,), variance of these means between rows, at least 0.
    all_succeed, any_succeeds: pass^R and pass@R of each candidate for R runs, the least number:
        the probability that all of R runs succeed, or at least one; empty unless losses are 0 and 1.
    level: of each interval alone.
    """

    rows: int
    runs: tuple[int, int]
    changed: Floats
    changed_rows: int
    noise: Floats
    between: Floats
    all_succeed: tuple[Share, ...]
    any_succeeds: tuple[Share, ...]
    level: float

    @property
    def noise_share(self) -> Floats:
        """Noise as a share of the variance of one answer, in [0, 1]; 0 if nothing varies."""
        spread = (self.runs, self.changed, self.changed_rows, self.noise, self.between)
        return RunSpread(*spread).noise_share

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON data; shares are [value, low, high]."""
        return {
            "rows": self.rows,
            "runs": list(self.runs),
            "changed": self.changed.tolist(),
            "changed_rows": self.changed_rows,
            "noise": self.noise.tolist(),
            "between": self.between.tolist(),
            "noise_share": self.noise_share.tolist(),
            "pass_all": [list(share) for share in self.all_succeed],
            "pass_any": [list(share) for share in self.any_succeeds],
        }


def run_noise(runs: Floats, level: float = 0.05) -> RunNoise | None:
    """Return the noise of losses in [0, 1], shape (runs, rows, k); NaN where there is no run.

    None if no cell has two runs. Rows with an unanswered cell are left out.

    >>> noise = run_noise(np.array([[[0.0], [1.0]], [[0.0], [0.0]]]))
    >>> noise.changed.tolist(), noise.changed_rows, [share.value for share in noise.all_succeed]
    ([0.5], 1, [0.5])
    """
    counts = (~np.isnan(runs)).sum(axis=0)
    complete = (counts > 0).all(axis=1)
    runs = runs[:, complete]
    counts = counts[complete]
    spread = run_spread(runs)
    if spread is None:
        return None
    all_succeed, any_succeeds = _success_shares(runs, counts, spread.runs[0], level)
    return RunNoise(
        rows=len(counts),
        **spread._asdict(),
        all_succeed=all_succeed,
        any_succeeds=any_succeeds,
        level=level,
    )


def _success_shares(
    runs: Floats, counts: Any, draws: int, level: float
) -> tuple[tuple[Share, ...], tuple[Share, ...]]:
    """Return pass^R and pass@R of every candidate, R = draws, with intervals.

    With n runs of a row, c of them successes, C(c, R) / C(n, R) and 1 - C(n - c, R) / C(n, R) are
    unbiased for the row. Rows are independent, so one pass of Theorem R2 bounds their mean.
    """
    if not np.isin(runs[~np.isnan(runs)], (0.0, 1.0)).all():
        return (), ()
    failures = np.nansum(runs, axis=0)
    ways = comb(counts, draws)
    shares = []
    for by_row in (comb(counts - failures, draws) / ways, 1.0 - comb(failures, draws) / ways):
        low, high = mean_interval(by_row[None], level)
        values = zip(by_row.mean(axis=0), low, high, strict=True)
        shares.append(tuple(Share(*map(float, share)) for share in values))
    return shares[0], shares[1]


class MoreEvidence(NamedTuple):
    """What would decide between two undecided candidates, about, if the means stay as they are.

    runs: further runs of every row, at least 1; None if no number of runs is enough.
    runs_calls: their calls, of both candidates.
    rows: further rows with one run each, at least 1; None if the means are equal.
    rows_calls: their calls.
    """

    runs: int | None
    runs_calls: int
    rows: int | None
    rows_calls: int

    @property
    def cheaper(self) -> str:
        """The option with fewer calls: "runs", "rows", or "" if there is none."""
        options = [
            (calls, name)
            for calls, name, needed in (
                (self.runs_calls, "runs", self.runs),
                (self.rows_calls, "rows", self.rows),
            )
            if needed is not None
        ]
        return min(options)[1] if options else ""


def more_evidence(
    runs: Floats, first: int, second: int, threshold: float, *, beyond: bool
) -> MoreEvidence:
    """Return what would decide between two candidates that are open, from losses (runs, rows, k).

    The rule of thumb of docs/theory/race.md: the log wealth after n differences with mean D and
    variance v is about n D^2 / (2 v), and decides at log(threshold). For rows like these v has the
    differences between rows in it, which more runs do not reduce. On this list only the first pass
    has them.
    """
    differences = runs[:, :, first] - runs[:, :, second]
    differences = differences[:, ~np.isnan(differences).all(axis=0)]
    counts = (~np.isnan(differences)).sum(axis=0)
    rows = differences.shape[1]
    count = float(counts.mean())
    by_row = np.nanmean(differences, axis=0)
    gap = abs(float(by_row.mean()))
    freedom = max(int((counts - 1).sum()), 1)
    noise = float(np.nansum((differences - by_row) ** 2)) / freedom
    between = max(float(by_row.var()) - noise * float((1.0 / counts).mean()), 0.0)
    if gap <= _NO_GAP:
        return MoreEvidence(None, 0, None, 0)
    # Differences of variance 1 that would decide.
    needed = 2.0 * math.log(threshold) / gap**2
    if beyond:
        room = rows / needed - between
        wanted = noise / room if room > 0.0 else math.inf
    else:
        # N R = needed (noise + between / R), solved for R.
        scale = needed / rows
        wanted = 0.5 * (scale * noise + math.sqrt((scale * noise) ** 2 + 4.0 * scale * between))
    more_runs = None if rows * wanted > _MAX_CALLS else max(1, math.ceil(wanted - count))
    # New rows with one run each; those on file count with their runs.
    have = rows / max(between + noise / count, 1e-12)
    extra = max(0.0, needed - have) * (between + noise)
    more_rows = None if extra > _MAX_CALLS else max(1, math.ceil(extra))
    return MoreEvidence(
        more_runs,
        0 if more_runs is None else 2 * rows * more_runs,
        more_rows,
        0 if more_rows is None else 2 * more_rows,
    )
