"""Model servers whose ports, paths and metrics are published, by the name that a spec gives in `server`."""

from dataclasses import dataclass
from functools import cache

from rackwright.catalog.read import DATA, read_table
from rackwright.catalog.release.columns import MODEL_SERVERS


@dataclass(frozen=True, slots=True)
class PublishedServer:
    """Where a server answers. queue: gauge of waiting requests. in_flight: of running ones; empty where it has none.

    metrics_port: None where it is `port`.
    """

    name: str
    port: int
    health: str
    metrics_path: str
    metrics_port: int | None
    queue: str
    in_flight: str
    notes: str
    source: str
    as_of: str


@cache
def published_servers() -> dict[str, PublishedServer]:
    """Name -> row of `model_servers.csv`. Raises CatalogError when the file is invalid."""
    return {row.name: row for row in (PublishedServer(**record) for record in read_table(DATA, MODEL_SERVERS))}
