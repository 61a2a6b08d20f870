"""Help: short enough for a screen, options in panels, none that means nothing."""

import re
import subprocess
import sys

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from tombola.cli import help as help_module
from tombola.cli.app import app
from tombola.errors import ParameterError

GROUP = get_command(app)
TOP = {name: command for name, command in GROUP.commands.items() if not command.hidden}  # type: ignore[attr-defined]
COMMANDS = {
    **{name: command for name, command in TOP.items() if not hasattr(command, "commands")},
    **{
        f"{name} {inner}": command
        for name, group in TOP.items()
        for inner, command in getattr(group, "commands", {}).items()
    },
}


def text_of(*words: str) -> str:
    done = CliRunner().invoke(app, [*words], prog_name="tombola")
    assert done.exit_code == 0, done.exception
    return done.output


def options_in(text: str) -> list[str]:
    return re.findall(r"^  --([a-z-]+)", text, re.MULTILINE)


def test_there_are_at_most_twelve_commands() -> None:
    assert len(TOP) <= 12
    text = text_of("--help")
    assert all(re.search(rf"^  {name} ", text, re.MULTILINE) for name in TOP)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_a_screen(name: str) -> None:
    text = text_of(*name.split(), "--help")
    assert len(text.splitlines()) <= 40, text
    assert max(map(len, text.splitlines())) <= 80
    assert "<" not in text.replace("'mean", "").split("Arguments")[0]
    assert not re.search("<(bool|str|int)>", text)
    assert len(options_in(text)) <= 12
    whole = text_of(*name.split(), "--help-all")
    hidden = set(options_in(whole)) - set(options_in(text))
    more = re.search(r"(\d+) more options: tombola (.*) --help-all", text)
    assert (int(more[1]) if more else 0) == len(hidden)
    known = {opt.lstrip("-") for param in COMMANDS[name].params for opt in param.opts}
    assert set(options_in(whole)) == {opt for opt in known if f"  --{opt}" in whole}, (
        "every option is listed once"
    )
    assert len(options_in(whole)) == len(set(options_in(whole)))


def test_common_options_exist() -> None:
    """A renamed option must not vanish from the short help."""
    for name, options in help_module.COMMON.items():
        known = {opt.lstrip("-") for param in COMMANDS[name].params for opt in param.opts}
        # Options of commands are added step by step; a wrong name would hide one.
        assert set(options.split()) <= known, name


def test_rank_has_no_options_of_learners() -> None:
    assert not {"features", "text", "delay-column", "costs"} & set(
        options_in(text_of("rank", "--help-all"))
    )
    assert "--cluster " not in text_of("rank", "--help-all")


@pytest.mark.parametrize("words", [(), ("race",), ("session",)])
def test_no_command_prints_the_help(words: tuple[str, ...]) -> None:
    """Through the process: Typer shows errors of its own by another way than the runner."""
    command = [sys.executable, "-m", "tombola", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("Help on one of them: tombola")
    assert not done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "rank t.csv --score",
            "rank: expected an option of this command, got --score; write --scores",
        ),
        ("race start t.csv --sheet A", "race start: expected an option.*such as FILE::SHEET"),
        ("race start t.csv --file a.race", "race start: expected --candidates, got none"),
        ("race plan", "race plan: expected TABLE, got none"),
        ("gate a b --looks one", "gate: invalid value for '--looks': 'one' is not one of"),
        ("rnak t.csv", "command: expected a command, got 'rnak'; write rank"),
        ("race foo", "race: expected a command, got 'foo'; write plan or start"),
        ("race --foo", "race: expected an option .*, got --foo; tombola race --help lists"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_sentence(words: str, message: str) -> None:
    done = CliRunner().invoke(app, words.split(), prog_name="tombola")
    assert isinstance(done.exception, ParameterError)
    assert re.match(message, str(done.exception)), str(done.exception)
    assert done.output == ""
