"""Sentences about a previewed stack that the terminal and the report share: warnings about the choice, and quotas."""

from rackwright.diagnostics.problem import Level, Stage
from rackwright.sizing.plan import SizingPlan
from rackwright.validation.stack import QuotaNeed
from rackwright.workflow.stack.stack_preview import StackPreview

NOT_PUBLISHED = "not published"


def doubts(plan: SizingPlan, preview: StackPreview) -> list[tuple[Level, str]]:
    """Warnings and errors about the choice as sentences, once each; what only building needs is left out."""
    said = (*plan.warnings, *(plan.chosen.warnings if plan.chosen else ()))
    found = [(Level.WARNING, words) for words in (*filter(None, [preview.recorded]), *said)]
    found += [(p.level, f"{p.code}: {p.advice}") for p in preview.problems if p.stage is Stage.PLAN]
    return list(dict.fromkeys(found))


def quota_increases(preview: StackPreview) -> str:
    """Quotas above the cloud's defaults, then those that the spec lists with their available amount; "" without any."""
    needs = [need for need in preview.quotas if need.code not in preview.granted_quotas and not _is_within_default(need, preview)]
    needs = [need for need in needs if need.of_machines or _default(need, preview) != NOT_PUBLISHED]
    above = ", ".join(f"{n.amount:,g} {n.unit} for {n.machine} ({_quota_name(n)}, default {_default(n, preview)})" for n in needs)
    return "; ".join(filter(None, [f"check your account in {needs[0].region}: {above}" if needs else "", _listed_quotas(preview)]))


def _listed_quotas(preview: StackPreview) -> str:
    """`listed in quotas: 768 of 768 vCPU for g7e.48xlarge (L-DB2E81BA)`; "" where the spec lists none that the stack needs."""
    listed = [need for need in preview.quotas if need.code in preview.granted_quotas]
    amounts = (f"{n.amount:,g} of {preview.granted_quotas[n.code]:,g} {n.unit} for {n.machine} ({n.code})" for n in listed)
    return f"listed in quotas: {', '.join(amounts)}" if listed else ""


def quota_words(preview: StackPreview) -> list[str]:
    """Name, amount and cloud default of each quota; those that the spec lists, and those within the defaults, in one sentence each."""
    words, within, further = [], [], []
    for need in (need for need in preview.quotas if need.code not in preview.granted_quotas):
        family = row.family if (row := preview.known_quotas.get(need.code)) else ""
        if _is_within_default(need, preview):
            within.append(f"{family} {need.amount:,g} of {_default(need, preview)}")
            continue
        if not need.of_machines and _default(need, preview) == NOT_PUBLISHED:
            further.append(f"{need.amount:,g} {need.unit} for {need.machine} ({_quota_name(need)})")
            continue
        name = ", ".join(filter(None, [family, _quota_name(need)]))
        default = f"default {_default(need, preview)}, check your account"
        words.append(f"{need.amount:,g} {need.unit} in {need.region} for {need.machine} ({name}; {default})")
    words += [f"further, without published defaults, check your project: {', '.join(further)}"] if further else []
    return [*words, *filter(None, [_listed_quotas(preview)]), *([f"within the cloud's defaults: {', '.join(within)}"] if within else [])]


def _quota_name(need: QuotaNeed) -> str:
    return need.code or "code not published"


def _default(need: QuotaNeed, preview: StackPreview) -> str:
    row = preview.known_quotas.get(need.code)
    return NOT_PUBLISHED if row is None or row.default is None else f"{row.default:,g}"


def _is_within_default(need: QuotaNeed, preview: StackPreview) -> bool:
    row = preview.known_quotas.get(need.code)
    return row is not None and row.default is not None and need.amount <= row.default
