"""Write a report file: HTML without external resources, or Markdown for a pull request."""

import re
from datetime import date
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from rackwright.catalog import Catalog
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem, escaped
from rackwright.files import write_text
from rackwright.report.document.contents import contents
from rackwright.sizing.economics.serving import Economics, economics_of
from rackwright.sizing.plan import SizingPlan
from rackwright.spec.spec import Spec
from rackwright.spec.workload import Serve
from rackwright.workflow.pipeline import Pipeline
from rackwright.workflow.stack.stack_preview import StackPreview

TEMPLATES = {".html": "report.html.j2", ".md": "report.md.j2"}


def check_target(target: Path, suffix: str = "") -> None:
    """Raises UserError for a suffix other than .html and .md, or other than `suffix` where it is set."""
    if suffix and target.suffix != suffix:
        raise UserError([Problem("R-form", f"{target} does not end in {suffix}", fix=f"write -o {target.with_suffix(suffix)}")])
    if target.suffix not in TEMPLATES:
        raise UserError([Problem("R-form", f"{target}: a report ends in {' or '.join(TEMPLATES)}", fix="name it report.html")])


def write_report(
    spec: Spec, plan: SizingPlan, target: Path, today: date, preview: StackPreview | None = None, catalog: Catalog | None = None
) -> None:
    """Writes the report of a plan to `target` atomically. Raises UserError if the file cannot be written."""
    check_target(target)
    write_text(target, render_report(spec, plan, target.suffix, today, preview, catalog))


def render_report(
    spec: Spec, plan: SizingPlan, suffix: str, today: date, preview: StackPreview | None = None, catalog: Catalog | None = None
) -> str:
    """The report as text. suffix: `.html` or `.md`. preview: stack and bill of the chosen fit, computed when left out. catalog: the one
    that the plan was sized with; the embedded one when left out."""
    pipeline = Pipeline.of_spec(spec, today, catalog, plan)
    economics = economics_of(spec, plan, pipeline.catalog) if isinstance(spec.workload, Serve) and not spec.is_several else None
    shown = contents(spec, plan, preview or pipeline.preview(), today, economics)
    plots = _plots(spec, plan, economics) if suffix == ".html" and not spec.is_several else {}
    return escaped(_template(suffix).render(shown, plots=plots), keep="\n\t")


@cache
def _template(suffix: str) -> Template:
    jinja = Environment(
        loader=PackageLoader("rackwright.report.document"),
        undefined=StrictUndefined,
        autoescape=suffix == ".html",
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.filters |= {"md": markdown, "code": code}
    return jinja.get_template(TEMPLATES[suffix])


def code(text: str) -> Markup:
    """Text escaped for HTML, with parts in backticks as <code>."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def markdown(text: object) -> str:
    """Text escaped for a Markdown cell or line: no table, HTML or link."""
    shown = " ".join(str(text).split())
    for character in "\\`*_[]<>|#":
        shown = shown.replace(character, f"\\{character}")
    return shown


def _plots(spec: Spec, plan: SizingPlan, economics: Economics | None) -> dict[str, Any]:
    """SVG by name and width, and the legend of the memory plot; empty without the extra `report`."""
    if find_spec("altair") is None or find_spec("vl_convert") is None:
        return {}
    from rackwright.report.document import plots

    widths = {"wide": plots.WIDE, "narrow": plots.NARROW}
    return {
        "scatter": {name: plots.scatter(spec, plan, width) for name, width in widths.items()},
        "memory": {name: plots.memory_bars(plan, width) for name, width in widths.items()},
        "load": {name: plots.cost_over_load(economics, width) for name, width in widths.items()} if economics else {},
        "legend": plots.legend(plan),
    }
