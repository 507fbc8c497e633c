"""`rackwright doctor`."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem

from rackwright_pulumi.doctor.diagnosis import Diagnosis
from rackwright_pulumi.doctor.inventory import CloudResource
from rackwright_pulumi.lookup.account import NotAnswered


def as_lines(found: Diagnosis) -> Iterator[str]:
    """Terminal output: resources to import, then resources that nothing declares."""
    for each in found.lost:
        yield f"not in the state (found by {each.found_by}): {each.type} {each.id}\n    {each.command}"
    for resource in found.undeclared:
        yield f"not in the state and not in the program: {resource.type} {resource.id}\n    delete it, unless something uses it"
    yield f"{len(found.lost)} to import, {len(found.undeclared)} undeclared"


def write_imports(path: Path, found: Diagnosis) -> None:
    """Write the argument of `pulumi import --file`. Raises UserError if the file cannot be written."""
    try:
        path.write_text(json.dumps(found.import_file(), indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError([Problem("G-file", f"cannot be written: {error.strerror}", fix="use another path")], str(path)) from None


def existing(path: Path) -> Path:
    """The path of a file. Raises UserError if it does not exist: opening it would create an empty cloud."""
    if not path.is_file():
        fix = "name the file that `write_plugins` was given, such as .cache/sim/cloud.sqlite"
        raise UserError([Problem("G-file", "the simulated cloud has no such file", fix=fix)], str(path))
    return path


def answered(inventory: Callable[[], list[CloudResource]]) -> list[CloudResource]:
    """The inventory of the account. Raises UserError if a call fails: without it every resource would look deleted."""
    try:
        return inventory()
    except NotAnswered as error:
        fix = "use credentials that can read the account"
        raise UserError([Problem("K-10", f"Cannot list the resources of the account: {error}", fix=fix)]) from None
