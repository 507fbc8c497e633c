"""A problem knows its place. Places are values, not text inside messages; one renderer prints the line and the caret."""

from dataclasses import dataclass, replace
from enum import StrEnum


class Level(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class At:
    """A place in a spec or a plan: `At() / "workloads" / 0 / "model"` prints as `workloads[0].model`."""

    steps: tuple[str | int, ...] = ()

    def __truediv__(self, step: str | int) -> "At":
        return At((*self.steps, step))

    def __str__(self) -> str:
        text = ""
        for step in self.steps:
            text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
        return text or "(whole file)"


@dataclass(frozen=True)
class Mark:
    """Where something stands in a text file; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong or doubtful.

    code: rule id (`V-21`) or reader's code (`S-unknown-key`); reason: the law, in one sentence; fix: what to do;
    link: the law's own text; mark: set when the place was found in the user's file.
    """

    code: str
    reason: str
    at: At = At()
    fix: str = ""
    level: Level = Level.ERROR
    link: str = ""
    mark: Mark | None = None

    def with_mark(self, mark: Mark | None) -> "Problem":
        return replace(self, mark=mark)

    def as_json(self) -> dict:
        return {
            "code": self.code,
            "level": str(self.level),
            "path": str(self.at),
            "line": self.mark.line if self.mark else None,
            "column": self.mark.column if self.mark else None,
            "reason": self.reason,
            "fix": self.fix,
            "link": self.link,
        }

    def __str__(self) -> str:
        line = f" (line {self.mark.line})" if self.mark else ""
        fix = f"; {self.fix}" if self.fix else ""
        return f"{self.level} {self.code} at {self.at}{line}: {self.reason}{fix}"
