"""`tombola cite`: the theorem behind a bound, and BibTeX of paper and software."""

import json
from typing import Annotated

import typer

from tombola import __version__
from tombola.cli.options import Json
from tombola.cli.printing import show

# BibTeX entries; the same facts are in CITATION.cff. The title is that of the proceedings: the preprint has no hyphen.
_PAPER = """@inproceedings{bernasconi2025random,
  title = {Online Learning in the Random-Order Model},
  author = {Bernasconi, Martino and Celli, Andrea and Colini Baldeschi, Riccardo and Fusco, Federico and
    Leonardi, Stefano and Russo, Matteo},
  booktitle = {Proceedings of the 42nd International Conference on Machine Learning},
  series = {Proceedings of Machine Learning Research},
  volume = {267},
  pages = {3899--3919},
  publisher = {PMLR},
  year = {2025},
  url = {https://proceedings.mlr.press/v267/bernasconi25b.html},
}"""
_SOFTWARE = f"""@software{{tombola,
  title = {{tombola: learn over a finite pool drawn in random order}},
  author = {{{{the tombola authors}}}},
  version = {{{__version__}}},
}}"""


def cite(
    learner: Annotated[str, typer.Argument(help="A learner, such as Simulation: print the theorem of its bound.")] = "",
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Print how to cite the paper, the software, and the theorem of a learner's bound."""
    source = _source(learner) if learner else ""
    if as_json:
        theorem = {"learner": learner, "theorem": source or None} if learner else {}
        typer.echo(json.dumps({**theorem, "paper": _PAPER, "software": _SOFTWARE}))
        return
    if learner:
        show(f"{learner}: {source or 'no bound is proved'}.", soft=True)
        show("")
    typer.echo(f"{_PAPER}\n{_SOFTWARE}")
    if not learner:
        show("\nThe theorem behind the bound of a learner:")
        show("  tombola cite Simulation", soft=True)
        show("The theorem behind a claim of the paper:")
        show("  tombola claims", soft=True)


def _source(name: str) -> str:
    """Return the theorem of a learner's bound; ParameterError if there is no such learner."""
    from tombola import learners
    from tombola.bounds.sources import bound_source
    from tombola.errors import ParameterError

    kind = name.partition("(")[0].strip()
    found = getattr(learners, kind, None) if kind in learners.__all__ else None
    if not isinstance(found, type):
        raise ParameterError(f"cite: expected the name of a learner, got {name!r}; tombola learners lists them.")
    return bound_source(found)
