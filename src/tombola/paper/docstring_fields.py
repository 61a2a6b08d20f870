"""Words: what a docstring says under its headings, so that a statement stands once, beside the code that checks it."""

import inspect
import re
import sys

from tombola.errors import ParameterError


def words_of(docstring: str | None) -> dict[str, str]:
    r"""Return the text under each heading, a line `Heading: text`; lines that are indented go on with it.

    >>> words_of("A sentence.\n\n    Source: Lemma 1\n    Meaning: Some text,\n        and more: of it.\n    ")
    {'source': 'Lemma 1', 'meaning': 'Some text, and more: of it.'}
    """
    if sys.flags.optimize > 1:
        raise ParameterError(
            "claims: expected docstrings, which say what is claimed, but Python leaves them out here; run it without -OO "
            "and PYTHONOPTIMIZE=2."
        )
    found = re.findall(r"^(\w+): (.*(?:\n +\S.*)*)", inspect.cleandoc(docstring or ""), flags=re.MULTILINE)
    return {heading.lower(): " ".join(text.split()) for heading, text in found}
