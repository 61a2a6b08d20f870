"""Page `from_paper_to_code`: it names existing tests and bounds, and every claim with its number."""

import re
from pathlib import Path

from tombola import bounds
from tombola.paper.registry import CLAIMS, EXTENSIONS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "from_paper_to_code.md").read_text(encoding="utf-8")


def test_tests_exist() -> None:
    paths = re.findall(r"[\w/]+\.py", PAGE)
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / "tests" / path).exists()] == []


def test_bounds_exist() -> None:
    names = [name for name in re.findall(r"`([a-z_0-9]+)`", PAGE) if "_" in name]
    assert [name for name in names if not hasattr(bounds, name)] == []


def test_claims_are_listed_with_their_number() -> None:
    for claim in CLAIMS:
        assert claim.name in PAGE
        number = re.match(r"(Lemma|Theorem|Corollary) [A-C\d]\.\d", claim.source)
        if claim not in EXTENSIONS and number:
            assert f"| {number.group()} |" in PAGE
