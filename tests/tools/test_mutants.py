"""Named mutants of tools/mutants.py must stay applicable."""

import ast
import importlib.util
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "mutants.py"


def test_named_mutants_apply_and_have_tests() -> None:
    """Without this, `make mutants` would fail only at night after a rename."""
    spec = importlib.util.spec_from_file_location("mutants", TOOL)
    assert spec is not None
    assert spec.loader is not None
    mutants = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mutants)
    for description, (file, before, after, test) in mutants.NAMED.items():
        source = (mutants.SOURCE / file).read_text(encoding="utf-8")
        assert source.count(before) == 1, f"{description}: the text is not in {file} exactly once"
        ast.parse(source.replace(before, after))
        assert mutants.find_test(test)
