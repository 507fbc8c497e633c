"""Measured runs as the formulas take them. The collection lies beside the repository, or where RACKWRIGHT_MEASURED says."""

import csv
import os
from collections.abc import Iterator
from pathlib import Path

from rackwright.catalog.architecture import Architecture, ConfigError
from rackwright.estimate.model import network_of
from rackwright.estimate.network import Network
from rackwright.sizing.traffic import Links

FOLDER = Path(os.environ.get("RACKWRIGHT_MEASURED", Path(__file__).parents[2].parent / "shared" / "measured"))
Row = dict[str, str]
HARDWARE = {
    "H100": ("NVIDIA H100 80GB SXM5", 989e12, 3.35e12, Links(450e9, 400e9, 8, 8)),
    "H200": ("NVIDIA H200 141GB SXM5", 989e12, 4.8e12, Links(450e9, 400e9, 8, 8)),
    "A100": ("NVIDIA A100 80GB SXM4", 312e12, 2.0e12, Links(300e9, 200e9, 8, 8)),
    "B200": ("NVIDIA B200 SXM", 2250e12, 8.0e12, Links(900e9, 400e9, 8, 8)),
}
"""Name, bf16 peak, memory bandwidth and links of what most rows ran on."""


def rows(name: str) -> Iterator[Row]:
    with (FOLDER / f"{name}.csv").open(encoding="utf-8") as file:
        yield from csv.DictReader(file)


def number(row: Row, key: str, default: float = 0.0) -> float:
    try:
        return float(row[key])
    except ValueError:
        return default


def dense_network(row: Row) -> Network | None:
    """The row's dense model, gated or not and tied or not as its parameter count tells; None when its shape is not given."""
    whole = {key: int(number(row, key)) for key in ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab")}
    if number(row, "n_experts") or not all(whole[key] for key in ("layers", "hidden", "heads", "ffn", "vocab")):
        return None
    whole["kv_heads"] = whole["kv_heads"] or whole["heads"]
    whole["head_dim"] = whole["head_dim"] or whole["hidden"] // whole["heads"]
    told = number(row, "params_b") * 1e9
    try:
        shapes = [Architecture(**whole, gated_ffn=g, tied_embeddings=t) for g in (True, False) for t in (True, False)]  # type: ignore[arg-type]
    except ConfigError:
        return None
    near = min((network_of(shape) for shape in shapes), key=lambda n: abs(n.total - told))
    return near if abs(near.total - told) < 0.1 * told else None
