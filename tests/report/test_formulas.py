"""Formulas as MathML: well-formed, escaped, and nothing of the text is lost."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tombola.paper.errata import ERRATA
from tombola.paper.registry import CLAIMS
from tombola.report.formulas import typeset


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("T^2", "<math><msup><mi>T</mi><mn>2</mn></msup></math>"),
        ("ε_i", "<math><msub><mi>ε</mi><mi>i</mi></msub></math>"),
        (
            "2^(i+1)",
            "<math><msup><mn>2</mn><mrow><mi>i</mi><mo>+</mo><mn>1</mn></mrow></msup></math>",
        ),
        (
            "√(2/π) k",
            "<math><msqrt><mrow><mn>2</mn><mo>/</mo><mi>π</mi></mrow></msqrt></math> k",
        ),
        (
            "(a+b)^2",
            "<math><msup><mrow><mo>(</mo><mi>a</mi><mo>+</mo><mi>b</mi><mo>)</mo></mrow>"
            "<mn>2</mn></msup></math>",
        ),
        ("T^−5", "<math><msup><mi>T</mi><mrow><mo>−</mo><mn>5</mn></mrow></msup></math>"),
        ("a < b & c", "a &lt; b &amp; c"),
        ("x^", "x^"),
        ("_y √", "_y √"),
        ("√(T", "√(T"),
        ("", ""),
    ],
)
def test_formula(text: str, expected: str) -> None:
    assert str(typeset(text)) == expected


def test_roots_of_powers_are_nested() -> None:
    code = str(typeset("5√(2^i ln T)"))
    assert code.startswith("5<math><msqrt><mrow><msup><mn>2</mn><mi>i</mi></msup>")


ALL = [erratum.printed for erratum in ERRATA] + [claim.statement for claim in CLAIMS]


@pytest.mark.parametrize("text", ALL, ids=range(len(ALL)))
def test_every_formula_of_the_pages_is_well_formed(text: str) -> None:
    tree = ElementTree.fromstring(f"<p>{typeset(text)}</p>")
    assert without_signs("".join(tree.itertext())) == without_signs(text)


def without_signs(text: str) -> str:
    """The text without what typesetting draws: signs of powers, roots, their brackets, blanks."""
    return re.sub(r"[\s^_√()]", "", text)


@given(st.text(alphabet="ab12^_√()[]{}<>&−+/ é̂αβ", max_size=40))
def test_any_text_is_well_formed_and_complete(text: str) -> None:
    tree = ElementTree.fromstring(f"<p>{typeset(text)}</p>")
    assert without_signs("".join(tree.itertext())) == without_signs(text)
