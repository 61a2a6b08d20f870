"""Help texts: options in panels, the most used ones by --help and all by --help-all."""

import re
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from tombola._formatting import offered_flags

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
        return super().parse_args(ctx, args)

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
