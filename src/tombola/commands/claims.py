"""`tombola claims`: list what `tombola reproduce` measures."""

from tombola.commands.printing import grid, show


def claims() -> None:
    """List the claims that `tombola reproduce` measures."""
    from tombola.claims import CLAIMS

    table = grid("claim", "source", "statement", "expected")
    for kind in CLAIMS:
        table.add_row(kind.name, kind.source, kind.statement, kind.expected)
    show(table)
