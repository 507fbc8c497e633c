"""The nearest rejected candidates of a plan, on a terminal."""

from rich.console import Console

from rackwright.report.alternatives import rejected_text
from rackwright.report.terminal.tables import heading, print_labelled
from rackwright.sizing.plan import Fit, Rejected, SizingPlan
from rackwright.sizing.selection.ranking import nearest_misses
from rackwright.wording.formatting import machines_and_parts
from rackwright.wording.rejections import candidate_remedy, rejection_text

MISSES = 3


def show_misses(out: Console, plan: SizingPlan, lines: int | None = None) -> None:
    """The nearest rejected candidate of each machine, with its failed constraints and remedy. lines: of each text."""
    near = nearest_misses(plan, MISSES)
    if near:
        out.print()
        print_labelled(out, "rejected", rejected_text(plan), max_lines=lines)
        heading(out, "nearest rejected candidates")
    for miss in near:
        out.print(f"{' + '.join(map(machines_and_parts, (miss.candidate, *miss.further)))}, {where_of(miss)}")
        print_labelled(out, "  fails", "\n".join(map(rejection_text, miss.rejections)), max_lines=lines)
        print_labelled(out, "  remedy", candidate_remedy(miss), max_lines=lines)


def where_of(item: Fit | Rejected) -> str:
    return ", ".join(filter(None, [item.candidate.region, item.candidate.capacity]))
