"""docs/accelerators.md: the rates of every accelerator of the catalog, and who sells it.

`python -m rackwright.report.reference.accelerators_page docs/accelerators.md` renews it; a test compares it with the committed file.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from rackwright.catalog import Catalog
from rackwright.catalog.query import families, missing_facts, narrow_formats
from rackwright.catalog.rows import Accelerator, Machine
from rackwright.clouds import profile
from rackwright.report.terminal.catalog import scaled
from rackwright.wording.formatting import gib

INTRODUCTION = """# Accelerators

The rates that sizing uses, dense, without sparsity. `rackwright catalog accelerators --json` adds source, date and confidence of each row.
The page is generated: `python -m rackwright.report.reference.accelerators_page docs/accelerators.md`.

`precision: auto` is bf16 where an accelerator has it, else fp16 (T4, T4g, V100): in training with dynamic loss scaling, with the memory of
bf16 and fp32 master weights. A format that is not listed is rejected for training and serving, with the nearest one. Two formats are
stored, not computed in: nf4 on every accelerator, and fp4 weights of a model server on those with bf16. On Trainium and Inferentia sizing
uses 16 bit and wider only, because fp8 needs converted weights.
"""
SHARES = """
## Shares of an accelerator

These machines have a virtual GPU. Its share of memory is published. The same share of FLOP/s and memory bandwidth is assumed, which
NVIDIA's fixed-share scheduler gives; no run is published, so that intervals span a factor 2 either way.

| Machine | Accelerator | Share | Memory, GiB |
|---|---|---|---|
"""
COLUMNS = ("Accelerator", "Memory, GiB", "Bandwidth, GB/s", "16 bit, TFLOP/s", "Formats of 16 bit and less")


def page(catalog: Catalog) -> str:
    """Markdown of the whole page."""
    sold = [row for row in catalog.accelerators if families(catalog, row)]
    others = [row for row in catalog.accelerators if row not in sold]
    shares = [m for m in catalog.machines if m.accelerator_fraction < 1 and not profile(m.cloud).is_owned]
    gaps = "".join(f"- {text}\n" for text in _gaps(catalog, sold))
    return (
        f"{INTRODUCTION}\n## On sale in a cloud\n\n{_line(*COLUMNS, 'Sold in')}{'|---' * 6}|\n"
        f"{''.join(_line(*_rates(row), ', '.join(families(catalog, row))) for row in sold)}{SHARES}"
        f"{''.join(map(_share, shares))}\n## On sale without published rates\n\nSizing rejects them.\n\n{gaps}"
        f"\n## In servers and published runs\n\n{_line(*COLUMNS)}{'|---' * 5}|\n{''.join(_line(*_rates(row)) for row in others)}"
    )


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


def _rates(row: Accelerator) -> tuple[str, ...]:
    """Cells of COLUMNS."""
    return (
        row.name,
        gib(row.memory_bytes).removesuffix(" GiB"),
        scaled(row.memory_bandwidth_bytes_per_s, 1e9),
        scaled(row.bf16_flops or row.fp16_flops, 1e12),
        ", ".join(narrow_formats(row)),
    )


def _share(machine: Machine) -> str:
    memory_gib = gib(machine.accelerator_memory_bytes).removesuffix(" GiB")
    return _line(machine.name, machine.accelerator or "", f"{machine.accelerator_fraction:g}", memory_gib)


def _gaps(catalog: Catalog, sold: list[Accelerator]) -> Iterator[str]:
    """One line per accelerator on sale whose rates are not published."""
    for row in sold:
        machine = next(m for m in catalog.machines if m.accelerator == row.name)
        if missing := missing_facts(machine, row):
            yield f"{row.name} ({', '.join(families(catalog, row))}): {' and '.join(missing)}"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(Catalog.default()), encoding="utf-8")
