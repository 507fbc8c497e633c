"""Two sections of a report: the rest of the machine, and serving economics. Words only; the numbers are the plan's and the economics'."""

from dataclasses import dataclass

from rackwright.report.terminal import economics, node
from rackwright.sizing.economics.serving import Economics
from rackwright.sizing.node.requirements import NodeRequirements


@dataclass(frozen=True)
class MachineSection:
    """rows: what, need, have, why of one node; lines: (label, words)."""

    rows: tuple[tuple[str, ...], ...]
    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class EconomicsSection:
    """sold: the unit in words; loads: cells of the load table; elsewhere: cells of each accelerator."""

    sold: str
    loads: tuple[tuple[str, ...], ...]
    lines: tuple[tuple[str, str], ...]
    elsewhere: tuple[tuple[str, ...], ...]
    reported: str
    notes: tuple[str, ...]


def machine_section(found: NodeRequirements | None) -> MachineSection | None:
    if found is None:
        return None
    lines = tuple((label.capitalize(), words) for label, words in node.requirement_lines(found) if label != "node")
    return MachineSection(tuple(node.rows(found)), lines)


def economics_section(e: Economics | None) -> EconomicsSection | None:
    if e is None:
        return None
    lines = tuple((label.capitalize(), words) for label, words in economics.economics_lines(e))
    elsewhere = tuple(economics.comparison(e))
    sold = economics.SOLD[e.unit]
    return EconomicsSection(sold, tuple(economics.loads(e)), lines, elsewhere, economics.field_report_text(e), e.warnings)
