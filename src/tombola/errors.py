"""What can go wrong, as a tree.

TombolaError
├── PoolError        a table that cannot be a pool
├── OrderError       an order that does not draw every row once
├── DelayError       a delay that is not a number of rounds
├── ParameterError   a learner, or a call, with a parameter that makes no sense
├── LearnerError     a learner that breaks the contract (raised by `check_learner` and the compiler)
├── SessionError     a session that cannot go on as asked
│   └── FeedbackError    feedback that fits no ticket, or does not fit its ticket
├── TableError       a file that cannot be read as a table
└── FileError        a file that cannot be written without harm (also an OSError)

TombolaWarning is what works, but not as well as it could.

Every message is one sentence: who, what was expected, what came, what to write instead.
"""


class TombolaError(ValueError):
    """Anything that tombola refuses, with a sentence that says what to write instead."""


class PoolError(TombolaError):
    """A table that cannot be a pool."""


class OrderError(TombolaError):
    """An order that does not draw every row once."""


class DelayError(TombolaError):
    """A delay that is not a number of rounds."""


class ParameterError(TombolaError):
    """A parameter that makes no sense."""


class LearnerError(TombolaError):
    """A learner that breaks the contract."""


class SessionError(TombolaError):
    """A session that cannot go on as asked."""


class FeedbackError(SessionError):
    """Feedback that fits no ticket, or does not fit its ticket."""


class TableError(TombolaError):
    """A file that cannot be read as a table."""


class FileError(TombolaError, OSError):
    """A file that cannot be written, or not without harm."""


class TombolaWarning(UserWarning):
    """Something that works, but not as well as it could."""


MALFORMED_DATA_ERRORS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What Python says where plain data of a file does not have the form that is expected of it."""

STOPPED = 130
"""The exit status of Ctrl-C, by typer too."""

EXIT_SIGTERM = 143
"""That of a process that was asked to end, as by `kill` or when a container is stopped."""
