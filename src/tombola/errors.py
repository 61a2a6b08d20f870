"""Exceptions and warnings of the package, and exit statuses.

TombolaError
├── PoolError        values that do not form a pool
├── OrderError       an order that does not draw every row once, or is not random
├── DelayError       a delay that is not a number of rounds
├── ParameterError   an invalid parameter of a learner or a call
├── LearnerError     a learner that violates the contract (raised by `check_learner` and the compiler)
├── SessionError     an invalid operation on a session
│   ├── FeedbackError    feedback for an unknown ticket, or of the wrong kind
│   │   └── ConflictError    feedback or a request that contradicts a recorded one
│   └── ExhaustedError   a request for tickets when all rows are issued
├── TableError       a file that cannot be read as a table
└── FileError        a file that cannot be written, or would replace an input (also an OSError)

TombolaWarning reports degraded operation.

Every message is one sentence with four parts: owner, expected, got; fix.
"""


class TombolaError(ValueError):
    """Base class of errors: invalid input, with a message that names the fix."""


class PoolError(TombolaError):
    """Raised for values that do not form a pool."""


class OrderError(TombolaError):
    """Raised for an order that does not draw every row once, or is not random."""


class DelayError(TombolaError):
    """Raised for a delay that is not a number of rounds."""


class ParameterError(TombolaError):
    """Raised for an invalid parameter of a learner or a call."""


class LearnerError(TombolaError):
    """Raised for a learner that violates the contract of learners."""


class SessionError(TombolaError):
    """Raised for an invalid operation on a session."""


class FeedbackError(SessionError):
    """Raised for feedback of an unknown ticket, or of the wrong kind."""


class ConflictError(FeedbackError):
    """Raised for feedback or requests that contradict recorded ones."""


class ExhaustedError(SessionError):
    """Raised for a request for tickets when all rows are issued."""


class TableError(TombolaError):
    """Raised for a file that cannot be read as a table."""


class FileError(TombolaError, OSError):
    """Raised for a file that cannot be written, or would replace an input.

    It is also an OSError.
    """


class TombolaWarning(UserWarning):
    """Issued for degraded operation, such as code that cannot be cached."""


# Exceptions that Python raises for data of an unexpected form; caught together where untrusted files are parsed.
MALFORMED_DATA_ERRORS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)

# Exit status after Ctrl-C, as in typer: 128 plus the number of the signal, the convention of shells.
EXIT_SIGINT = 130

# Exit status after SIGTERM, as sent by `kill` or when a container stops: 128 plus the number of the signal.
EXIT_SIGTERM = 143
