"""Does what was recorded still stand for a spec that was edited since? The machines stay unless the spec forces others."""

from dataclasses import replace
from datetime import date
from pathlib import Path

from rackwright.catalog import Catalog
from rackwright.diagnostics.problem import Level, Problem
from rackwright.sizing.plan import SizingPlan
from rackwright.sizing.selection.revalidation import resize
from rackwright.spec import Spec
from rackwright.stackplan import PlacePlan
from rackwright.workflow.decision import Decision, compiled, renewal, spec_digest

FIXED = ("account", "region", "zone")
"""Parts of a place that no cloud moves a machine or its data between."""


def revalidate(decision: Decision, spec: Spec, catalog: Catalog, path: Path, today: date) -> tuple[Decision, list[Problem]]:
    """The decision as the spec reads now, with warnings; or as it was, with the errors that say why it no longer stands.

    A decision whose spec sizing would read the same is returned as it is. Otherwise the recorded machines alone are sized again, at their
    recorded price and in their recorded place, so that an edited model, ceiling of replicas or dataset reaches what runs on them.
    """
    if decision.spec != spec.name:
        return decision, [_renamed(decision, spec, path)]
    ended = _ended(decision, path, today)
    if decision.spec_digest == spec_digest(spec) and not decision.by_hand:
        return decision, ended
    chosen, fix = decision.fit.candidate, f"{renewal(path)}, or take the edit back"
    again = resize(spec, catalog, chosen, today=today)
    if not isinstance(again, SizingPlan):
        old = f"{chosen.label} was chosen on {decision.chosen_on} and no longer does"
        from rackwright.wording.rejections import rejection_text

        return decision, [Problem("D-stale", f"{old}: {rejection_text(why)}", fix=fix) for why in again]
    new = replace(decision, plan=_merged(decision.plan, again))
    moved = _moved(decision.place, compiled(new, spec, today, catalog=catalog).place)
    if moved:
        reason = f"what runs in {moved[0]} would have to move to {moved[1]}: that deletes and makes everything again"
        return decision, [Problem("D-moved", reason, fix=fix)]
    return new, [_edited(decision, path), *ended]


def _merged(old: SizingPlan, new: SizingPlan) -> SizingPlan:
    """The new numbers for the recorded machines. Their zones and price stay, and shared storage never shrinks: that would replace it."""
    was, fit = old.fits[0].candidate, new.fits[0]
    same = {"zones": was.zones, "price_usd_per_hour": was.price_usd_per_hour, "price_as_of": was.price_as_of}
    same |= {"price_source": was.price_source, "price_region": was.price_region}
    storage = replace(
        new.storage,
        capacity_bytes=max(old.storage.capacity_bytes, new.storage.capacity_bytes),
        throughput_bytes_per_s=max(old.storage.throughput_bytes_per_s, new.storage.throughput_bytes_per_s),
    )
    return replace(new, fits=(replace(fit, candidate=replace(fit.candidate, **same)),), storage=storage)


def _moved(was: PlacePlan | None, now: PlacePlan) -> tuple[str, str] | None:
    parts = [part for part in FIXED if was and getattr(was, part) != getattr(now, part)]
    return (_where(was, parts), _where(now, parts)) if was and parts else None


def _where(place: PlacePlan, parts: list[str]) -> str:
    return ", ".join(f"{part} {getattr(place, part)}" for part in parts)


def _ended(decision: Decision, path: Path, today: date) -> list[Problem]:
    """Nothing deletes a stack whose time is over, and whoever updates it should hear that it still costs."""
    if not decision.expires_on or today < date.fromisoformat(decision.expires_on):
        return []
    reason = f"the stack was to be gone on {decision.expires_on}, and nothing removes it: its machines go on costing"
    fix = f"take it down with `pulumi config set rackwright:teardown true`, `pulumi up` and `pulumi destroy`, or {renewal(path)} from today"
    return [Problem("D-ended", reason, level=Level.WARNING, fix=fix)]


def _renamed(decision: Decision, spec: Spec, path: Path) -> Problem:
    reason = f"{path.name} was recorded for {decision.spec}, not {spec.name}: under another name every resource would be a new one"
    return Problem("D-other", reason, fix=f"put the name back, or {renewal(path)}")


def _edited(decision: Decision, path: Path) -> Problem:
    expiry = f", and so does the expiry on {decision.expires_on}" if decision.expires_on else ""
    reason = f"edited since the choice of {decision.chosen_on}; the machines still do and stay{expiry}"
    return Problem("D-edited", reason, level=Level.WARNING, fix=renewal(path))
