"""Help texts: options in panels, the most used ones by --help and all by --help-all.

Also the messages for options and commands that do not exist.
"""

import difflib
import re
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from tombola._formatting import offered_flags
from tombola.errors import ParameterError

# Typer has the classes of its parser in another place from one version to the next.
_UsageError: Any = typer.BadParameter.__mro__[1]
_MissingParameter: Any = next(
    kind for kind in typer.BadParameter.__subclasses__() if kind.__name__ == "MissingParameter"
)

_Function = TypeVar("_Function", bound=Callable[..., Any])

# Columns of a help text, and of the names of options in it.
_WIDTH = 80
_NAME_WIDTH = 22

# Panel -> options in it, in this order. Options of no panel are in the last one.
_PANELS = {
    "Table": "losses scores range actions candidates candidates-from transpose words id ignore "
    "ignore-rows sheet header decimal "
    "action-column value-column run-column runs delay-column costs features text by missing "
    "rescale rows follow strata sizes known history judge missing-known clusters columns",
    "Live": "old new loss shell quiet",
    "Question": "feedback learners learner orders delay switching-price candidate best mean order "
    "within better baseline metric lower higher metric-range question top rank-of reading future "
    "in-order pair looks labels next each level",
    "Limits": "max-calls max-cost max-call-cost max-seconds budget worst prices null target "
    "repetitions workers timeout on-failure retries undecided",
    "Output": "file out json force seed list",
    "Server": "url token reissue-after host port",
    "More": "",
}
_PANEL_OF = {name: panel for panel, names in _PANELS.items() for name in names.split()}

# Command -> options that its --help shows, at most twelve; of another command all are shown.
COMMON = {
    "describe": "losses scores range candidates id ignore costs features by sheet json",
    "compare": "losses scores range candidates missing feedback learners delay budget out json",
    "rank": "losses scores range candidates clusters metric missing level pair out json",
    "gate": "scores within better baseline metric looks level old new file json",
    "race run": "losses scores candidate known within baseline level max-calls max-cost workers "
    "file json",
    "race plan": "losses scores range candidates missing within baseline top level shuffles json",
    "race start": "losses scores range candidates known by within baseline level max-calls file "
    "json",
    "session start": "losses scores range actions features budget worst learner file seed json",
    "audit": "best mean order within level rows range history judge next out json",
}


