"""Write the tables of docs/from_paper_to_code.md from `tombola.paper.contents`."""

import re
from pathlib import Path

from tombola.paper.contents import to_markdown

PAGE = Path(__file__).parents[1] / "from_paper_to_code.md"


def with_tables(text: str) -> str:
    """Return the page with each table, after its mark `<!-- kind -->`, made anew."""
    return re.sub(
        r"<!-- (\w+) -->\n\n(?:\|.*\n)*\n*",
        lambda mark: f"<!-- {mark[1]} -->\n\n{to_markdown(mark[1])}\n\n",
        text,
    )


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
