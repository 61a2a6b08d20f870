"""The documentation: how-tos print what their pages show, and the reference has every public name."""

import doctest
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

import tombola
from conftest import Run
from tombola.paper.errata import ERRATA
from tombola.report import figures

DOCS = Path(__file__).parent.parent / "docs"
SCRIPTS = sorted(DOCS.glob("howto/*.py"))
SLOW = [
    "other_library",
    "route_prompts",
    "leaderboard",
    "answers_on_file",
    "race_models",
    "random_answers",
    "judge",
]
PAGES = sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)


def test_how_tos_have_page_and_output() -> None:
    assert len(SCRIPTS) >= 6
    pages = [page.read_text(encoding="utf-8") for page in DOCS.glob("howto/*.md")]
    for script in SCRIPTS:
        [page] = [page for page in pages if f"{{literalinclude}} {script.name}" in page]
        assert f"{{literalinclude}} output/{script.stem}.txt" in page


@pytest.mark.parametrize(
    "script",
    [pytest.param(one, marks=[pytest.mark.full] if one.stem in SLOW else []) for one in SCRIPTS],
    ids=lambda script: str(script.stem),
)
def test_how_to_output_matches_page(script: Path, run_python: Run) -> None:
    """After a change that is meant: python docs/studies/howto_output.py."""
    ran = run_python(str(script), COLUMNS="80")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == (DOCS / "howto" / "output" / f"{script.stem}.txt").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_no_formula_is_broken_into_list(page: Path) -> None:
    """A line that begins with a plus is an item of a list for Markdown; our lists have other signs."""
    assert not re.findall(r"^ {0,3}\+ .*", page.read_text(encoding="utf-8"), re.MULTILINE)


def test_learners_of_contributing_pass_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (DOCS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    (tmp_path / "twenty_lines.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    own = importlib.import_module("twenty_lines")
    tombola.check_learner(own.Imitate())
    tombola.check_learner(own.Curious())


def test_pages_name_existing_objects_only() -> None:
    """`tombola.something` in a page is public, a module, or a name of one."""
    for page in PAGES:
        for path in re.findall(r"`tombola\.([a-zA-Z_.]+?)[`(]", page.read_text(encoding="utf-8")):
            value: Any = tombola
            for part in path.split("."):
                if (
                    importlib.util.find_spec(f"{value.__name__}.{part}")
                    if hasattr(value, "__path__")
                    else None
                ):
                    value = importlib.import_module(f"{value.__name__}.{part}")
                else:
                    assert hasattr(value, part), f"{page.name}: tombola.{path}"
                    value = getattr(value, part)


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if ">>> " in page.read_text(encoding="utf-8")],
    ids=lambda page: str(page.stem),
)
def test_examples_of_page_are_true(page: Path) -> None:
    tried = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert tried.attempted > 0
    assert tried.failed == 0


def test_no_page_names_this_machine() -> None:
    for page in [*PAGES, *SCRIPTS, *DOCS.glob("*.py"), *DOCS.glob("howto/output/*")]:
        assert not re.search(r"/(home|root|work|tmp|Users)/", page.read_text(encoding="utf-8")), (
            page
        )


