"""The compiled stack of a fit with its bill, quotas and problems."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rackwright.catalog.rows import Quota
from rackwright.cost import Bill
from rackwright.diagnostics.problem import Level, Problem, Stage
from rackwright.sizing.plan import SizingPlan
from rackwright.stackplan import StackPlan
from rackwright.validation.stack import QuotaNeed
from rackwright.workflow.open_items import open_items


@dataclass(frozen=True)
class StackPreview:
    """The stack of one fit with its bill, quotas and problems; stack and bill are None where this release cannot build the fit.

    recorded: a sentence that names the recorded machines where the decision beside the spec has others.
    plan: the ranked candidates. refusals: per rank, mistakes of the spec and limits of this release that prevent the stack of the fit.
    known_quotas: quotas of the pipeline's catalog by code.
    """

    stack: StackPlan | None = None
    bill: Bill | None = None
    quotas: tuple[QuotaNeed, ...] = ()
    problems: tuple[Problem, ...] = ()
    recorded: str = ""
    refusals: tuple[tuple[Problem, ...], ...] = ()
    known_quotas: Mapping[str, Quota] = field(default_factory=dict)
    plan: SizingPlan | None = None

    @property
    def errors(self) -> tuple[Problem, ...]:
        """Problems that make the plan itself wrong."""
        return tuple(problem for problem in self.problems if problem.level is Level.ERROR and problem.stage is Stage.PLAN)

    @property
    def before_you_build(self) -> tuple[Problem, ...]:
        """Open items that stop building, not planning, errors first."""
        return open_items(self.problems)

    def refusal(self, rank: int) -> str:
        """Why the stack of a rank, counted from 1, cannot be built: mistakes of the spec, else limits of this release; empty if it can."""
        found = self.refusals[rank - 1] if rank <= len(self.refusals) else ()
        mistakes = [problem for problem in found if problem.stage is Stage.PLAN]
        where = "with this spec" if mistakes else "in this release"
        return f"not buildable {where}: {'; '.join(problem.reason for problem in mistakes or found)}" if found else ""

    def as_json(self) -> dict[str, Any]:
        return {
            "bill": bill_json(self.bill) if self.bill else None,
            "quota": [{"code": q.code, "region": q.region, "amount": q.amount, "unit": q.unit, "machine": q.machine} for q in self.quotas],
            "problems": [problem.as_json() for problem in self.problems],
            "before_you_build": [problem.as_json() for problem in self.before_you_build],
        }


def doubts(plan: SizingPlan, preview: StackPreview) -> list[tuple[Level, str]]:
    """Warnings and errors about the choice as sentences, once each; what only building needs is left out."""
    said = (*plan.warnings, *(plan.chosen.warnings if plan.chosen else ()))
    found = [(Level.WARNING, words) for words in (*filter(None, [preview.recorded]), *said)]
    found += [(p.level, f"{p.code}: {p.advice}") for p in preview.problems if p.stage is Stage.PLAN]
    return list(dict.fromkeys(found))


def quota_words(preview: StackPreview) -> list[str]:
    """Name, amount and cloud default of each quota; quotas within the defaults in one sentence."""
    words, within = [], []
    for need in preview.quotas:
        row = preview.known_quotas.get(need.code)
        default = row.default if row else None
        if default is not None and need.amount <= default:
            within.append(f"{row.family if row else need.code} {need.amount:,g} of {default:,g}")
            continue
        name = ", ".join(filter(None, [row.family if row else "", need.code or "code not published"]))
        usual = "not published" if default is None else f"{default:,g}"
        words.append(f"{need.amount:,g} {need.unit} in {need.region} for {need.machine} ({name}; default {usual}, check your account)")
    return [*words, *([f"within the cloud's defaults: {', '.join(within)}"] if within else [])]


def bill_json(costs: Bill) -> dict[str, Any]:
    """A bill as plain data: amounts in US dollars, None where no price is published or only use will tell."""
    lines = [
        {
            "what": line.what,
            "quantity": line.quantity,
            "unit": line.unit,
            "unit_price_usd": line.unit_price_usd,
            "per": line.per,
            "price_date": line.price_date,
            "source": line.source,
            "hourly_usd": line.hourly_usd,
            "total_usd": line.total_usd,
        }
        for line in costs.lines
    ]
    sums = {"hourly_usd": costs.hourly_usd, "total_usd": costs.total_usd, "hours": costs.hours, "covers": costs.covers}
    return {"lines": lines, **sums, "not_published": list(costs.unknown), "by_use": list(costs.by_use)}
