"""Install the wheel and the sdist in an empty environment, and try them as a new user would.

    python .ci/smoke.py dist [--python python3.13] [--constraints lower.txt]

The wheel is tried in full, also where neither the package nor a home directory is writable. Then
the sdist replaces it and must give the same answers.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
ANSWERS = """
import sys
from pathlib import Path

import tombola
from tombola.engine.compiler import compiled

assert not Path(tombola.__file__).is_relative_to(sys.argv[1]), f"{tombola.__file__} is in the repository"
assert (Path(tombola.__file__).parent / "py.typed").exists()
pool = tombola.Pool([[0.0, 1.0], [0.5, 0.25], [1.0, 0.0]])
with compiled():  # three rows would be interpreted
    for learner in (tombola.FollowTheLeader(), tombola.UCB1(), tombola.Simulation(tombola.FollowTheLeader())):
        print(tombola.play(learner, pool, seed=1))
print(tombola.__version__)
"""


def main() -> None:
    """Try the wheel, then the sdist."""
    parser = argparse.ArgumentParser(description="Try the built files in an empty environment.")
    parser.add_argument("dist", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--constraints", type=Path, default=ROOT / "constraints.txt")
    options = parser.parse_args()
    (wheel,), (sdist,) = (
        options.dist.resolve().glob("*.whl"),
        options.dist.resolve().glob("*.tar.gz"),
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        here = Environment(folder, options.python)
        here.install("-c", str(options.constraints.resolve()), str(wheel))
        answers = here.run("python", "-c", ANSWERS, str(ROOT))
        try_commands(here)
        try_read_only(here)
        here.install("--no-deps", "--force-reinstall", str(sdist))
        assert here.run("python", "-c", ANSWERS, str(ROOT)) == answers
        print(f"{here.run('python', '--version').strip()}: {wheel.name} and {sdist.name} are good")


class Environment:
    """A folder with an empty environment."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder = folder
        subprocess.run([python, "-m", "venv", folder / "venv"], check=True)

    def install(self, *what: str) -> None:
        """Install by pip."""
        self.run(
            "python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-compile",
            *what,
        )

    def run(self, program: str, *arguments: str, status: int = 0, **more: object) -> str:
        """Run a program of the environment and return its output."""
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "NUMBA"))
        }
        environment.update(more.pop("environment", {}))  # type: ignore[call-overload]
        done = subprocess.run(
            [self.folder / "venv/bin" / program, *arguments],
            cwd=self.folder,
            env=environment,
            text=True,
            capture_output=True,
            check=False,
            **more,  # type: ignore[call-overload]
        )
        assert done.returncode == status, (
            f"{program} {' '.join(arguments)}\n{done.stdout}\n{done.stderr}"
        )
        return str(done.stdout + done.stderr)


def try_commands(here: Environment) -> None:
    """Try the command line: help, a table with its page, a session with its page, ranks, bad input."""
    (here.folder / "table.csv").write_text("a,b\n" + "0,1\n1,0\n0.5,0.25\n" * 10)
    (here.folder / "ids.csv").write_text("id\nx\ny\nz\n")
    assert "compare" in here.run("tombola", "--help")
    here.run(
        "tombola",
        "compare",
        "table.csv",
        "--losses",
        "--learners",
        "UCB1",
        "--repetitions",
        "3",
        "--out",
        "page.html",
    )
    assert "</html>" in (here.folder / "page.html").read_text(encoding="utf-8")
    here.run(
        "tombola",
        "session",
        "start",
        "ids.csv",
        "--actions",
        "a,b",
        "--losses",
        "--file",
        "calls.run",
        "--seed",
        "1",
    )
    here.run("tombola", "session", "next", "calls.run")
    here.run("tombola", "session", "record", "calls.run", "1", "--loss", "0.5")
    here.run("tombola", "session", "status", "calls.run", "--out", "run.html")
    assert "</html>" in (here.folder / "run.html").read_text(encoding="utf-8")
    assert "Read as losses" in here.run("tombola", "rank", "table.csv", "--losses")
    assert "--scores" in here.run("tombola", "rank", "table.csv", status=2)
    assert "absent.csv" in here.run("tombola", "compare", "absent.csv", status=2)


def try_read_only(here: Environment) -> None:
    """Play as a user who owns nothing, has no home, and cannot write the package (root can always, so be nobody)."""
    python = os.path.realpath(here.folder / "venv/bin/python")
    open_to_all = all(folder.stat().st_mode & 0o005 == 0o005 for folder in Path(python).parents)
    if os.name != "posix" or os.getuid() != 0 or not open_to_all:
        print(
            "not tried as a user without a home: only root can become one, if others may use "
            "this Python"
        )
        return
    nowhere = {
        "HOME": "/nonexistent",
        "XDG_CACHE_HOME": "/nonexistent",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    said = here.run("python", "-c", ANSWERS, str(ROOT), environment=nowhere, user=65534)
    assert said.count("TombolaWarning: compiled code cannot be cached") == 1, said


if __name__ == "__main__":
    main()
