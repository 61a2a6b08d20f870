"""Exceptions and warnings of the package, and exit statuses.

TombolaError
├── PoolError        values that do not form a pool
├── OrderError       an order that does not draw every row once, or is not random
├── DelayError       a delay that is not a number of rounds
├── ParameterError   an invalid parameter of a learner or a call
├── LearnerError     a learner that violates the contract (raised by `check_learner` and the
                     compiler)
├── SessionError     an invalid operation on a session
│   ├── FeedbackError    feedback for an unknown ticket, or of the wrong kind
│   │   └── ConflictError    feedback or a request that contradicts a recorded one
│   └── ExhaustedError   a request for tickets when all rows are issued
├── TableError       a file that cannot be read as a table
│   └── RowError         an invalid row of a stream; has the result for the rows before it


│   ├── QuestionError    a table that can be read in several ways; has the options of each
└── FileError        a file that cannot be written, or would replace an input (also an OSError)

TombolaWarning reports degraded operation.

Every message is one sentence with four parts: owner, expected, got; fix.
"""


class TombolaError(ValueError):
    """Base class of the errors of tombola: invalid input. It is also a ValueError."""


class PoolError(TombolaError):
    """Raised for values that do not form a pool, such as losses outside of [0, 1]."""


class OrderError(TombolaError):
    """Raised for an order that does not draw every row once, or fails a test of random order."""


class DelayError(TombolaError):
    """Raised for delays that are not numbers of rounds, one per round or per row."""


class ParameterError(TombolaError):
    """Raised for an invalid parameter of a learner or a call."""


class LearnerError(TombolaError):
    """Raised for a learner that violates the contract; see `check_learner`."""


class SessionError(TombolaError):
    """Raised for an invalid operation on a session, or a file that is not a session."""


class FeedbackError(SessionError):
    """Raised for feedback of an unknown ticket, or of the wrong kind; the session is not changed.

    An example of the wrong kind is one loss where the learner needs those of all actions.
    """


class ConflictError(FeedbackError):
    """Raised for feedback or requests that contradict recorded ones, such as another outcome of a ticket."""


class ExhaustedError(SessionError):
    """Raised for a request for tickets when all rows are issued."""


class TableError(TombolaError):
    """Raised for a file that cannot be read as a table of losses or scores."""


class RowError(TableError):
    """Raised for an invalid row of a table; `result` is the result for the rows before it."""

    def __init__(self, message: str, result: object) -> None:
        super().__init__(message)
        self.result = result


class QuestionError(TableError):
    """Raised for a table that can be read in several ways; nothing was decided.

    question: what is not certain, as text.
    columns: the columns, or rows, that it is about.
    answers: pairs (condition, what to write then): a whole command on the command line, else the
        arguments of `read_table`.
    """

    def __init__(
        self, question: str, columns: tuple[str, ...], answers: tuple[tuple[str, str], ...]
    ) -> None:
        fixes = [f"{text} if {condition}" for condition, text in answers]
        fix = f"write {', '.join(fixes)}" if fixes else "repair the table"
        super().__init__(f"{question}; {fix}.")
        self.question = question
        self.columns = columns
        self.answers = answers

    def __reduce__(self) -> tuple[object, ...]:
        return QuestionError, (self.question, self.columns, self.answers)


class FileError(TombolaError, OSError):
    """Raised for a file that cannot be written or read (unless it is missing), or would replace an input."""


class TombolaWarning(UserWarning):
    """Warning category for degraded operation, such as code that cannot be cached."""


# Exceptions that Python raises for data of an unexpected form; caught together where untrusted
# files are parsed.
MALFORMED_DATA_ERRORS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)

# Exit status after Ctrl-C, as in typer: 128 plus the number of the signal, the convention of
# shells.
EXIT_SIGINT = 130

# Exit status after SIGTERM, as sent by `kill` or when a container stops: 128 plus the number of the
# signal.
EXIT_SIGTERM = 143
