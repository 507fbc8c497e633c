"""Write a report file: HTML that needs nothing else, or Markdown for a pull request."""

from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from rackwright.errors import UserError
from rackwright.problems import Problem
from rackwright.report.view import View, view
from rackwright.report.words import span, usd
from rackwright.sizing.plan import SizingPlan
from rackwright.spec.spec import Spec

FORMS = {".html": "report.html.j2", ".md": "report.md.j2"}


def write_report(spec: Spec, plan: SizingPlan, target: Path, today: date) -> None:
    """Renders the report of a plan to `target`. Raises UserError for an ending that is neither .html nor .md, or a folder that is not there."""
    if target.suffix not in FORMS:
        raise UserError([Problem("R-form", f"{target.name}: a report ends in {' or '.join(FORMS)}", fix="name it report.html")])
    if not target.parent.is_dir():
        raise UserError([Problem("R-folder", f"there is no folder {target.parent}", fix="make it first")])
    target.write_text(render_report(spec, plan, target.suffix, today), encoding="utf-8")


def render_report(spec: Spec, plan: SizingPlan, suffix: str, today: date) -> str:
    """The report as text; suffix: `.html` or `.md`."""
    shown = _view(spec, plan, today)
    jinja = Environment(
        loader=PackageLoader("rackwright.report"),
        undefined=StrictUndefined,
        autoescape=suffix == ".html",
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.filters |= {"usd": usd, "span": span}
    plots = _plots(spec, plan) if suffix == ".html" else {}
    return jinja.get_template(FORMS[suffix]).render(v=shown, plots=plots)


def _view(spec: Spec, plan: SizingPlan, today: date) -> View:
    from rackwright.catalog import Catalog
    from rackwright.compile import compile_plan
    from rackwright.cost import bill
    from rackwright.report.quota import quota_lines

    catalog = Catalog.default()
    costs, reason = None, "Nothing was chosen, so there is nothing to bill."
    if plan.chosen:
        try:
            stack = compile_plan(spec, plan, plan.chosen, today=today)
            costs = bill(stack, plan.chosen, spec, catalog)
        except UserError as error:
            reason = str(error)
    return view(spec, plan, costs, reason, quota_lines(plan.chosen, catalog) if plan.chosen else (), today)


def _plots(spec: Spec, plan: SizingPlan) -> dict[str, Any]:
    """SVG by name and width; empty where the extra `report` is not installed, which the page says."""
    if find_spec("altair") is None or find_spec("vl_convert") is None:
        return {}
    from rackwright.report import plots

    widths = {"wide": plots.WIDE, "narrow": plots.NARROW}
    return {
        "scatter": {name: plots.scatter(spec, plan, width) for name, width in widths.items()},
        "memory": {name: plots.memory_bars(plan, width) for name, width in widths.items()},
    }
