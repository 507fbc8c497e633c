"""Checks a recorded decision against a spec that changed since. The machines are kept unless the spec requires others."""

from dataclasses import replace
from datetime import date
from pathlib import Path

from rackwright.catalog import Catalog
from rackwright.diagnostics.problem import Level, Problem
from rackwright.sizing.plan import SizingPlan
from rackwright.sizing.selection.revalidation import resize
from rackwright.spec import Spec
from rackwright.workflow.decision import Decision, compiled, renewal, spec_digest

FIXED = ("account", "region", "zone")
"""Parts of a place that cannot change without replacing machines and data. Setting a part that was empty changes nothing."""


def revalidate(decision: Decision, spec: Spec, catalog: Catalog, path: Path, today: date) -> tuple[Decision, list[Problem]]:
    """The decision updated to the spec, with warnings; or the unchanged decision, with the errors that make it invalid.

    A decision whose spec is unchanged for sizing is returned unchanged. Otherwise only the recorded machines are sized again, at their
    recorded price and place, so that a changed model, replica maximum or dataset takes effect on them.
    """
    if decision.spec != spec.name:
        reason = f"{path.name} was recorded for {decision.spec}, not {spec.name}; a different name replaces every resource"
        return decision, [Problem("D-other", reason, fix=f"restore the name, or {renewal(path)}")]
    ended = _ended(decision, path, today)
    if decision.spec_digest == spec_digest(spec) and not decision.by_hand:
        return decision, ended
    chosen, fix = decision.fit.candidate, f"{renewal(path)}, or revert the edit"
    again = resize(spec, catalog, chosen, today=today)
    if not isinstance(again, SizingPlan):
        from rackwright.wording.rejections import rejection_text

        old = f"{chosen.label}, chosen on {decision.chosen_on}, no longer satisfies the spec"
        return decision, [Problem("D-stale", f"{old}: {rejection_text(why)}", fix=fix) for why in again]
    new = replace(decision, plan=_merged(decision.plan, again))
    was, now = decision.place, compiled(new, spec, today, catalog=catalog).place
    if moved := [part for part in FIXED if was and getattr(was, part) and getattr(was, part) != getattr(now, part)]:
        old_place, new_place = (", ".join(f"{part} {getattr(place, part)}" for part in moved) for place in (was, now))
        reason = f"Moving from {old_place} to {new_place} replaces every resource of the stack"
        return decision, [Problem("D-moved", reason, fix=fix)]
    expiry = f"; the stack still expires on {decision.expires_on}" if decision.expires_on else ""
    reason = f"The spec changed since {decision.chosen_on}. The recorded machines still satisfy it and are kept{expiry}"
    return new, [Problem("D-edited", reason, level=Level.WARNING, fix=renewal(path)), *ended]


def _merged(old: SizingPlan, new: SizingPlan) -> SizingPlan:
    """The new plan with the recorded zones and prices. Shared storage never shrinks, because shrinking replaces it."""
    was, fit = old.fits[0].candidate, new.fits[0]
    same = {"zones": was.zones, "price_usd_per_hour": was.price_usd_per_hour, "price_as_of": was.price_as_of}
    same |= {"price_source": was.price_source, "price_region": was.price_region}
    storage = replace(
        new.storage,
        capacity_bytes=max(old.storage.capacity_bytes, new.storage.capacity_bytes),
        throughput_bytes_per_s=max(old.storage.throughput_bytes_per_s, new.storage.throughput_bytes_per_s),
    )
    return replace(new, fits=(replace(fit, candidate=replace(fit.candidate, **same)),), storage=storage)


def _ended(decision: Decision, path: Path, today: date) -> list[Problem]:
    """A warning about an expired stack: nothing deletes it."""
    if not decision.expires_on or today < date.fromisoformat(decision.expires_on):
        return []
    reason = f"The stack expired on {decision.expires_on}; its machines still run and cost money"
    fix = f"take it down with `pulumi config set rackwright:teardown true`, `pulumi up` and `pulumi destroy`, or {renewal(path)} from today"
    return [Problem("D-ended", reason, level=Level.WARNING, fix=fix)]
