"""Sphinx configuration; `make docs` builds the site."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "studies"))

import figures
import gallery
import sphinx_hooks

import tombola

project = "tombola"
author = "The tombola authors"
version = release = tombola.__version__

# myst_nb includes myst_parser, and shows notebooks.
extensions = ["myst_nb", "sphinx.ext.autodoc"]
# Outputs are stored in the notebooks; a test executes them.
nb_execution_mode = "off"
exclude_patterns = ["_build", "made", "extra"]
html_theme = "furo"
html_title = f"tombola {version}"
# Pages that the build makes: the gallery and, after `make reproduce`, its page.
MADE = Path(__file__).parent / "made"
sphinx_hooks.write_mark(MADE / "mark")
(MADE / "extra").mkdir(parents=True, exist_ok=True)
html_static_path = ["static", "made/mark"]
html_extra_path = ["extra", "made/extra"]
html_favicon = "made/mark/favicon.svg"
html_theme_options = {"light_logo": "mark.svg", "dark_logo": "mark-dark.svg"}
html_css_files = ["tables.css"]
# Smart quotes turn the two dashes of an option into one, which cannot be copied.
smartquotes = False
html_show_copyright = html_show_sphinx = html_copy_source = False
# Both have a contrast of at least 4.5 on the background of code.
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "github-dark"

# Docstrings write `names` in single backquotes, like Markdown.
default_role = "literal"
# Preserving defaults needs the source of a signature, which generated signatures do not have.
autodoc_preserve_defaults = False
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 100
myst_enable_extensions = ["colon_fence", "dollarmath"]
# A dollar beside a digit or a space is a currency, not a formula.
myst_dmath_allow_digits = myst_dmath_allow_space = False
# Formulas become MathML at build time: no script, no network.
html_math_renderer = "mathml"
myst_heading_anchors = 3


def setup(app):
    """Draw the pictures, and connect the hooks that fill in public names and errata."""
    figures.draw_all(MADE)
    gallery.write_pages(MADE / "extra" / "gallery")
    sphinx_hooks.copy_reproduction(MADE / "extra" / "reproduction")
    app.add_html_math_renderer(
        "mathml", (sphinx_hooks.inline_formula, None), (sphinx_hooks.displayed_formula, None)
    )
    app.connect("source-read", sphinx_hooks.fill)
    app.connect("autodoc-process-docstring", sphinx_hooks.protect)
    app.connect("autodoc-process-signature", sphinx_hooks.shorten)
    app.connect("autodoc-skip-member", sphinx_hooks.skip)
    # Before Sphinx collects the pictures (priority 500).
    app.connect("doctree-read", sphinx_hooks.dark_versions, priority=400)
    app.connect("env-check-consistency", sphinx_hooks.check)
    app.connect("build-finished", sphinx_hooks.make_accessible)
