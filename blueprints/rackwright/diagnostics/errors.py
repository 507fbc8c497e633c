"""Exceptions by cause: the user's input, the data of the package, or a bug.

RackwrightError
├── UserError      the input is wrong; has every problem that was found; exit status 2
├── CatalogError   a data file of the package is wrong; the message has file and line
└── Bug            an invariant of this program does not hold; please report
"""

from collections.abc import Iterable

from rackwright.diagnostics.problem import Problem


class RackwrightError(Exception):
    """Base of all exceptions that rackwright raises."""


class UserError(RackwrightError):
    """The input is wrong. problems: all of them, in file order."""

    def __init__(self, problems: Iterable[Problem], source: str = ""):
        self.problems: tuple[Problem, ...] = tuple(problems)
        self.source: str = source
        super().__init__("\n".join(str(problem) for problem in self.problems))


class CatalogError(RackwrightError):
    """A data file of the package is wrong."""

    def __init__(self, message: str, file: str = "", line: int | None = None):
        self.file: str = file
        self.line: int | None = line
        place = f"{file}:{line}: " if line else f"{file}: " if file else ""
        super().__init__(place + message)


class Bug(RackwrightError):
    """An internal error, independent of the input."""
