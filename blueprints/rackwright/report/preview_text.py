"""Sentences about a previewed stack that the terminal and the report share: warnings about the choice, and quotas."""

from rackwright.diagnostics.problem import Level, Stage
from rackwright.sizing.plan import SizingPlan
from rackwright.workflow.stack_preview import StackPreview


def doubts(plan: SizingPlan, preview: StackPreview) -> list[tuple[Level, str]]:
    """Warnings and errors about the choice as sentences, once each; what only building needs is left out."""
    said = (*plan.warnings, *(plan.chosen.warnings if plan.chosen else ()))
    found = [(Level.WARNING, words) for words in (*filter(None, [preview.recorded]), *said)]
    found += [(p.level, f"{p.code}: {p.advice}") for p in preview.problems if p.stage is Stage.PLAN]
    return list(dict.fromkeys(found))


def quota_increases(preview: StackPreview) -> str:
    """Quotas above the cloud's defaults, in one sentence; "" without one."""
    above = []
    for need in preview.quotas:
        row = preview.known_quotas.get(need.code)
        if row is None or row.default is None or need.amount > row.default:
            usual = "" if row is None or row.default is None else f", default {row.default:,g}"
            above.append(f"{need.amount:,g} {need.unit} for {need.machine} ({need.code or 'code not published'}{usual})")
    return f"check your account in {preview.quotas[0].region}: {', '.join(above)}" if above else ""


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
