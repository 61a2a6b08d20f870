"""Wording: an option named in the words of the place where the person is, in Python or on the command line."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

_SHELL = {
    "ids": "--id", "action": "--action-column", "value": "--value-column", "delay": "--delay-column",
    "kind=losses": "--losses", "kind=rewards": "--rewards", "rescale=True": "--rescale",
}  # fmt: skip
_at_the_shell: ContextVar[bool] = ContextVar("at_the_shell", default=False)


@contextmanager
def command_line() -> Iterator[None]:
    """Say everything in the words of the command line."""
    token = _at_the_shell.set(True)
    try:
        yield
    finally:
        _at_the_shell.reset(token)


def option(name: str, value: str | Sequence[str] | None = None, *, on: bool = False) -> str:
    """Return an option as it is written here: with its value, switched on, or its name alone.

    >>> option("missing", "drop"), option("rescale", on=True), option("actions", ["a", "b"])
    ("missing='drop'", 'rescale=True', "actions=['a', 'b']")
    >>> with command_line():
    ...     option("missing", "drop"), option("rescale", on=True), option("actions", ["a", "b"]), option("ids")
    ('--missing drop', '--rescale', '--actions a,b', '--id')
    """
    if not _at_the_shell.get():
        return f"{name}=True" if on else name if value is None else f"{name}={value!r}"
    flag = _SHELL.get(f"{name}={on or value}")
    if flag is not None:
        return flag
    word = _SHELL.get(name, f"--{name.replace('_', '-')}")
    if value is None:
        return word
    return f"{word} {_quoted(value if isinstance(value, str) else ','.join(map(_quoted_name, value)))}"


def _quoted_name(name: str) -> str:
    return f'"{name}"' if "," in name else name


def _quoted(text: str) -> str:
    plain = all(letter.isalnum() or letter in "_-.,:/@%+=" for letter in text)
    return text if plain and text else "'" + text.replace("'", "'\"'\"'") + "'"
