"""`python -m tombola`: the command line."""

from tombola.cli import main

if __name__ == "__main__":
    main()
