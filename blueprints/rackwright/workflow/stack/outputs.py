"""Outputs of a deployed stack, from the file that `pulumi stack output --json` writes."""

import json
from pathlib import Path
from typing import Any

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.files import read_bytes

COMMAND = "pulumi stack output --json > outputs.json"


def read_outputs(path: Path) -> dict[str, Any]:
    """Outputs by name. Raises UserError where the file cannot be read or is no JSON object."""
    try:
        found = json.loads(read_bytes(path))
    except OSError as error:
        raise UserError([Problem("U-outputs", f"The file cannot be read: {error.strerror or error}", fix=COMMAND)], str(path)) from None
    except ValueError as error:
        raise UserError([Problem("U-outputs", f"The file is no JSON: {error}", fix=COMMAND)], str(path)) from None
    if not isinstance(found, dict):
        raise UserError([Problem("U-outputs", f"Expected a JSON object, got {type(found).__name__}", fix=COMMAND)], str(path))
    return found
