"""Commands: one file for each job of the command line; `tombola.cli.app` assembles them."""
