"""Templates of the pages, and the fields of their forms."""

from importlib import resources
from typing import Any
from urllib.parse import parse_qs, quote

from jinja2 import Environment, FunctionLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from tombola._formatting import escape_control, plural
from tombola.service import parsing
from tombola.service.problems import ProblemError

# Fields accepted in one form: an outcome of many actions has the most. Bounds the work for a hostile form.
_MAX_FIELDS = 200


def template_text(name: str) -> str:
    """Return the text of a template, style sheet or script of the service.

    name: file name in the folder `templates`.
    """
    return (resources.files("tombola.service") / "templates" / name).read_text(encoding="utf-8")


_ENVIRONMENT = Environment(
    autoescape=True,
    loader=FunctionLoader(template_text),
    undefined=StrictUndefined,
    trim_blocks=True,
    finalize=lambda value: escape_control(value) if type(value) is str else value,
)
_ENVIRONMENT.filters |= {"path": lambda text: quote(text, safe=""), "plural": plural}


def page(template: str, status: int = 200, **values: Any) -> Response:
    """Render a template as an HTML reply; every value is escaped.

    template: file name in the folder `templates`.
    status: HTTP status.
    values: of its variables; a missing one raises.
    """
    return HTMLResponse(_ENVIRONMENT.get_template(template).render(**values), status)


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a submitted form, each with its last value.

    Raises ProblemError 400 if the body is no form or has more than 200 fields.
    """
    body = await parsing.read_body(request)
    try:
        found = parse_qs(body.decode(), keep_blank_values=True, strict_parsing=bool(body), max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise ProblemError(
            400, "malformed", "form: expected the fields of a form, got something else; reload."
        ) from None
    return {name: values[-1] for name, values in found.items()}


def position(share: float) -> float:
    """Return a share of the width as per cent for an SVG, clipped to 0 to 100.

    >>> position(0.5), position(1.5)
    (50.0, 100.0)
    """
    return round(100 * min(max(share, 0.0), 1.0), 2)
