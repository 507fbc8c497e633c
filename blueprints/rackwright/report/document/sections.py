"""Sections of a report: node requirements and serving economics, as text."""

from dataclasses import dataclass

from rackwright.report.terminal import economics, node
from rackwright.sizing.economics.serving import Economics
from rackwright.sizing.node.requirements import NodeRequirements


@dataclass(frozen=True)
class MachineSection:
    """Node requirements. rows: name, needed, available, reason. lines: (label, text)."""

    rows: tuple[tuple[str, ...], ...]
    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class EconomicsSection:
    """Serving economics. sold: the unit as text. loads: cells of the load table. elsewhere: cells per accelerator."""

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
