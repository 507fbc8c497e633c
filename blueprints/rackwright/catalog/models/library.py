"""Models of the catalog: data/models/*.json, one row per model, read on first use.

A row has the architecture, its source and date, and the published parameter counts, which tests/catalog compares with the formulas.
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
    """Published parameter counts.

    counts: scope of `parameters`: "model" without multi-token-prediction modules, "checkpoint" with them and their copies of embedding and
    head, "trunk" without towers (diffusion: the denoiser only). active_without: parts that the published active count excludes:
    "embedding", "head".
    """

    parameters: int
    source: str
    counts: Counted = "model"
    active_parameters: int | None = None
    active_without: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelRow:
    """One model. source, as_of: where and when (year-month) the architecture was read; released: release date of the model."""

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
    """Return the model of a catalog name or alias, such as a Hugging Face ID, ignoring case; None when unknown."""
    return _index().get(name.strip().lower())


def names() -> tuple[str, ...]:
    """Return the catalog names in the order of the data files."""
    return tuple(row.name for row in rows())


def nearest(name: str, limit: int = 3) -> tuple[str, ...]:
    """Return the catalog names with the most similar name or alias, best first."""
    index = _index()
    close = get_close_matches(name.strip().lower(), index, n=4 * limit, cutoff=0.5)
    return tuple(dict.fromkeys(index[key].name for key in close))[:limit]


@cache
def rows() -> tuple[ModelRow, ...]:
    """Return every model. Raises CatalogError with file and row when a data file is invalid."""
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