@pytest.mark.full
def test_site_builds_without_warnings(tmp_path: Path, run_python: Run) -> None:
    built = run_python(
        *(
            "-W",
            "default",
            "-m",
            "sphinx",
            "-q",
            "-W",
            "--keep-going",
            "-b",
            "html",
            str(DOCS),
            str(tmp_path / "site"),
        ),
        "-d",
        str(tmp_path / "doctrees"),
    )
    assert built.returncode == 0, built.stderr
    reference = "".join(
        page.read_text(encoding="utf-8") for page in tmp_path.glob("site/reference/*.html")
    )
    names = {*tombola.__all__} - {*tombola._MODULES}
    missing = [name for name in names if f'id="tombola.{name}"' not in reference]
    modules = [name for name in missing if f'id="module-tombola.{name}"' in reference]
    assert sorted(missing) == sorted(modules)
    bounds = [
        name for name in tombola.bounds.__all__ if f'id="tombola.bounds.{name}"' not in reference
    ]
    assert not bounds
    errata = (tmp_path / "site" / "errata.html").read_text(encoding="utf-8")
    assert errata.count("<tr") == 1 + len(ERRATA)
    assert str(DOCS.parent) not in reference
    for page in tmp_path.glob("site/theory/*.html"):
        for said in re.findall(r"<em>(.*?)</em>", page.read_text(encoding="utf-8"), re.DOTALL):
            whole = re.fullmatch(r"[A-Z].*\.", said, re.DOTALL)  # a theorem in a sentence
            assert whole or not re.search(r"[_^∫]", said), (
                f"{page.name}: a formula became emphasis: {said}"
            )


def _study(name: str) -> Any:
    """Return a module of docs/studies."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "studies" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


console = _study("console_output")


@pytest.mark.parametrize("page", console.pages(), ids=lambda page: str(page.stem))
def test_page_shows_the_output_of_its_commands(page: Path, tmp_path: Path) -> None:
    """After a change that is meant: python docs/studies/console_output.py."""
    text = page.read_text(encoding="utf-8")
    assert console.render(text, tmp_path) == text
    if page.stem == "tutorial":
        assert len(console.BLOCK.findall(text)) >= 8
        for name, draw in console.PICTURES.items():
            stored = (DOCS / "pictures" / f"{name}.svg").read_bytes()
            assert figures.figure_bytes(draw(tmp_path), "svg") == stored, name


def test_markup_of_the_theme_is_mended_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    mend = importlib.import_module("accessible_html").mend
    page = "\n".join(
        [
            '<aside class="sidebar-drawer"><p class="caption" role="heading">Start</p></aside>',
            '<article role="main" id="main"><aside class="toc-drawer"></aside>',
            '<th class="head"><p></p></th><th></th><th>name</th>',
            '<pre>short</pre><pre id="codecell0"><span></span>' + "x" * 60 + "</pre>",
            '<dl>\n<dd><em class="sig-param">rows</em>,</dd>\n</dl>',
            '<div class="table-wrapper docutils container"><table></table></div>',
            '<div class="formula"><math><mi>x</mi></math></div>',
            '<div class="formula"><math><mi>' + "x" * 30 + "</mi></math></div>",
        ]
    )
    mended = mend(page)
    assert mended.count('aria-level="2"') == 1
    assert mended.count("aria-label=") == 2
    assert mended.count("<th") == 1
    assert mended.count("<h1>") == 1
    assert mended.count('<pre tabindex="0"') == 1
    assert "<pre>short" in mended
    assert "<dl>" not in mended
    assert '<span class="sig-line"><em class="sig-param">rows' in mended
    assert mended.count('tabindex="0"') == 3
    # A second build mends pages that were mended already.
    assert mend(mended) == mended


def test_pages_of_first_contact_have_commands() -> None:
    assert {page.name for page in console.pages()} >= {"README.md", "index.md", "tutorial.md"}


def test_navigation_has_five_captions() -> None:
    captions = re.findall(r":caption: (.*)", (DOCS / "index.md").read_text(encoding="utf-8"))
    assert captions == ["Start", "Do", "Look up", "Understand", "The paper and the project"]


def test_figures_of_validation_are_drawn_from_the_stored_result() -> None:
    """After a change that is meant: python docs/studies/validation.py."""
    study = _study("validation")
    for name in ("level", "calls"):
        stored = (DOCS / "pictures" / f"validation-{name}.svg").read_bytes()
        assert figures.figure_bytes(getattr(study, f"{name}_figure")(), "svg") == stored
    result = json.loads(study.RESULT.read_text(encoding="utf-8"))
    # 1,000 shuffles at level 5 %: more than 73 wrong ones have probability below 1 in 1,000.
    assert all(row["race"][0] <= 73 for row in result.values())
