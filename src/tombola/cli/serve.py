"""The command `tombola serve`: sessions and races over HTTP."""

from pathlib import Path
from typing import Annotated

import typer

from tombola._formatting import note_line, plural
from tombola.cli.printing import show, show_lines
from tombola.cli.session import ID_HELP
from tombola.cli.table_options import parse_names
from tombola.errors import ParameterError

# Port of the server if --port is left out.
_DEFAULT_PORT = 8787

# Owner of the token that is drawn when other machines reach a server without one.
_DRAWN_OWNER = "admin"


def serve(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Session and race files. Default with --list: a session file beside the list."
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--list", help="Start a session on this list if FILE is new: Excel, CSV, TSV or .txt."
        ),
    ] = None,
    actions: Annotated[
        str, typer.Option(help="With --list: names of the actions, separated by commas.")
    ] = "",
    learner: Annotated[
        str, typer.Option(help="With --actions: the learner. Default: Thrifty.")
    ] = "",
    column: Annotated[str, typer.Option("--id", "--column", help=ID_HELP)] = "",
    sheet: Annotated[str, typer.Option(help="The sheet of an Excel file.")] = "",
    outcomes: Annotated[
        str,
        typer.Option(
            help="Buttons of the page: 'sold=1,later=0.5,no=0', in the unit of the session."
        ),
    ] = "",
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than 127.0.0.1 need a token.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)
    ] = _DEFAULT_PORT,
    tokens: Annotated[
        Path | None, typer.Option(help="File of the tokens. Default: FILE.tokens.")
    ] = None,
    add_token: Annotated[
        str, typer.Option(help="NAME:ROLE (reader, worker, admin): print a new token, and exit.")
    ] = "",
    proxy_headers: Annotated[
        bool,
        typer.Option(
            "--proxy-headers",
            help="Trust X-Forwarded headers of a reverse proxy on this machine; needs a token.",
        ),
    ] = False,
) -> None:
    """Serve session and race files over HTTP, with a page and a JSON API.

    Runs until it is stopped, such as by Ctrl-C. FILES are session and race files.
    """
    try:
        from tombola.service.server import bind, check_host, is_local, open_service, run
        from tombola.service.tokens import TokenStore
    except ImportError as error:
        raise ParameterError(
            f"serve: expected the package {error.name}, found none; write pip install "
            "'tombola[serve]'."
        ) from None

    if not files:
        files = [_default_file(table)]
    store = TokenStore(tokens if tokens is not None else Path(f"{files[0]}.tokens"))
    if add_token:
        user, _, role = add_token.rpartition(":")
        token = store.add(user, role)
        show(f"token of {user} ({role}), shown only now:", soft=True)
        typer.echo(token)
        return
    check_host(len(store), proxy_headers=proxy_headers)
    if not files[0].exists() and (table is not None or actions):
        _start_session(files[0], table, actions, learner, column, sheet)
    service = open_service(files, store, _outcomes(outcomes))
    listener = bind(host, port)
    drawn = ""
    if not is_local(host) and not len(store):
        # Without a token every machine could write.
        drawn = store.add(_DRAWN_OWNER, "admin")
    host_text = f"[{host}]" if ":" in host else host
    address = f"http://{host_text}:{listener.getsockname()[1]}"

    def announce() -> None:
        show(f"serving {', '.join(map(str, files))} on {address}", soft=True)
        show(
            "token: required"
            if len(store)
            else "token: none; every user of this machine may write. A proxy here needs a token: "
            "--add-token NAME:admin",
            soft=True,
        )
        if drawn:
            show(f"token of {_DRAWN_OWNER} (admin), drawn now, shown only now:", soft=True)
            typer.echo(drawn)

    run(service, listener, proxy_headers=proxy_headers, on_start=announce)


def _default_file(table: Path | None) -> Path:
    """Return the session file beside a list: customers.run for customers.xlsx."""
    if table is None:
        raise ParameterError(
            "serve: expected a session or race file, got none; write serve FILE, or start a "
            "session on a list with "
            "serve --list customers.xlsx --actions call,letter."
        )
    return table.with_suffix(".run")


def _outcomes(text: str) -> dict[str, str]:
    """Return the values of the buttons by their texts.

    >>> _outcomes("sold=1, later=0.5")
    {'sold': '1', 'later': '0.5'}
    """
    pairs = [name.rpartition("=") for name in parse_names(text, keep_blank=True)]
    if not all(name.strip() and value.strip() for name, _, value in pairs):
        raise ParameterError(
            f"--outcomes: expected texts with values, got {text!r}; write --outcomes "
            "'sold=1,later=0.5,no=0'."
        )
    return {name.strip(): value.strip() for name, _, value in pairs}


def _start_session(
    path: Path, table: Path | None, actions: str, learner: str, column: str, sheet: str
) -> None:
    from tombola.learners.spec import parse_learner
    from tombola.tables.cells import read_row_list
    from tombola.worklists.session_file import SessionFile

    if table is None or not actions:
        missing = "--list customers.xlsx" if table is None else "--actions call,letter"
        raise ParameterError(
            f"serve: expected the list and the actions of the new session {path}, got one of "
            f"them; add {missing}."
        )
    row_list = read_row_list(table, column or None, sheet or None)
    SessionFile.start(
        path,
        row_list.ids,
        parse_names(actions, keep_blank=True),
        parse_learner(learner or "Thrifty"),
        columns={
            name: [row[at] for row in row_list.cells] for at, name in enumerate(row_list.columns)
        },
        id_column=row_list.id_column,
        delimiter=row_list.delimiter,
    ).close()
    show(f"{path}: started with {plural(len(row_list.ids), 'row')} in random order", soft=True)
    show_lines(note_line(note) for note in row_list.notes)
