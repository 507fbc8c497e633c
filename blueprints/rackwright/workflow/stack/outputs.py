"""Outputs of a deployed stack, from the file that `pulumi stack output --json` writes."""

import json
from pathlib import Path
from typing import Any

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.files import read_bytes

COMMAND = "pulumi stack output --json > outputs.json"


def read_outputs(path: Path) -> dict[str, Any]:
    """Outputs by name. Raises UserError where the file cannot be read, is no JSON object, or names buckets in another form than a stack."""
    try:
        found = json.loads(read_bytes(path))
    except OSError as error:
        raise _refused(path, f"The file cannot be read: {error.strerror or error}") from None
    except RecursionError:
        raise _refused(path, "The file is not JSON of a stack: its lists or objects are nested too deeply") from None
    except ValueError as error:
        raise _refused(path, f"The file is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise _refused(path, f"Expected a JSON object, got {type(found).__name__}")
    names = found.get("bucketNames")
    if names is not None and not (isinstance(names, dict) and all(isinstance(name, str) for name in names.values())):
        raise _refused(path, f"Expected an object of names in `bucketNames`, got {json.dumps(names)[:60]}")
    return found


def _refused(path: Path, reason: str) -> UserError:
    return UserError([Problem("U-outputs", reason, fix=COMMAND)], str(path))