class HelpCommand(TyperCommand):
    """A command with compact help; `--help-all` shows all of its options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line; --help-all prints the help and exits."""
        if "--help-all" in args:
            ctx.meta["help_all"] = True
            typer.echo(self.get_help(ctx))
            ctx.exit()
        with _one_sentence(self, ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; questions offer only options that it has."""
        params = self.get_params(ctx)
        with offered_flags(
            flag for parameter in params for flag in (*parameter.opts, *parameter.secondary_opts)
        ):
            return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write usage, purpose, arguments, and the options by panel."""
        _write_head(self, ctx, formatter)
        params = [param for param in self.get_params(ctx) if not getattr(param, "hidden", False)]
        arguments = [
            (_argument(param), _help_of(param))
            for param in params
            if isinstance(param, TyperArgument)
        ]
        _write_panel(formatter, "Arguments", arguments)
        common = _common(ctx)
        is_short = bool(common) and not ctx.meta.get("help_all")
        options: dict[str, list[tuple[int, str, str]]] = {panel: [] for panel in _PANELS}
        n_left_out = 0
        for param in params:
            name = _name(param)
            if isinstance(param, TyperArgument) or name == "help":
                continue
            if is_short and name not in common:
                n_left_out += 1
                continue
            panel = _PANEL_OF.get(name, "More")
            places = _PANELS[panel].split()
            place = places.index(name) if name in places else len(places)
            options[panel].append((place, _usage(param), _help_of(param)))
        for panel, rows in options.items():
            ordered = sorted(rows, key=lambda row: row[0])
            _write_panel(formatter, panel, [(usage, text) for _, usage, text in ordered])
        if n_left_out:
            formatter.write(f"\n{n_left_out} more options: {ctx.command_path} --help-all\n")


class HelpGroup(TyperGroup):
    """A group of commands with compact help, which a call without a command prints, too."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line; without arguments print the help and exit with status 2."""
        # Typer's own `no_args_is_help` prints nothing for a group that formats its help itself.
        if not args and not ctx.resilient_parsing:
            typer.echo(self.get_help(ctx), err=True)
            ctx.exit(2)
        with _one_sentence(self, ctx):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that `args` names; ParameterError if there is none."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            names = self.list_commands(ctx)
            close = difflib.get_close_matches(args[0], names, 1)
            raise ParameterError(
                f"{_owner(ctx)}: expected a command, got {args[0]!r}; write "
                f"{' or '.join(close or names)}."
            )
        with _one_sentence(self, ctx):
            return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write usage, purpose, and the commands by panel."""
        _write_head(self, ctx, formatter)
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                panel = getattr(command, "rich_help_panel", None) or "Commands"
                # Typer marks a panel that is not given by a placeholder object.
                panel = panel if isinstance(panel, str) else "Commands"
                text = " ".join(str(command.help or "").split("\n\n")[0].split())
                panels.setdefault(panel, []).append((name, text))
        for panel, rows in panels.items():
            _write_panel(formatter, panel, rows)
        formatter.write(f"\nHelp on one of them: {ctx.command_path} COMMAND --help\n")


class App(typer.Typer):
    """A Typer application whose commands have compact help."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(cls=HelpGroup, pretty_exceptions_enable=False, **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[_Function], _Function]:
        """Return the decorator that registers a command, as Typer does."""
        return super().command(name, cls=HelpCommand, **settings)


@contextmanager
def _one_sentence(command: Any, ctx: Any) -> Iterator[None]:
    """Replace a usage error of the parser by a ParameterError, which prints one sentence."""
    try:
        yield
    except _UsageError as error:
        all_options = f"{ctx.command_path} --help{'' if _is_group(command) else '-all'}"
        advice = f"{all_options} lists its options"
        owner = _owner(ctx)
        wrong = getattr(error, "option_name", None)
        parameter = getattr(error, "param", None)
        if wrong is not None:
            flags = [flag for param in command.get_params(ctx) for flag in param.opts]
            close = difflib.get_close_matches(wrong, flags, 1, cutoff=0.75)
            if wrong == "--sheet":
                advice = "write the sheet behind the file, such as FILE::SHEET"
            elif close:
                advice = f"write {close[0]}, or see {all_options}"
            raise ParameterError(
                f"{owner}: expected an option of this command, got {wrong}; {advice}."
            ) from None
        if isinstance(error, _MissingParameter) and parameter is not None:
            is_argument = isinstance(parameter, TyperArgument)
            name = _argument(parameter) if is_argument else f"--{_name(parameter)}"
            raise ParameterError(f"{owner}: expected {name}, got none; {advice}.") from None
        text = error.format_message().rstrip(".").replace("Value error, ", "")
        raise ParameterError(f"{owner}: {text[:1].lower()}{text[1:]}; {advice}.") from None


def _owner(ctx: Any) -> str:
    """Return the name of a command for the start of a message, such as "race start"."""
    return str(ctx.command_path).removeprefix("tombola ").replace("tombola", "command")


def _is_group(command: Any) -> bool:
    return isinstance(command, TyperGroup)


def _common(ctx: Any) -> list[str]:
    return COMMON.get(ctx.command_path.partition(" ")[2], "").split()


def _write_head(command: Any, ctx: Any, formatter: Any) -> None:
    pieces = [
        _argument(param) if param.required else f"[{_argument(param)}]"
        for param in command.get_params(ctx)
        if isinstance(param, TyperArgument)
    ]
    pieces = pieces or (["COMMAND"] if isinstance(command, TyperGroup) else [])
    formatter.write(f"Usage: {' '.join([ctx.command_path, *pieces])} [OPTIONS]\n")
    paragraphs = str(command.help or "").split("\n\n")
    if _common(ctx) and not ctx.meta.get("help_all"):
        paragraphs = paragraphs[:2]
    for paragraph in paragraphs:
        text = " ".join(paragraph.split())
        if text:
            formatter.write("\n" + textwrap.fill(text, _WIDTH) + "\n")


def _write_panel(formatter: Any, title: str, rows: list[tuple[str, str]]) -> None:
    if not rows:
        return
    formatter.write(f"\n{title}:\n")
    for usage, text in rows:
        first = f"  {usage}"
        indent = " " * (_NAME_WIDTH + 2)
        if len(first) > _NAME_WIDTH:
            formatter.write(f"{first}\n")
            first = ""
        formatter.write(
            textwrap.fill(
                text,
                _WIDTH,
                initial_indent=first.ljust(_NAME_WIDTH + 2),
                subsequent_indent=indent,
            )
            + "\n"
        )


def _argument(param: Any) -> str:
    """Return an argument as in the usage line, such as TABLES..."""
    name = str(param.metavar or param.name).upper()
    return f"{name}..." if param.nargs == -1 and not name.endswith("...") else name


def _name(param: Any) -> str:
    names = [name.lstrip("-") for name in param.opts if name.startswith("--")]
    return names[0] if names else str(param.name)


def _usage(param: Any) -> str:
    """Return an option with the kind of its value, such as "--level NUMBER"."""
    flag = f"--{_name(param)}"
    if getattr(param, "is_flag", False):
        return "/".join([flag, *param.secondary_opts])
    return f"{flag} {_metavar(param)}"


def _metavar(param: Any) -> str:
    """Return a word for the value of an option: FILE, N, X, a choice or TEXT."""
    if param.metavar:
        return str(param.metavar)
    # Typer has kept the type in two places; its text names the type in both.
    descriptor = getattr(param, "type_descriptor", None)
    kind = str(param.type if descriptor is None else descriptor.annotation)
    if "Literal" in kind or "Choice" in kind:
        return "|".join(re.findall(r"'([^']+)'", kind))
    words = {"path": "FILE", "float": "X", "int": "N"}
    return next((word for name, word in words.items() if name in kind.lower()), "TEXT")


def _help_of(param: Any) -> str:
    """Return the help text of a parameter, with its default if it has one to show."""
    text = " ".join(str(getattr(param, "help", "") or "").split())
    default = param.default
    if isinstance(default, bool) or default in (None, "", ()) or param.show_default is False:
        return text
    if isinstance(param, TyperArgument) or "Default" in text:
        return text
    default_text = f"{default:g}" if isinstance(default, float) else str(default)
    return f"{text} [{default_text}]"
