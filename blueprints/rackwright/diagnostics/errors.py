"""Whose fault it is: three branches, so that a caller never has to guess.

RackwrightError
├── UserError      what the user wrote; carries every problem found, exit status 2
├── CatalogError   our own data is wrong; file and line in the message
└── Bug            an invariant of this program does not hold; please report
"""

from collections.abc import Iterable

from rackwright.diagnostics.problem import Problem


class RackwrightError(Exception):
    """Anything rackwright raises on purpose."""


class UserError(RackwrightError):
    """The input is wrong. `problems` holds every one of them, in file order."""

    def __init__(self, problems: Iterable[Problem], source: str = ""):
        self.problems = tuple(problems)
        self.source = source
        super().__init__("\n".join(str(problem) for problem in self.problems))


class CatalogError(RackwrightError):
    """A data file of the package is wrong."""

    def __init__(self, message: str, file: str = "", line: int | None = None):
        self.file, self.line = file, line
        place = f"{file}:{line}: " if line else f"{file}: " if file else ""
        super().__init__(place + message)


class Bug(RackwrightError):
    """Never the user's fault."""
