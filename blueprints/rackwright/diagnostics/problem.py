"""A problem, its path in the spec, and its line in the file."""

import json
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from rackwright.diagnostics.secrets import without_tokens

WIDTH = 100
"""Terminal columns of every printed line, except the user's own file name."""
TAB = " " * 4
BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""Line breaks as YAML counts them."""


class Level(StrEnum):
    ERROR = "error"
    WARNING = "warning"


class Stage(StrEnum):
    """The step that a violation stops. With BUILD the plan is printed, and lists the violation under `before you build`."""

    PLAN = "plan"
    BUILD = "build"


@dataclass(frozen=True)
class At:
    """A place in a spec or a plan: `At() / "workloads" / 0 / "model"` prints as `workloads[0].model`."""

    steps: tuple[str | int, ...] = ()

    def __truediv__(self, step: str | int) -> "At":
        return At((*self.steps, step))

    def __str__(self) -> str:
        text = ""
        for step in self.steps:
            text += f"[{step}]" if isinstance(step, int) else f".{visible(step)}" if text else visible(step)
        return text or "(whole file)"


@dataclass(frozen=True)
class Mark:
    """A position in a text file; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Problem:
    """An error or a warning.

    code: rule id (`V-21`) or reader code (`S-unknown-key`). reason: the failed condition with its value. at: path in the spec. fix: what to
    do. link: the documentation of the limit. mark: position in the file. stage: what the problem stops. stack_at: path in
    the StackPlan where that differs from `at`. blocks_update: whether `pulumi up` stops at a problem of stage BUILD. about_key: the key at
    `at` is wrong, not its value.
    """

    code: str
    reason: str
    at: At = At()
    fix: str = ""
    level: Level = Level.ERROR
    link: str = ""
    mark: Mark | None = None
    stage: Stage = Stage.PLAN
    stack_at: At | None = None
    blocks_update: bool = True
    about_key: bool = False

    def with_mark(self, mark: Mark | None) -> "Problem":
        return replace(self, mark=mark)

    @property
    def advice(self) -> str:
        """Reason and fix in one sentence."""
        return without_tokens("; ".join(filter(None, (self.reason, self.fix))))

    def as_json(self) -> dict[str, Any]:
        """Plain data, as `--json` prints it; known tokens are hidden. `stack_path` is present where it differs from `path`."""
        found = {
            "code": self.code,
            "level": str(self.level),
            "path": str(self.at),
            "line": self.mark.line if self.mark else None,
            "column": self.mark.column if self.mark else None,
            "reason": without_tokens(self.reason),
            "fix": without_tokens(self.fix),
            "link": self.link,
            "stage": str(self.stage),
        }
        return found | ({"stack_path": str(self.stack_at)} if self.stack_at and self.stack_at != self.at else {})

    def __str__(self) -> str:
        line = f" (line {self.mark.line})" if self.mark else ""
        fix = f"; {self.fix}" if self.fix else ""
        return visible(f"{self.level} {self.code} at {self.at}{line}: {self.reason}{fix}")


def visible(text: str) -> str:
    """The text with tabs as spaces, known tokens hidden, and control characters escaped, which a terminal would execute."""
    return escaped(without_tokens(text.replace("\t", TAB)))


def escaped(text: str, keep: str = "") -> str:
    """The text with control, bidirectional and other invisible characters written as in JSON: `\\u001b`. keep: characters left as is.

    JSON text stays the same document, because only strings have such characters, apart from line breaks.
    """
    if text.isprintable():
        return text
    hidden = (c for c in set(text) if not c.isprintable() and c not in keep)
    return text.translate({ord(c): json.dumps(c)[1:-1].replace("\x7f", "\\u007f") for c in hidden})
