"""Commands: one file for each job; `tombola.cli.app` assembles them."""
