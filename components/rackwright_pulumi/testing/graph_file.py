"""Graph files, as `rackwright graph --json` writes them."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.files import read_bytes

MAX_FILE_BYTES = 64_000_000
"""Size of a graph of some ten thousand resources."""


class _Keys(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class Options(_Keys):
    """Resource options that `diff` reads; other options are kept."""

    aliases: list[str] = []
    ignoreChanges: list[str] = []
    replaceOnChanges: list[str] = []


class Node(_Keys):
    """One resource."""

    type: str
    name: str
    urn: str
    inputs: dict[str, Any]
    protect: bool
    options: Options = Options()


class GraphFile(_Keys):
    """A graph. stack: name of the stack that the resource ids contain."""

    stack: str = ""
    resources: list[Node]


_FILE = TypeAdapter(GraphFile)


def read_graph(path: Path) -> dict[str, Any]:
    """Return a graph as plain data. Raises UserError when the file cannot be read, or is not a graph."""
    try:
        return _FILE.validate_json(read_bytes(path, MAX_FILE_BYTES)).model_dump()
    except OSError as error:
        raise _refused(path, f"cannot be read: {error.strerror or error}", "name a spec or a graph") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            raise _refused(path, f"cannot be read: not JSON: {first['msg']}", "name a spec or a graph") from None
        where = ".".join(str(step) for step in first["loc"])
        reason = f"not a graph: {where + ': ' if where else ''}{first['msg']}"
        raise _refused(path, reason, "write one with `rackwright graph SPEC --json`") from None


def _refused(path: Path, reason: str, fix: str) -> UserError:
    return UserError([Problem("G-file", reason, fix=fix)], str(path))
