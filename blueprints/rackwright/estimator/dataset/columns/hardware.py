"""Hardware columns of a row: accelerator, count, nodes and links."""

import re
from typing import Any

from rackwright.catalog.read import Catalog
from rackwright.estimator.config import accelerators as known
from rackwright.estimator.dataset.columns.cells import PrintedRow

GBIT = {"hdr": 200.0, "ndr": 400.0, "xdr": 800.0, "edr": 100.0}
"""InfiniBand generation -> Gb/s per port. Source: IBTA roadmap."""
NVLINK_GB_S = 25.0
"""GB/s per NVLink 3 link (A100) and direction. Source: NVIDIA A100 whitepaper, 600 GB/s over 12 links, both directions."""


def hardware_fields(row: PrintedRow, catalog: Catalog | None = None) -> dict[str, Any]:
    """Return the fields of HardwareConfig. catalog: has the accelerators; default: the embedded one. Raises BrokenCell."""
    accelerators, nodes = accelerator_count(row), row.count("nodes")
    links = row.lower("interconnect")
    tpu = row.csv == "tpu_training" or "tpu" in row.lower("hardware")
    per_node = accelerators // nodes if nodes and accelerators % nodes == 0 and not tpu else None
    size = re.search(r"with (\d+(?:\.\d+)?) gib", row.lower("hardware"))
    watts = re.search(r"power limit (\d+) w", row.notes)
    nvlink = re.search(r"nvlink (\d+)-link", links)
    unknown = f"GPU-{row.number('accel_mem_gb') or 80:g}GB"  # a GPU of the printed memory size
    found = {
        "accelerator": unknown if unknown_accelerator_reason(row, catalog) else accelerator_name(row),
        "count": accelerators,
        "per_node": per_node,
        "memory_gib": float(size.group(1)) if size else None,
        "power_watts": float(watts.group(1)) if watts and "w" not in row.lower("hardware") else None,
        "scale_up_gb_s": int(nvlink.group(1)) * NVLINK_GB_S if nvlink else None,
        "scale_up_domain": 72 if "nvl72" in links else None,
        "scale_out_gb_s": _scale_out(links, per_node or 8),
        "slices": nodes if tpu and nodes and accelerators % nodes == 0 else None,
    }
    return {k: v for k, v in found.items() if v is not None}


def unknown_accelerator_reason(row: PrintedRow, catalog: Catalog | None = None) -> str:
    """Return why the accelerator's speed is unknown; "" when it is known. Memory does not depend on it."""
    try:
        known.find(accelerator_name(row), catalog)
    except known.UnknownAccelerator as fault:
        return str(fault)
    return ""


def accelerator_name(row: PrintedRow) -> str:
    """Return the printed name with the memory size, from its own column when the name has none."""
    name, size = row.text("hardware"), row.number("accel_mem_gb")
    if size and not re.search(r"\d\s*gi?b", name.lower()) and re.fullmatch(r"[A-Za-z]+\d+", name):
        return f"{name}-{size:g}GB"
    return name or "not said"


def accelerator_count(row: PrintedRow) -> int:
    """Return the printed number of accelerators, else the product of the parallelism columns. Without data parallelism, expert parallelism
    counts as the number of replicas."""
    if printed := row.count("accel_count"):
        return printed
    made = 1
    for column in ("tp", "pp", "cp", "attention_dp"):
        made *= row.count(column) or 1
    return made * (row.count("dp") or row.count("ep") or 1)


def _scale_out(printed: str, per_node: int) -> float | None:
    """Return the GB/s per accelerator and direction of texts such as "4x OmniPath 100 Gb/s", "8x HDR IB" or "400 Gb/s per GPU"."""
    per_each = re.search(r"(\d+)\s*gb/s per gpu", printed)
    if per_each:
        return float(per_each.group(1)) / 8
    per_box = re.search(r"(\d+)\s*gb/s per node", printed)
    if per_box:
        return float(per_box.group(1)) / 8 / per_node
    for part in re.split(r"[;+,]", printed):
        cards = re.search(r"(\d+)\s*x\s", part)
        speed = re.search(r"(\d+)\s*gb(?:/s|e|it)", part) or next((g for g in GBIT if re.search(rf"\b{g}\b", part)), None)
        if cards and speed and not re.search(r"nvlink|nvswitch|storage|management|xgmi", part):
            rate = GBIT[speed] if isinstance(speed, str) else float(speed.group(1))
            return int(cards.group(1)) * rate / 8 / per_node if rate >= 25 else None
    return None
