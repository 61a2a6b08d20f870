"""A list of rows and what happened to them, in one file that survives kills and notices damage.

Live sessions and races use it; it knows neither of them.
"""

from tombola.journal.journal import Happening, Journal

__all__ = ["Happening", "Journal"]
