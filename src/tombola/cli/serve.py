"""The command `tombola serve`: sessions and races over HTTP."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tombola.cli.printing import show

if TYPE_CHECKING:
    from tombola.service.tokens import TokenStore

DEFAULT_PORT = 8787


def serve(
    files: Annotated[list[Path], typer.Argument(help="Session and race files.")],
    table: Annotated[
        Path | None,
        typer.Option("--list", help="CSV or TSV of the rows: its columns are shown on the page."),
    ] = None,
    actions: Annotated[str, typer.Option(help="With --list: start a session with these actions if FILE is new.")] = "",
    learner: Annotated[str, typer.Option(help="With --actions: the learner. Default: Thrifty.")] = "",
    column: Annotated[str, typer.Option(help="With --list: the column with the ids. Default: id.")] = "",
    host: Annotated[str, typer.Option(help="Address to listen on; others than 127.0.0.1 need a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = DEFAULT_PORT,
    tokens: Annotated[Path | None, typer.Option(help="File of the tokens. Default: FILE.tokens.")] = None,
    add_token: Annotated[
        str, typer.Option(help="NAME:ROLE (reader, worker, admin): print a new token, and exit.")
    ] = "",
    proxy_headers: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--proxy-headers", help="Trust X-Forwarded headers of a reverse proxy on this machine.")
    ] = False,
) -> None:
    """Serve session and race files over HTTP, with a page and a JSON API."""
    try:
        from tombola.service.server import bind, check_host, open_service, run
        from tombola.service.tokens import TokenStore
    except ImportError as error:
        from tombola.errors import ParameterError

        raise ParameterError(
            f"serve: expected the package {error.name}, found none; write pip install 'tombola[serve]'."
        ) from None

    store = TokenStore(tokens if tokens is not None else Path(f"{files[0]}.tokens"))
    if add_token:
        _add_token(store, add_token)
        return
    check_host(host, len(store))
    if actions and not files[0].exists():
        _start_session(files[0], table, actions, learner, column)
    columns = {} if table is None else read_columns(table, column)
    service = open_service(files, store, columns)
    listener = bind(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listener.getsockname()[1]}"

    def announce() -> None:
        show(f"serving {', '.join(map(str, files))} on {address}", soft=True)
        show("token: required" if len(store) else "token: none; every user of this machine may write", soft=True)

    run(service, listener, proxy_headers=proxy_headers, on_start=announce)


def read_columns(table: Path, column: str = "") -> dict[str, dict[str, str]]:
    """Return the cells of each row of a list by its id, without the id itself and blank cells."""
    from tombola.readers.cells import read_row_list

    listed = read_row_list(table, column or None)
    return {
        id_: {name: cell for name, cell in zip(listed.columns, row, strict=True) if cell and name != listed.id_column}
        for id_, row in zip(listed.ids, listed.cells, strict=True)
        if len(listed.columns) > 1
    }


def _start_session(path: Path, table: Path | None, actions: str, learner: str, column: str) -> None:
    from tombola.cli.session import names_in
    from tombola.errors import ParameterError
    from tombola.learners.spec import parse_learner
    from tombola.persistence.session_file import SessionFile
    from tombola.readers.cells import read_row_list

    if table is None:
        raise ParameterError(f"serve: expected the rows of the new session {path}, got none; add --list rows.csv.")
    listed = read_row_list(table, column or None)
    SessionFile.start(
        path, listed.ids, names_in(actions), parse_learner(learner or "Thrifty"),
        columns={name: [row[at] for row in listed.cells] for at, name in enumerate(listed.columns)},
        id_column=listed.id_column, delimiter=listed.delimiter,
    ).close()  # fmt: skip
    show(f"{path}: started with {len(listed.ids)} rows in random order", soft=True)


def _add_token(store: "TokenStore", text: str) -> None:
    name, _, role = text.rpartition(":")
    token = store.add(name, role)
    show(f"token of {name} ({role}), shown only now:", soft=True)
    typer.echo(token)
