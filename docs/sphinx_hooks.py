"""Sphinx hooks: fill pages, escape docstrings, write formulas as MathML."""

import importlib
import inspect
import re
import shutil
from functools import cache
from importlib import resources
from pathlib import Path

import accessible_html
import jinja2
from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

import tombola
from tombola.paper.errata.base import SEVERITY_LABELS
from tombola.report.formulas import typeset

KERNELS = ["init", "act", "mix", "observe", "needs_plan", "plan"]
FILLED = ("reference/", "errata", "commands", "reproduce")
# The page of `make reproduce`, if it was made before the site.
REPRODUCTION = Path(__file__).parents[1] / "reproduction"
log = logging.getLogger(__name__)
PUBLIC = {
    f"tombola.{home}": [name for name, other in tombola._HOME.items() if other == home]
    for home in tombola._HOME.values()
}


def fill(app, page, source):
    """Render the Jinja templates of the reference, the errata and the commands."""
    if page.startswith(FILLED):
        space = jinja2.Environment(
            undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        space.filters["safe_cell"] = safe_cell
        space.filters["formula_cell"] = formula_cell
        source[0] = space.from_string(source[0]).render(
            names=names,
            module=module,
            remaining=remaining,
            errata=errata,
            SEVERITY_LABELS=SEVERITY_LABELS,
            number=number,
            commands=commands,
            claims=claims,
            has_reproduction=(REPRODUCTION / "index.html").exists(),
        )


def write_mark(folder):
    """Write the mark as favicon, and as logo for light and for dark pages."""
    folder.mkdir(parents=True, exist_ok=True)
    source = resources.files("tombola.report") / "templates" / "mark.svg"
    mark = source.read_text(encoding="utf-8")
    (folder / "favicon.svg").write_text(mark, encoding="utf-8")
    # A logo follows the theme of the page, not that of the system.
    style, dark = re.fullmatch(
        r".*<style>(.*?)@media\(prefers-color-scheme:dark\)\{(.*?\})\}</style>.*", mark, re.DOTALL
    ).groups()
    for name, rules in {"mark.svg": style, "mark-dark.svg": style + dark}.items():
        text = re.sub(r"<style>.*</style>", f"<style>{rules}</style>", mark, flags=re.DOTALL)
        (folder / name).write_text(text, encoding="utf-8")


def copy_reproduction(folder):
    """Copy the page of `make reproduce` into the site, if there is one."""
    shutil.rmtree(folder, ignore_errors=True)
    if REPRODUCTION.exists():
        shutil.copytree(REPRODUCTION, folder)


@cache
def claims():
    """Return the claims of the paper and the extensions, as the reproduce page lists them."""
    from tombola.paper.registry import CLAIMS

    return list(CLAIMS)


def names(home, *others):
    """Return an overview of the public names of a module, and the directives that document them."""
    exported = getattr(importlib.import_module(home), "__all__", ())
    everything = sorted({*PUBLIC.get(home, ()), *exported, *others}, key=str.lower)
    directives = [_directive(home, name) for name in everything]
    return "\n".join([*_overview(home, everything), *directives])


def _overview(home, everything):
    """Return the lines of a table: each name, linked, with the first line of its docstring."""
    found = importlib.import_module(home)
    values = [(name, getattr(found, name)) for name in everything]
    values = [(name, value) for name, value in values if not inspect.ismodule(value)]
    # A table of one or two lines would only repeat what follows.
    if len(values) < 3:
        return []
    lines = [".. list-table::", "   :widths: 30 70", "   :class: overview", ""]
    for name, value in values:
        path = f"tombola.{name}" if name in tombola.__all__ else f"{home}.{name}"
        role = "class" if inspect.isclass(value) else "func"
        summary = _escaped((inspect.getdoc(value) or "").partition("\n")[0])
        lines += [f"   * - :py:{role}:`~{path}`", f"     - {summary}"]
    return [*lines, ""]


def module(home):
    """Return an overview of a module, and the directive that documents its functions."""
    found = importlib.import_module(home)
    public = getattr(found, "__all__", None) or [
        name
        for name, value in vars(found).items()
        if inspect.isfunction(value) and value.__module__ == home and not name.startswith("_")
    ]
    everything = [name for name in sorted(public) if inspect.isroutine(getattr(found, name))]
    overview = "\n".join(_overview(home, everything))
    return f"{overview}\n\n.. automodule:: {home}\n   :members:\n"


def remaining(title):
    """Return a section with the public names of modules that no page documents."""
    pages = "".join(
        page.read_text(encoding="utf-8") for page in Path(__file__).parent.glob("reference/*.rst")
    )
    modules = [importlib.import_module(name) for name in re.findall(r'names\("([\w.]+)"', pages)]
    documented = {name for one in modules for name in getattr(one, "__all__", ())}
    others = [
        _directive(home, name)
        for home, public in PUBLIC.items()
        if home != "tombola" and f'("{home}"' not in pages
        for name in public
        if name not in documented
    ]
    return "\n".join([title, "-" * len(title), "", *others]) if others else ""


def _directive(home, name):
    value = getattr(importlib.import_module(home), name)
    if inspect.ismodule(value):
        return module(value.__name__)
    path = f"tombola.{name}" if name in tombola.__all__ else f"{home}.{name}"
    if not inspect.getdoc(value):
        log.warning("%s is public and has no docstring", path)
    if not inspect.isclass(value):
        return f".. autofunction:: {path}\n"
    bases = {kind.__name__ for kind in value.__mro__[1:]}
    kernels = bases & {"Learner", "BudgetedLearner", "LabelLearner"} and name != "MixedLearner"
    hidden = f"   :exclude-members: {', '.join(KERNELS)}\n" if kernels else ""
    return f".. autoclass:: {path}\n   :members:\n{hidden}"


@cache
def errata():
    """Return all errata with their computed values."""
    from tombola.paper.claims.errata import Errata

    claim = Errata()
    return [dict(row) for unit in claim.units(full=False) for row in claim.run(unit, seed=0)]


def commands():
    """Return every command of the command line with its options."""
    from typer.main import get_command

    from tombola.cli.app import app

    return list(_commands(get_command(app), ""))


def _commands(command, path):
    inner = getattr(command, "commands", None)
    if inner:
        for name, one in inner.items():
            yield from _commands(one, f"{path} {name}".strip())
        return
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    words = [p.name.upper() if p.required else f"[{p.name.upper()}]" for p in arguments]
    options = [
        {
            "written": " ".join([*p.opts[:1], *([] if p.is_flag else [p.name.upper()])]),
            "help": _help(p),
        }
        for p in command.params
        if p.param_type_name == "option" and p.name != "help"
    ]
    arguments = [{"written": p.name.upper(), "help": _help(p)} for p in arguments]
    yield {
        "name": f"tombola {path}",
        "help": (command.help or "").strip(),
        "usage": " ".join([path, *words, *(["[OPTIONS]"] if options else [])]),
        "options": [*arguments, *options],
    }


def _help(parameter):
    usual = parameter.default
    shown = (
        usual not in (None, "", False) and not parameter.required and parameter.name != "workers"
    )
    return f"{parameter.help or ''}{f' Default: {usual}.' if shown else ''}"


def number(value):
    """Format a number with four significant digits, or as an integer."""
    whole = abs(value) < 1e7 and (value == round(value) or abs(value) >= 1000)
    return f"{value:,.0f}" if whole else f"{value:.4g}"


def safe_cell(text):
    """Escape a text for a cell of a Markdown table."""
    return re.sub(r"([\\`*_{}\[\]<>#|^~$])", r"\\\1", text)


def formula_cell(text):
    """Return a text with its formulas as MathML for a cell of a Markdown table."""
    # A bar would end the cell, also inside of a formula.
    return typeset(text, plain=safe_cell).replace("|", "&#124;").replace("\\&#124;", "&#124;")


def protect(app, what, name, value, options, lines):
    """Escape markup outside `names`, doctests and formulas; mark up lists of parameters."""
    paragraphs, paragraph = [], []
    for line in [*lines, ""]:
        if line.strip():
            paragraph.append(line)
        elif paragraph:
            paragraphs.append(paragraph)
            paragraph = []
    lines[:] = [line for paragraph in paragraphs for line in [*_marked_up(paragraph), ""]]


# An entry of a list of parameters: "name: text" or "name   text".
PARAMETER = re.compile(r"^(\w+(?:, \w+)*)(?:: | {2,})(\S.*)$")


def _marked_up(paragraph):
    first = paragraph[0].lstrip()
    if first.startswith(">>>") or (first.startswith(".. ") and not first.startswith(".. math")):
        return paragraph
    if first.startswith(".. math::"):
        # A long formula goes on in the next line.
        formula = " ".join(line.strip() for line in paragraph).removeprefix(".. math::")
        return [".. math::", "", f"   {formula.strip()}"]
    escaped = [_escaped(line) for line in paragraph]
    entries = [line for line in paragraph if PARAMETER.match(line)]
    # One line with a colon is a sentence, two entries or one with a continuation are a list.
    if PARAMETER.match(paragraph[0]) and (
        len(entries) > 1 or (len(paragraph) > 1 and paragraph[1].startswith("  "))
    ):
        return [_bullet(line, text) for line, text in zip(paragraph, escaped, strict=True)]
    if re.match(r"[*-] |\d+\. ", first) or first.startswith(("|", "=", "+-")):
        return escaped
    return [line.strip() for line in escaped]


def _bullet(line, escaped):
    match = PARAMETER.match(line)
    return f"* ``{match[1]}``: {_escaped(match[2])}" if match else f"  {escaped.strip()}"


def _escaped(text):
    pieces = re.split(r"(`[^`]+`)", text)
    return "".join(
        piece if n % 2 else re.sub(r"([*|\\])|(?<=\w)(_)(?!\w)", r"\\\g<0>", piece)
        for n, piece in enumerate(pieces)
    )


def shorten(app, what, name, value, options, signature, returns):
    """Write ndarray for an ndarray with a dtype, and ... for a default function."""
    return _short(signature), _short(returns)


def _short(text):
    array = (
        r"~?(numpy\.)?ndarray\[tuple\[~?(typing\.)?Any, \.\.\.\], "
        r"~?(numpy\.)?dtype\[~?(numpy\.)?\w+\]\]"
    )
    return text and re.sub(r"<function [\w.<>]+>", "...", re.sub(array, "ndarray", text))


def skip(app, what, name, value, skipped, options):
    """Skip the fields of named tuples, which have no documentation of their own."""
    return True if str(getattr(value, "__doc__", "")).startswith("Alias for field number") else None


def check(app, env):
    """Warn about public names that no page documents; `make docs` makes it an error."""
    documented = set(env.get_domain("py").objects)
    for name in sorted(tombola._HOME):
        if f"tombola.{name}" not in documented:
            log.warning("tombola.%s is public and in no page of the reference", name)


def make_accessible(app, error):
    """Mend the markup of every page that Sphinx wrote."""
    if error is not None or app.builder.format != "html":
        return
    for name in [*app.env.found_docs, "genindex", "py-modindex", "search"]:
        path = Path(app.builder.get_outfilename(name))
        if path.exists():
            page = path.read_text(encoding="utf-8")
            path.write_text(accessible_html.mend(page), encoding="utf-8")


def inline_formula(writer, node):
    """Write an inline formula as MathML, which needs no script and no network."""
    _write_formula(writer, node, as_block=False)


def displayed_formula(writer, node):
    """Write a displayed formula as MathML."""
    _write_formula(writer, node, as_block=True)


# docutils writes a subscript of an accented letter below the letter.
ACCENT_WITH_SUBSCRIPT = re.compile(
    r"<munderover>\s*(<mi>[^<]*</mi>)((?:(?!</?munderover>).)*?)(<mo "
    r'stretchy="false">[ˉˆ~]</mo>)\s*</munderover>',
    re.DOTALL,
)


def _write_formula(writer, node, *, as_block):
    # docutils does not know \dots and \Bigm, which LaTeX does.
    text = re.sub(r"\\dots\b", r"\\ldots", node.astext()).replace(r"\Bigm|", r"\mid")
    try:
        markup = tex2mathml(text, as_block=as_block)
    except (SyntaxError, ValueError) as error:
        log.warning("formula %r: %s", node.astext(), error, location=node)
        raise nodes.SkipNode from error
    markup = ACCENT_WITH_SUBSCRIPT.sub(r'<msub><mover accent="true">\1\3</mover>\2</msub>', markup)
    # Bars are absolute values or sizes; browsers space them like relations.
    markup = markup.replace(
        '<mo stretchy="false">|</mo>', '<mo stretchy="false" lspace="0" rspace="0">|</mo>'
    )
    # Browsers leave no space around the name of a function that has no parentheses.
    space = '<mspace width="0.17em"></mspace>'
    markup = re.sub(r"<mo>&ApplyFunction;</mo>(?!\s*(<mrow>\s*)?<mo)", space, markup)
    markup = re.sub(
        r"(</m(?:i|n|row|sqrt|sub|sup|frac)>\s*)(?=<mi>(?:ln|log|max|min|exp)</mi>)",
        rf"\1{space}",
        markup,
    )
    writer.body.append(f'<div class="formula">{markup}</div>' if as_block else markup)
    raise nodes.SkipNode


def dark_versions(app, doctree):
    """Show the dark version of a picture on dark screens."""
    for image in list(doctree.findall(nodes.image)):
        twin = re.sub(r"\.svg$", "-dark.svg", image["uri"])
        if (Path(app.srcdir) / twin).exists() and twin != image["uri"]:
            dark = image.deepcopy()
            dark["uri"] = twin
            image["classes"].append("only-light")
            dark["classes"].append("only-dark")
            image.parent.insert(image.parent.index(image) + 1, dark)
