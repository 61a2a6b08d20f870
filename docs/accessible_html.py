"""Mend the markup of Sphinx and of its theme that screen readers and keyboards cannot use."""

import re

# Longer lines scroll on a phone of 400 pixels.
PHONE_COLUMNS = 38
# Letters and signs of a formula that may be wider than a phone; a fraction is narrower than its text.
PHONE_SIGNS = 24
NAMES_OF_SIDEBARS = {"sidebar-drawer": "Pages of the site", "toc-drawer": "Sections of this page"}
SIGNATURE = re.compile(r"<dl>\n((?:<dd><em class=\"sig-param\">.*</dd>\n)+)</dl>")
CODE = re.compile(r"<pre(?: id=\"[^\"]*\")?>(.*?)</pre>", re.DOTALL)
FORMULA = re.compile(r"<div class=\"formula\">(.*?)</div>", re.DOTALL)
EMPTY_HEAD = re.compile(r"<th((?: class=\"[^\"]*\")?)>(?:<p></p>)?</th>")


def mend(page: str) -> str:
    """Return a page whose captions have levels, sidebars have names, and wide parts take the focus.

    >>> mend('<p class="caption" role="heading">Start</p>')
    '<p class="caption" role="heading" aria-level="2">Start</p>'
    """
    page = page.replace('role="heading">', 'role="heading" aria-level="2">')
    for style, name in NAMES_OF_SIDEBARS.items():
        page = page.replace(
            f'<aside class="{style}">', f'<aside class="{style}" aria-label="{name}">'
        )
    # An empty corner of a table is no heading.
    page = EMPTY_HEAD.sub(r"<td\1></td>", page)
    # Sphinx writes the lines of a signature as definitions without terms.
    page = SIGNATURE.sub(_signature_lines, page)
    page = CODE.sub(_focusable_code, page)
    # A keyboard can scroll only what takes the focus.
    page = re.sub(r'<div class="(table-wrapper[^"]*)">', r'<div class="\1" tabindex="0">', page)
    page = FORMULA.sub(_focusable_formula, page)
    if "<h1" not in page:
        page = re.sub(r'(<article role="main"[^>]*>)', r"\1<h1>Search</h1>", page)
    return page


def _signature_lines(signature: re.Match[str]) -> str:
    lines = signature[1].replace("<dd>", '<span class="sig-line">').replace("</dd>", "</span>")
    return f'<span class="sig-lines">\n{lines}</span>'


def _focusable_code(code: re.Match[str]) -> str:
    text = re.sub(r"<[^>]*>", "", code[1])
    if max(map(len, text.splitlines()), default=0) <= PHONE_COLUMNS:
        return code[0]
    return code[0].replace("<pre", '<pre tabindex="0"', 1)


def _focusable_formula(formula: re.Match[str]) -> str:
    signs = re.sub(r"<[^>]*>|\s|&\w+;", "", formula[1])
    if len(signs) <= PHONE_SIGNS:
        return formula[0]
    return formula[0].replace('"formula"', '"formula" tabindex="0"', 1)
