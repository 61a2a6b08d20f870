"""`tombola claims`: list the claims that `tombola reproduce` checks."""

import json

import typer

from tombola.cli.options import Json
from tombola.cli.printing import show


def claims(as_json: Json = False) -> None:  # noqa: FBT002 - a flag
    """List the claims that `tombola reproduce` checks."""
    from tombola.paper import CLAIMS

    if as_json:
        fields = ("name", "source", "statement", "expected")
        typer.echo(json.dumps([{field: str(getattr(claim, field)) for field in fields} for claim in CLAIMS]))
        return
    for claim in CLAIMS:
        show(f"{claim.name}  ({claim.source}; expected: {claim.expected})", soft=True)
        show(claim.statement, indent=4)
    show("\nCheck one claim:")
    show(f"  tombola reproduce --claims {CLAIMS[0].name}", soft=True)
