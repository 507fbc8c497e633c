"""The models of the catalog: data/models/*.json, one row per model, read when first asked for.

A row names the architecture, where it was read, when, and what the publisher says it has in parameters; tests/models holds
the formulas against every one of those totals.
"""

import json
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Literal

from rackwright.catalog.models.architecture import Architecture, ConfigError, from_fields
from rackwright.diagnostics.errors import CatalogError

DATA = Path(__file__).parents[1] / "data" / "models"

Counted = Literal["model", "checkpoint", "trunk"]


@dataclass(frozen=True)
class Published:
    """The publisher's own numbers.

    `counts` says of what: "model" is everything but multi-token-prediction modules, "checkpoint" adds those with their copies of
    embedding and head, "trunk" leaves out towers (diffusion: the denoiser alone). `active_without` names what the publisher
    leaves out of the active count: "embedding", "head".
    """

    parameters: int
    source: str
    counts: Counted = "model"
    active_parameters: int | None = None
    active_without: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelRow:
    """One model of the catalog. `source` is where the architecture was read, `as_of` when (year-month), `released` when it came out."""

    name: str
    publisher: str
    released: str
    architecture: Architecture
    published: Published
    source: str
    as_of: str
    aliases: tuple[str, ...] = ()
    note: str = ""


def find(name: str) -> ModelRow | None:
    """The model of that catalog name or alias (a Hugging Face id, for one), upper and lower case alike; None when there is none."""
    return _index().get(name.strip().lower())


def names() -> tuple[str, ...]:
    """Catalog names in the order of the data files."""
    return tuple(row.name for row in rows())


def nearest(name: str, limit: int = 3) -> tuple[str, ...]:
    """Catalog names most like `name`, best first; aliases are compared too."""
    index = _index()
    close = get_close_matches(name.strip().lower(), index, n=4 * limit, cutoff=0.5)
    return tuple(dict.fromkeys(index[key].name for key in close))[:limit]


@cache
def rows() -> tuple[ModelRow, ...]:
    """Every model. Raises CatalogError, with file and row, when a data file is wrong."""
    return tuple(_row(entry, file.name) for file in sorted(DATA.glob("*.json")) for entry in json.loads(file.read_text(encoding="utf-8")))


@cache
def _index() -> dict[str, ModelRow]:
    index: dict[str, ModelRow] = {}
    for row in rows():
        for key in (row.name, *row.aliases):
            if index.setdefault(key.lower(), row) is not row:
                raise CatalogError(f"{key} names both {index[key.lower()].name} and {row.name}")
    return index


def _row(entry: dict[str, Any], file: str) -> ModelRow:
    try:
        published = dict(entry["published"])
        published["active_without"] = tuple(published.get("active_without", ()))
        own: dict[str, Any] = {
            "architecture": from_fields(entry["architecture"]),
            "published": Published(**published),
            "aliases": tuple(entry.get("aliases", ())),
        }
        return ModelRow(**entry | own)
    except (ConfigError, KeyError, TypeError) as error:
        raise CatalogError(f"model {entry.get('name')!r}: {error}", file) from error
