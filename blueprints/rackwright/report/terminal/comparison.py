"""Two candidates on a terminal: what decided, then their terms side by side."""

from rich.console import Console
from rich.text import Text

from rackwright.report.comparison.candidate_comparison import NONE, CandidateComparison
from rackwright.report.terminal.layout.tables import print_labelled, table, title
from rackwright.wording.formatting import machines_and_parts, plural


def show_comparison(out: Console, found: CandidateComparison, full: bool = False) -> None:
    """full: also terms that are equal."""
    names = [machines_and_parts(side.candidate) for side in found.sides]
    title(out, found.spec, " against ".join(side.candidate.label for side in found.sides))
    print_labelled(out, "decided", found.decided)
    for side, name in zip(found.sides, names, strict=True):
        print_labelled(out, "build", f"{name} is {side.refusal}" if side.refusal else "", "bold yellow")
    shown = [term for term in found.terms if full or not (term.is_equal or term.is_detail)]
    rows: list[tuple[str | Text, ...]] = []
    group = ""
    for term in shown:
        if term.group != group:
            group = term.group
            rows.append((Text(group, style="bold"), "", "", ""))
        first, second = (cell.text if cell else NONE for cell in term.cells)
        rows.append((f"  {term.name}", first, second, term.difference))
    out.print()
    out.print(table(("", f"A: {names[0]}", f"B: {names[1]}", "B to A"), rows, right=("B to A",)))
    if hidden := len(found.terms) - len(shown):
        out.print(Text(f"{plural(hidden, 'term')} more, equal or of one side: --full", style="dim"))
