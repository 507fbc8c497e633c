"""What a choice leads to: the stack, its whole bill, the quota it takes, and every rule that speaks against it."""

from dataclasses import dataclass
from typing import Any

from rackwright.catalog import Catalog
from rackwright.cost import Bill
from rackwright.diagnostics.problem import Level, Problem
from rackwright.sizing.plan import SizingPlan
from rackwright.stackplan import StackPlan
from rackwright.validation.stack import QuotaNeed


@dataclass(frozen=True)
class StackPreview:
    """stack and bill are None where this release cannot build the choice; `problems` then say why.

    recorded: in words, what the decision beside the spec holds where that is another machine than the one looked at.
    """

    stack: StackPlan | None = None
    bill: Bill | None = None
    quotas: tuple[QuotaNeed, ...] = ()
    problems: tuple[Problem, ...] = ()
    recorded: str = ""

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.level is Level.ERROR)

    def as_json(self) -> dict[str, Any]:
        return {
            "bill": bill_json(self.bill) if self.bill else None,
            "quota": [{"code": q.code, "region": q.region, "amount": q.amount, "unit": q.unit, "machine": q.machine} for q in self.quotas],
            "problems": [problem.as_json() for problem in self.problems],
        }


def doubts(plan: SizingPlan, preview: StackPreview) -> list[tuple[Level, str]]:
    """Everything that is doubtful or wrong about the choice, in words, once each."""
    said = (*plan.warnings, *(plan.chosen.warnings if plan.chosen else ()))
    found = [(Level.WARNING, words) for words in (*filter(None, [preview.recorded]), *said)]
    found += [(p.level, "; ".join(filter(None, [f"{p.code}: {p.reason}", p.fix]))) for p in preview.problems]
    return list(dict.fromkeys(found))


def quota_words(preview: StackPreview) -> list[str]:
    """What each quota is called, how much is taken, what the cloud gives by default; those within it in one sentence."""
    rows = {row.code: row for row in Catalog.default().quotas if row.code}
    words, within = [], []
    for need in preview.quotas:
        row = rows.get(need.code)
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
