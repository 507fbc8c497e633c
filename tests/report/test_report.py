"""The report: no external resources, decision first, escaped names."""

import re
from dataclasses import replace
from datetime import date
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rackwright import load, size
from rackwright.compile.compile import PATHS
from rackwright.report import render_report
from rackwright.sizing.plan import SizingPlan
from rackwright.spec.spec import Spec
from rackwright.stackplan import BlueprintKind
from rackwright.workflow.pipeline import Pipeline
from rackwright.workflow.stack.stack_preview import StackPreview

pytestmark = pytest.mark.xdist_group("report")  # plans and pages are cached
ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 21)
STACKS = ("chat-eks", "chat-serve", "gemma-pretrain", "llama-70b-sft", "mistral-7b-qlora")
VOID = {"meta", "br", "img", "input", "hr", "link", "col", "source", "wbr", "area", "base", "embed", "track"}
ASKS = {"src", "href", "xlink:href", "srcset", "action", "data", "poster", "background"}
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>|`*[x](http://evil.example)"


class Page(HTMLParser):
    """A strict parser: elements must be closed in order, and IDs must be unique."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.ids: list[str] = []
        self.asked: list[str] = []
        self.tags: set[str] = set()
        self.words: list[str] = []
        self.feed(text)
        self.close()
        self.wrong += [f"{tag} is never closed" for tag in self.open]

    def handle_startendtag(self, tag, attrs):
        self._note(tag, attrs)

    def handle_starttag(self, tag, attrs):
        self._note(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.words.append(data)

    def _note(self, tag, attrs):
        self.tags.add(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        self.asked += [f"{tag} {name}={value}" for name, value in attrs if name in ASKS and not (value or "").startswith("#")]
        self.wrong += [f"{tag} has {name}" for name, _ in attrs if name.startswith("on")]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@cache
def planned(stack: str) -> tuple[Spec, SizingPlan, StackPreview]:
    spec = load(ROOT / "stacks" / f"{stack}.yaml")
    plan = size(spec, today=TODAY)
    return spec, plan, Pipeline.of_spec(spec, TODAY, plan=plan).preview()


@cache
def rendered(stack: str, suffix: str) -> str:
    spec, plan, ahead = planned(stack)
    return render_report(spec, plan, suffix, TODAY, ahead)


@cache
def nothing_fits() -> tuple[Spec, SizingPlan]:
    spec, _, _ = planned("llama-70b-sft")
    hurried = spec.model_copy(update={"goals": spec.goals.model_copy(update={"max_duration": 1800.0})})
    return hurried, size(hurried, today=TODAY)


@pytest.mark.parametrize("stack", STACKS)
def test_html_is_valid_and_loads_no_external_resources(stack):
    html = rendered(stack, ".html")
    page = Page(html)
    assert page.wrong == []
    assert page.asked == []
    assert sorted(page.ids) == sorted(set(page.ids))
    assert not page.tags & {"script", "link", "iframe", "object", "embed", "img"}
    assert not re.findall(r"url\((?!#)|@import", html)
    assert len(html) < 600_000  # a point per machine and count that fits


@pytest.mark.parametrize("stack", STACKS)
def test_first_page_has_the_decision(stack):
    spec, plan, ahead = planned(stack)
    assert plan.chosen
    assert ahead.bill
    page = Page(rendered(stack, ".html")).text
    first = page[: page.index("Cost and ")]
    assert plan.chosen.candidate.machine in first or plan.chosen.candidate.topology in first
    for words in ("Chosen", "Runner-up", "Cheapest rejected", "Quota", "Price", "Total bill", plan.chosen.candidate.price_as_of):
        assert words in first
    assert f"{ahead.bill.total_usd:,.0f} USD" in first
    limits = [spec.goals.max_cost and f"{spec.goals.max_cost:,.0f} USD"]
    assert all(limit in first for limit in limits if limit)


def test_order_of_sections():
    headings = re.findall(r"<h2>(.*?)</h2>", rendered("llama-70b-sft", ".html"))
    assert [heading.split(" for ")[0] for heading in headings] == [
        "Goals and expected values",
        "Rationale",
        "Quotas, prices and evidence",
        "Before you build",
        "Cost and time of every candidate",
        "Memory of one accelerator",
        "Bill",
        "Node requirements",
        "Ranking",
        "Rejected, nearest first",
        "Assumptions",
    ]


def test_only_serving_reports_have_economics():
    html = rendered("chat-serve", ".html")
    headings = re.findall(r"<h2>(.*?)</h2>", html)
    first = headings.index("Serving economics")
    assert headings[first : first + 3] == ["Serving economics", "Cost over load", "The same service on other accelerators"]
    assert html.count("<svg ") == 6, "three plots, each for a wide and a narrow screen"
    text = Page(html).text
    assert "USD per million output tokens" in text
    assert "break-even" in text
    assert "1 x TPU v6e" in text
    markdown = rendered("chat-serve", ".md")
    assert "### Serving economics" in markdown
    assert "Serving economics" not in rendered("llama-70b-sft", ".md")


def test_node_requirements_section():
    plan = planned("llama-70b-sft")[1]
    assert plan.machine
    text = Page(rendered("llama-70b-sft", ".html")).text
    section = text[text.index("Node requirements") : text.index("Ranking")]
    for need in plan.machine.needs:
        assert need.name in section
    assert "BTU/h" in section
    assert "checkpoints of" in section


def test_bill_lines_have_price_dates():
    _, _, ahead = planned("llama-70b-sft")
    assert ahead.bill
    text = Page(rendered("llama-70b-sft", ".html")).text
    bill = text[text.index("Bill for") : text.index("Ranking")]
    for line in ahead.bill.lines:
        assert line.what in bill
        assert line.total_usd is None or line.price_date in bill
    assert all(name in bill for name in ahead.bill.unknown)


@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_the_file_system_shows_what_limits_it_and_that_its_price_is_an_example(suffix):
    page = rendered("llama-70b-sft", suffix)
    text = Page(page).text if suffix == ".html" else page
    assert "1.2 GB/s, limited by its throughput tier; checkpoint 14 min, limit 2 h; illustrative price" in text
    assert "USD of the total at illustrative prices" in text
    assert "0.235 USD / GiB-month (illustrative)" in text or "0.235 / GiB-month (illustrative)" in text


def test_intervals_are_in_text_and_plots():
    html = rendered("llama-70b-sft", ".html")
    chosen = planned("llama-70b-sft")[1].chosen
    assert chosen
    assert chosen.duration_s
    hours = [f"{value / 3600:.1f}" for value in (chosen.duration_s.p50, chosen.duration_s.p10, chosen.duration_s.p90)]
    assert "{} h ({} to {})".format(*hours) in html
    assert html.count("<svg ") == 4, "two plots, each for a wide and a narrow screen"


def test_report_is_deterministic():
    spec, plan, ahead = planned("gemma-pretrain")
    assert render_report(spec, plan, ".html", TODAY, ahead) == rendered("gemma-pretrain", ".html")
    assert "2026-11-21" in rendered("gemma-pretrain", ".html")


def test_report_without_a_fit():
    spec, plan = nothing_fits()
    assert plan.chosen is None
    page = Page(render_report(spec, plan, ".html", TODAY))
    assert page.wrong == []
    assert "No candidate meets every goal." in page.text
    assert "Nearest rejected candidates" in page.text
    assert "max_duration: " in page.text[: page.text.index("Rejected, nearest first")]
    text = render_report(spec, plan, ".md", TODAY)
    assert "### Nearest rejected candidates" in text


def hostile() -> tuple[Spec, SizingPlan]:
    spec, plan, _ = planned("mistral-7b-qlora")
    assert plan.chosen
    fit = replace(plan.chosen, warnings=(HOSTILE,), candidate=replace(plan.chosen.candidate, capacity_id=HOSTILE, price_source=HOSTILE))
    named = replace(plan, spec=HOSTILE, facts=replace(plan.facts, model=HOSTILE), scaling=HOSTILE, fits=(fit, *plan.fits[1:]))
    worst = replace(plan.rejected[0].rejections[0], subject=HOSTILE, remedies=(HOSTILE,))
    return spec, replace(named, rejected=(replace(plan.rejected[0], rejections=(worst,)), *plan.rejected[1:]))


def test_html_escapes_names():
    page = Page(render_report(*hostile(), ".html", TODAY))
    assert page.wrong == []
    assert page.asked == []
    assert not page.tags & {"script", "img"}
    assert HOSTILE in page.text


def test_markdown_escapes_names():
    text = render_report(*hostile(), ".md", TODAY)
    assert "alert(1)" in text
    assert not re.search(r"(?<!\\)<(script|img)", text)
    assert "](http" not in text.replace("\\](", "")
    for line in text.splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) in (4, 5, 7, 9), line


@pytest.mark.parametrize("stack", STACKS)
def test_markdown_tables_have_one_width_and_a_blank_line_before_them(stack):
    lines = rendered(stack, ".md").splitlines()
    columns = 0
    for before, line in zip(["", *lines], lines, strict=False):
        if not line.startswith("|"):
            continue
        if not before.startswith("|"):
            assert before == "", f"GitHub needs an empty line before a table: {before!r}"
            columns = len(re.findall(r"(?<!\\)\|", line))
        assert len(re.findall(r"(?<!\\)\|", line)) == columns, line
    assert "None" not in rendered(stack, ".md")


def test_report_without_the_plotting_extra_names_it(monkeypatch):
    from rackwright.report.document import write

    monkeypatch.setattr(write, "find_spec", lambda name: None)
    page = Page(render_report(*planned("mistral-7b-qlora")[:2], ".html", TODAY))
    assert page.wrong == []
    assert 'pip install "rackwright[report]"' in page.text
    assert "svg" not in page.tags


def test_unpublished_price_is_never_zero():
    spec, plan, _ = planned("mistral-7b-qlora")
    assert plan.chosen
    chosen = replace(plan.chosen, cost_usd=None, usd_per_hour=None, candidate=replace(plan.chosen.candidate, price_usd_per_hour=None))
    unpriced = replace(plan, fits=(chosen, *plan.fits[1:]))
    text = Page(render_report(spec, unpriced, ".html", TODAY)).text
    assert "not published" in text[: text.index("Rationale")]
    assert "0.00 USD" not in text


@pytest.mark.parametrize("stack", ["mistral-7b-qlora", "gemma-pretrain"])
def test_report_of_a_spec_without_limits(stack):
    spec, _, _ = planned(stack)
    free = spec.model_copy(update={"goals": spec.goals.model_copy(update={"max_duration": None, "max_cost": None})})
    page = Page(render_report(free, size(free, today=TODAY), ".html", TODAY))
    assert page.wrong == []
    assert "limit " not in page.text[page.text.index("Cost and ") : page.text.index("Memory of one")], "no line is drawn where none was set"


def test_unsupported_blueprint_is_a_warning(monkeypatch):
    spec, plan, _ = planned("chat-serve")
    monkeypatch.delitem(PATHS, (BlueprintKind.BOX, "gcp"))
    boxed = spec.model_copy(update={"blueprint": spec.blueprint.model_copy(update={"kind": "box"})})
    ahead = Pipeline.of_spec(boxed, TODAY, plan=plan).preview()
    assert ahead.stack is None
    assert ahead.bill is None
    assert [(problem.code, str(problem.stage)) for problem in ahead.before_you_build] == [("C-no-path", "build")]
    assert ahead.errors == ()
    text = Page(render_report(boxed, plan, ".html", TODAY, ahead)).text
    assert "This release does not support a box on gcp" in text
    assert "machines only" in text, "the sum is not of everything"
