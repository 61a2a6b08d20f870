"""Tables as LaTeX, for papers: booktabs rules, numbers aligned to the right."""

from collections.abc import Sequence

from tombola.report.pgf import tex_text


def table_to_latex(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    r"""Return a `tabular` of a table; the preamble needs `\usepackage{booktabs}`.

    A column is aligned to the right if all of its cells are numbers. Numbers have four digits.

    >>> print(table_to_latex(["learner", "regret"], [["Hedge", 1.23456], ["FTL", 2]]))
    \begin{tabular}{lr}
    \toprule
    learner & regret \\
    \midrule
    Hedge & 1.235 \\
    FTL & 2 \\
    \bottomrule
    \end{tabular}
    """
    numeric = [
        bool(rows) and all(isinstance(row[place], int | float) for row in rows)
        for place in range(len(head))
    ]
    columns = "".join("r" if is_numeric else "l" for is_numeric in numeric)
    lines = [_line(head), r"\midrule", *(_line(row) for row in rows)]
    body = "\n".join([r"\toprule", *lines, r"\bottomrule"])
    return f"\\begin{{tabular}}{{{columns}}}\n{body}\n\\end{{tabular}}"


def _line(cells: Sequence[object]) -> str:
    texts = [f"{cell:.4g}" if isinstance(cell, float) else tex_text(str(cell)) for cell in cells]
    return " & ".join(texts) + r" \\"
