"""All errata of the paper (`tombola.paper.errata`) as one claim."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tombola._types import Seed
from tombola.paper.base import Claim, Overrides, Unit, Verdict
from tombola.paper.curves import reference_lines, spikes
from tombola.paper.errata import ERRATA, Erratum, Evidence
from tombola.paper.errata.base import SEVERITY_LABELS, demonstrates
from tombola.paper.pvalues import exact
from tombola.paper.rows import Row, Rows, levels
from tombola.report.chart import Band, Chart


def _is_demonstrated(row: Row) -> bool:
    return demonstrates(row["relation"], row["printed_value"], row["corrected_value"], row["truth"])


@dataclass(frozen=True)
class Errata(Claim, name="errata", expected="holds as corrected"):
    """Printed and corrected values of every erratum against the exact values.

    Title: Printed values divided by exact values
    Source: throughout (L210-L929)
    Statement: Wherever the paper and its corrected form differ, the corrected form is true.
    Meaning: The theorems of the paper hold with other constants, except for the classification bound and its radius
        when the dimension is large, and the constant of the distance to fresh samples.
    Limits: Passes if, for every erratum, the printed value is wrong or too weak compared with the exact value, and the
        corrected value is right, within 1 %.
    Alt: Upright lines, one for each erratum, from 1 to the printed value over the exact one; most are within a factor
        of ten of it, the worst a factor of a thousand away.
    """

    errata: tuple[Erratum, ...] = ERRATA

    def units(self, *, full: bool) -> list[Unit]:
        return [{"number": number} for number in sorted(erratum.number for erratum in self.errata)]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        return [_erratum_row(erratum) for erratum in self.errata if erratum.number == unit["number"]]

    def verdict(self, rows: Rows) -> Verdict:
        missing = [row["number"] for row in rows if not _is_demonstrated(row)]
        kinds = Counter(row["severity"] for row in rows if _is_demonstrated(row))
        counts = ", ".join(f"{kinds[kind]} {words}" for kind, words in SEVERITY_LABELS.items())
        computed = sum(row["method"] == "computed" for row in rows)
        measured = (
            f"{len(rows) - len(missing)} of {len(rows)} come out as corrected ({counts}); "
            f"{computed} by a computation of their own, {len(rows) - computed} by worked arithmetic"
        )
        text = f"{measured}; not shown: {', '.join(map(str, missing))}" if missing else measured
        return self.verdict_from([exact(not missing)], text, outcome="holds as corrected")

    def chart(self, rows: Rows) -> Chart:
        kinds = {row["severity"] for row in rows if row["printed_value"] > 0 and row["truth"] > 0}
        bands = [_band(rows, kind, words) for kind, words in SEVERITY_LABELS.items() if kind in kinds]
        lines = reference_lines((1, levels(rows, "number")[-1]), {"exact value": lambda _: 1.0})
        return self.make_chart("printed value / exact value", bands, lines, x_label="number of the erratum", log="y")

    def page_table(self, rows: Rows) -> tuple[tuple[str, ...], ...]:
        heads = ("erratum", "printed", "correct", "quantity", "printed value", "corrected value", "exact value")
        lines = [
            (
                f"{row['number']}, L{row['line']}: {SEVERITY_LABELS[row['severity']]}",
                row["printed"],
                row["correct"],
                row["quantity"],
                *(f"{row[name]:.5g}" for name in ("printed_value", "corrected_value", "truth")),
            )
            for row in sorted(rows, key=lambda row: row["number"])
        ]
        return heads, *lines

    def faults(self) -> dict[str, Overrides]:
        first, *rest = self.errata
        return {
            "one printed value taken for right": {
                "errata": (_with_evidence(first, lambda e: e._replace(printed=e.corrected)), *rest)
            },
            "printed and corrected exchanged": {
                "errata": tuple(
                    _with_evidence(one, lambda e: Evidence(e.corrected, e.printed, e.truth)) for one in self.errata
                )
            },
            "the truth by the printed formula": {
                "errata": tuple(_with_evidence(one, lambda e: e._replace(truth=e.printed)) for one in self.errata)
            },
        }


def _with_evidence(erratum: Erratum, change: Callable[[Evidence], Evidence]) -> Erratum:
    return erratum._replace(evidence=lambda: change(erratum.evidence()))


def _erratum_row(erratum: Erratum) -> Row:
    """Return an erratum as a row: its fields, and the numbers of its evidence."""
    printed, corrected, truth = map(float, erratum.evidence())
    names = ("number", "line", "severity", "printed", "correct", "quantity", "method", "relation")
    values = {"printed_value": printed, "corrected_value": corrected, "truth": truth}
    shown = demonstrates(erratum.relation, printed, corrected, truth)
    return {**{name: getattr(erratum, name) for name in names}, **values, "shown": shown}


def _band(rows: Rows, kind: str, words: str) -> Band:
    drawn = [row for row in rows if row["severity"] == kind and row["printed_value"] > 0 and row["truth"] > 0]
    x = np.array([row["number"] for row in drawn], dtype=np.float64)
    ratios = np.array([row["printed_value"] / row["truth"] for row in drawn])
    return spikes(words, x, ratios, base=1.0)
