"""Reading of inventory files, and specs with their inventories."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Mark, Problem
from rackwright.diagnostics.secrets import has_token
from rackwright.spec.infra import Place
from rackwright.spec.inventory import Inventory
from rackwright.spec.reading.model_fields import at_of
from rackwright.spec.reading.schema_errors import is_about_key, is_echo, problem_of
from rackwright.spec.reading.source import read_file
from rackwright.spec.reading.tree import parse
from rackwright.spec.spec import Spec

FORM = "write it with `rackwright inventory --kubeconfig FILE`, or by hand as docs/kubernetes.md describes"


class InventoryError(UserError):
    """The file cannot be read, or is no inventory. Paths of the problems are those of the file."""


def read_inventory(path: Path) -> Inventory:
    """The inventory in a YAML or JSON file. Raises InventoryError with every problem of the file."""
    try:
        tree, problems = parse(read_file(path), path.name)
    except UserError as error:
        raise InventoryError([_in_file(problem, path.name, problem.mark) for problem in error.problems], str(path)) from None
    if problems or not isinstance(tree.value, dict):
        found = problems or [Problem("S-type", "An inventory must be a mapping of keys to values", mark=tree.mark)]
        raise InventoryError([_in_file(problem, path.name, problem.mark) for problem in found], str(path))
    data = tree.plain()
    if secrets := [_in_file(problem, path.name, tree.nearest(problem.at)) for problem in _secrets(At(), data)]:
        raise InventoryError(secrets, str(path))
    try:
        return Inventory.model_validate(data)
    except ValidationError as failure:
        errors = [error for error in failure.errors(include_url=False) if not is_echo(error, data)]
    found = ((_described(error, data), is_about_key(error)) for error in errors)
    raise InventoryError([_in_file(problem, path.name, tree.nearest(problem.at, about_key)) for problem, about_key in found], str(path))


def _secrets(at: At, value: object) -> Iterator[Problem]:
    """Texts with a token of a known issuer: labels and names reach plans and reports, and the file is committed."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _secrets(at / key, each)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _secrets(at / number, each)
    elif isinstance(value, str) and has_token(value):
        yield Problem("V-114", f"{at} contains a secret in plain text", at, "remove it, and revoke it")


def _described(error: Any, data: object) -> Problem:
    """One pydantic error; unknown and missing keys in the words of an inventory."""
    at = at_of(error)
    parent = At(at.steps[:-1])
    holder = f"`{parent}`" if parent.steps else "an inventory"
    if error["type"] == "extra_forbidden":
        return Problem("S-186", f"{at} is not a key of {holder}", at, FORM)
    if error["type"] == "missing":
        return Problem("S-186", f"{at} is required", at, f"add {at.steps[-1]}")
    return problem_of(error, data)


def _in_file(problem: Problem, name: str, mark: Mark | None) -> Problem:
    """The problem as one of a place: its text has the file, the line and the path."""
    where = f"{name}:{mark.line}" if mark else name
    path = f"{problem.at}: " if problem.at.steps and not problem.reason.startswith(str(problem.at)) else ""
    return Problem("S-186", f"{where}: {path}{problem.reason}", problem.at, problem.fix or FORM)


def with_inventories(spec: Spec, folder: Path) -> Spec:
    """The spec with each path of an inventory replaced by its content. folder: of the spec. Raises InventoryError."""
    if not any(isinstance(place.inventory, str) for place in spec.infra.places):
        return spec
    infra = spec.infra
    lists = {key: tuple(_with_inventory(place, folder) for place in getattr(infra, key)) for key in ("any_of", "ordered")}
    return spec.model_copy(update={"infra": infra.model_copy(update=lists)})


def inventory_of(place: Place, folder: Path) -> Inventory | None:
    """The inventory of a place; None without one. Raises InventoryError."""
    return read_inventory(folder / place.inventory) if isinstance(place.inventory, str) else place.inventory


def _with_inventory(place: Place, folder: Path) -> Place:
    return place.model_copy(update={"inventory": inventory_of(place, folder)})
