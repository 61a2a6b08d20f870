"""All errata of the paper (`tombola.paper.errata`) as one claim."""

from collections import Counter
from collections.abc import Callable, Iterator

from tombola._types import Seed
from tombola.paper.base import Claim, Overrides, Unit, Verdict
from tombola.paper.curves import reference_lines, spikes
from tombola.paper.errata import ERRATA, Erratum, Evidence
from tombola.paper.errata.base import SEVERITY_LABELS, demonstrates
from tombola.paper.pvalues import exact
from tombola.paper.rows import Row, Rows, levels, matching, select
from tombola.report.chart import Chart

# Columns of the numbers of an erratum.
_VALUES = ("printed_value", "corrected_value", "truth")


def _is_demonstrated(row: Row) -> bool:
    return demonstrates(row["relation"], row["printed_value"], row["corrected_value"], row["truth"])


class Errata(Claim, name="errata", expected="holds as corrected"):
    """Printed and corrected values of every erratum against the exact values.

    Title: Printed values divided by exact values
    Source: throughout (L210-L929)
    Statement: Wherever the paper and its corrected form differ, the corrected form is true.
    Meaning: The theorems of the paper hold with other constants, except for the classification
        bound and its radius when the dimension is large, and the constant of the distance to fresh
        samples.
    Limits: Passes if, for every erratum, the printed value is wrong or too weak compared with the
        exact value, and the corrected value is right, within 1 %.
    Alt: Upright lines, one for each erratum, from 1 to the printed value over the exact one; most
        are within a factor of ten of it, the worst a factor of a thousand away.
    """

    errata: tuple[Erratum, ...] = ERRATA

    def units(self, *, full: bool) -> list[Unit]:
        return [{"number": number} for number in sorted(erratum.number for erratum in self.errata)]

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        names = (
            "number",
            "line",
            "severity",
            "printed",
            "correct",
            "quantity",
            "method",
            "relation",
        )
        for erratum in self.errata:
            if erratum.number == unit["number"]:
                values = dict(zip(_VALUES, map(float, erratum.evidence()), strict=True))
                row = {**{name: getattr(erratum, name) for name in names}, **values}
                yield {**row, "shown": _is_demonstrated(row)}

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
        bands = []
        for kind, words in SEVERITY_LABELS.items():
            drawn = [
                row
                for row in matching(rows, severity=kind)
                if row["printed_value"] > 0 and row["truth"] > 0
            ]
            if drawn:
                ratios = select(drawn, "printed_value") / select(drawn, "truth")
                bands.append(spikes(words, select(drawn, "number"), ratios, base=1.0))
        lines = reference_lines((1, levels(rows, "number")[-1]), {"exact value": lambda _: 1.0})
        return self.make_chart(
            "printed value / exact value", bands, lines, x_label="number of the erratum", log="y"
        )

    def page_table(self, rows: Rows) -> tuple[tuple[str, ...], ...]:
        heads = (
            "erratum",
            "printed",
            "correct",
            "quantity",
            "printed value",
            "corrected value",
            "exact value",
        )
        lines = [
            (
                f"{row['number']}, L{row['line']}: {SEVERITY_LABELS[row['severity']]}",
                row["printed"],
                row["correct"],
                row["quantity"],
                *(f"{row[name]:.5g}" for name in _VALUES),
            )
            for row in sorted(rows, key=lambda row: row["number"])
        ]
        return heads, *lines

    def faults(self) -> dict[str, Overrides]:
        def wrong(count: int, change: Callable[[Evidence], Evidence]) -> Overrides:
            def changed(erratum: Erratum) -> Erratum:
                return erratum._replace(evidence=lambda: change(erratum.evidence()))

            return {"errata": (*map(changed, self.errata[:count]), *self.errata[count:])}

        every = len(self.errata)
        return {
            "one printed value taken for right": wrong(
                1, lambda e: e._replace(printed=e.corrected)
            ),
            "printed and corrected exchanged": wrong(
                every, lambda e: Evidence(e.corrected, e.printed, e.truth)
            ),
            "the truth by the printed formula": wrong(every, lambda e: e._replace(truth=e.printed)),
        }
