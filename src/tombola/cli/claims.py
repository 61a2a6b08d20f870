"""`tombola claims`: list what `tombola reproduce` measures."""

from tombola.cli.printing import grid, show


def claims() -> None:
    """List the claims that `tombola reproduce` measures."""
    from tombola.paper import CLAIMS

    table = grid("claim", "source", "statement", "expected")
    for kind in CLAIMS:
        table.add_row(kind.name, kind.source, kind.statement, kind.expected)
    show(table)
