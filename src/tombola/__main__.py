"""Start: `tombola` and `python -m tombola`; loading the command line takes a moment, in which Ctrl-C is heard too."""

import sys


def main() -> None:
    """Load the command line, and run it."""
    try:
        from tombola.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("tombola: stopped.\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
