"""Reading of inventory files, and specs with their inventories."""

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem
from rackwright.files import read_bytes
from rackwright.spec.infra import Place
from rackwright.spec.inventory import Inventory
from rackwright.spec.spec import Spec

FORM = "write it with `rackwright inventory --kubeconfig FILE`, or by hand as docs/kubernetes.md describes"


class InventoryError(UserError):
    """The file cannot be read, or is no inventory. Paths of the problems are those of the file."""


def read_inventory(path: Path) -> Inventory:
    """The inventory in a YAML or JSON file. Raises InventoryError with every problem of the file."""
    try:
        document = yaml.load(read_bytes(path), Loader=_Loader)
    except OSError as error:
        raise InventoryError([Problem("S-186", f"{path.name} cannot be read: {error.strerror or error}", fix=FORM)], str(path)) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        why = " ".join(str(getattr(error, "problem", None) or error).split())
        raise InventoryError([Problem("S-186", f"{path.name} is not YAML: {why}", fix=FORM)], str(path)) from None
    if not isinstance(document, dict):
        raise InventoryError([Problem("S-186", f"{path.name} is not a mapping", fix=FORM)], str(path))
    return parse_inventory(document, path.name)


def parse_inventory(document: dict[str, Any], source: str) -> Inventory:
    """The inventory in plain data. source: name of the file, for messages. Raises InventoryError."""
    try:
        return Inventory.model_validate(document)
    except ValidationError as error:
        raise InventoryError([_problem(item, source) for item in error.errors(include_url=False)], source) from None


class _Loader(yaml.CSafeLoader):
    """YAML whose dates stay text, so that a date without a time zone is reported."""


_Loader.yaml_implicit_resolvers = {
    key: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for key, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def _problem(item: Any, source: str) -> Problem:
    at = At(tuple(step for step in item["loc"] if not str(step).startswith("<")))
    reason = item.get("ctx", {}).get("reason") or item["msg"]
    return Problem("S-186", f"{source}: {at}: {reason}", at, item.get("ctx", {}).get("fix") or FORM)


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
