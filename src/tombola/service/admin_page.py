"""The page of admins: pause and download files, add and remove tokens."""

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tombola.service import parsing
from tombola.service.rendering import page, read_form
from tombola.service.tokens import MAX_NAME_LENGTH, ROLES, Identity

if TYPE_CHECKING:
    from tombola.service.app import Service


async def show_admin(service: "Service", request: Request, identity: Identity) -> Response:
    """Return the HTML page of admins: files with their state, and owners of tokens.

    service, request: the service with its files, and the HTTP request.
    identity: name and role of the caller.
    """
    return _admin_page(service, identity)


def _admin_page(service: "Service", identity: Identity, token: str = "", owner: str = "") -> Response:
    files = [("sessions", one) for one in service.sessions.values()] + [
        ("races", one) for one in service.races.values()
    ]
    return page(
        "admin.html",
        files=[{"kind": kind, "name": one.name, "paused": one.paused} for kind, one in files],
        tokens=service.tokens.owners(),
        roles=ROLES,
        you=identity,
        new_token=token,
        owner=owner,
    )


async def pause_file(service: "Service", request: Request, identity: Identity) -> Response:
    """Pause the file named in the path if the form says paused=yes, else resume it.

    Redirects to the page of admins.

    service, request: the service with its files, and the HTTP request.
    identity: name and role of the caller.
    """
    hosted = service.hosted_at(request)
    hosted.pause(paused=(await read_form(request)).get("paused") == "yes")
    return RedirectResponse("/admin", 303)


async def add_token(service: "Service", request: Request, identity: Identity) -> Response:
    """Create a token for the name and role of the form, and return the page with it.

    The token is shown on this page only; just its hash is stored.

    service, request: the service with its files, and the HTTP request.
    identity: name and role of the caller.
    """
    fields = await read_form(request)
    name = parsing.text("name", fields.get("name"), MAX_NAME_LENGTH)
    token = await service.call(service.tokens.add, name, fields.get("role", ""))
    return _admin_page(service, identity, token, name)


async def remove_token(service: "Service", request: Request, identity: Identity) -> Response:
    """Remove the token of the name in the form; redirect to the page of admins.

    An unknown name is ignored. The last admin cannot be removed: 422.

    service, request: the service with its files, and the HTTP request.
    identity: name and role of the caller.
    """
    name = parsing.text("name", (await read_form(request)).get("name"), MAX_NAME_LENGTH)
    await service.call(service.tokens.remove, name)
    return RedirectResponse("/admin", 303)
