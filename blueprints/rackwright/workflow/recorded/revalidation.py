"""Checks a recorded decision against a spec that changed since. The machines are kept unless the spec requires others.

A decision that was edited by hand keeps its machines only: price, place, versions and expiry are those of a new choice, every difference
is reported, and an update is refused.
"""

from dataclasses import replace
from datetime import date
from pathlib import Path

from pydantic_core import from_json

from rackwright.catalog import Catalog
from rackwright.compile import compile_plan
from rackwright.diagnostics.problem import Level, Problem, Stage
from rackwright.sizing.calibrated import calibration_digest
from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.sizing.rejection import Rejection
from rackwright.sizing.selection.revalidation import resize_stack
from rackwright.sizing.size import size
from rackwright.spec import Spec
from rackwright.wording.rejections import rejection_text, remedy
from rackwright.workflow.decision import FIRST_VERSION, Decision, compiled, leaves, record, recorded_file_system, renewal
from rackwright.workflow.recorded.recorded_choice import moved
from rackwright.workflow.spec_digest import spec_digests
from rackwright.workflow.stack.whole_bill import StackPricing

SENTENCES = {"binding", "digest", "plan_digest", "reason", "remedy", "scaling", "version", "warnings", "why", "words"}
"""Keys of a decision file that nothing is built from: sentences, digests and the version of the format."""


def revalidate(decision: Decision, spec: Spec, catalog: Catalog, path: Path, today: date) -> tuple[Decision, list[Problem]]:
    """The decision updated to the spec, with warnings; or the unchanged decision, with the errors that make it invalid.

    Errors of stage BUILD stop an update and leave the decision valid for a preview: those of a decision that was edited by hand.
    A decision whose spec is unchanged for sizing is returned unchanged. Otherwise only the recorded machines are sized again, at their
    recorded price and place, so that a changed model, replica maximum or dataset takes effect on them.
    """
    if decision.spec != spec.name:
        reason = f"{path.name} was recorded for {decision.spec}, not {spec.name}; a different name replaces every resource"
        return decision, [Problem("D-other", reason, fix=f"restore the name, or {renewal(path)}")]
    if decision.by_hand:
        return _chosen_again(decision, spec, catalog, path, today)
    ended = [*_ended(decision, path, today), *_first_format(decision, path)]
    if decision.spec_digest in spec_digests(spec):
        return decision, ended
    fix = f"{renewal(path)}, or revert the edit"
    pricing = StackPricing(spec, catalog, today, record=decision)
    again = resize_stack(spec, catalog, decision.fit, today=today, whole_bill=pricing)
    if not isinstance(again, SizingPlan):
        return decision, _stale(decision, again, fix, spec, catalog, today)
    new = replace(decision, plan=_merged(decision.plan, again), file_system=recorded_file_system(decision, spec, catalog))
    if reason := moved(decision.place, compiled(new, spec, today, catalog=catalog).place):
        return decision, [Problem("D-moved", reason, fix=fix)]
    expiry = f"; the stack still expires on {decision.expires_on}" if decision.expires_on else ""
    changed = "spec" if decision.calibration == calibration_digest(spec) else "calibration"
    reason = f"The {changed} changed since {decision.chosen_on}. The recorded machines still satisfy it and are kept{expiry}"
    return new, [Problem("D-edited", reason, level=Level.WARNING, fix=renewal(path)), *ended]


def _stale(decision: Decision, rejections: tuple[Rejection, ...], fix: str, spec: Spec, catalog: Catalog, today: date) -> list[Problem]:
    """Errors about the recorded machines. fix: what to do where other machines meet the spec, else each rejection has its own remedy."""
    old = f"{decision.fit.label}, chosen on {decision.chosen_on}, no longer satisfies the spec"
    if size(spec, catalog, today=today, whole_bill=StackPricing(spec, catalog, today, record=decision)).fits:
        return [Problem("D-stale", f"{old}: {rejection_text(why)}", fix=fix) for why in rejections]
    reason = f"{old}, and no other machines do"
    return [
        Problem("D-stale", f"{reason}: {rejection_text(why)}", fix=", or ".join(filter(None, (remedy(why), "revert the edit"))))
        for why in rejections
    ]


def _chosen_again(decision: Decision, spec: Spec, catalog: Catalog, path: Path, today: date) -> tuple[Decision, list[Problem]]:
    """A new decision for the recorded machines, and every value that differs from the edited file, whose other values are not used."""
    plan = resize_stack(spec, catalog, decision.fit, today=today, at_recorded_price=False)
    fix = f"{renewal(path)}, or restore the file"
    if not isinstance(plan, SizingPlan):
        return decision, _stale(decision, plan, fix, spec, catalog, today)
    new = record(spec, plan, 1, compile_plan(spec, plan, plan.fits[0], today=today, catalog=catalog), today)
    reason = f"{path.name} is not as `rackwright choose` wrote it: its digest is missing or differs"
    found = [Problem("D-by-hand", reason, fix=fix, stage=Stage.BUILD)]
    reasons = [f"{at} is {shown} in {path.name}; a new choice records {ours}" for at, shown, ours in differences(decision, new)]
    return new, found + [Problem("D-difference", reason, level=Level.WARNING) for reason in reasons]


def differences(decision: Decision, other: Decision) -> list[tuple[str, str, str]]:
    """Path, value and value in `other` of every number and name that differs. Rank, date and open items belong to a choice, not a stack."""
    skipped = {"rank": 1, "chosen_on": "", "before_you_build": ()}
    one, two = (dict(leaves(from_json(replace(each, **skipped).to_json()))) for each in (decision, other))
    shown = ((at, *(repr(each[at]) if at in each else "absent" for each in (one, two))) for at in {**one, **two})
    return [(at, was, now) for at, was, now in shown if was != now and SENTENCES.isdisjoint(at.split("."))]


def _first_format(decision: Decision, path: Path) -> list[Problem]:
    """A warning about a file whose digest covers machines and prices only."""
    if decision.version != FIRST_VERSION:
        return []
    reason = f"{path.name} was written by an earlier release; its digest does not cover place, versions and expiry"
    return [Problem("D-first-format", reason, level=Level.WARNING, fix=renewal(path))]


def _merged(old: SizingPlan, new: SizingPlan) -> SizingPlan:
    """The new plan with the recorded zones and prices. Shared storage never shrinks and stays of its kind, because
    changing it replaces it."""
    storage = replace(
        new.storage,
        capacity_bytes=max(old.storage.capacity_bytes, new.storage.capacity_bytes),
        throughput_bytes_per_s=max(old.storage.throughput_bytes_per_s, new.storage.throughput_bytes_per_s),
        in_bucket=old.storage.in_bucket,
    )
    return replace(new.with_first(_as_recorded(new.fits[0], old.fits[0])), storage=storage)


def _as_recorded(fit: Fit, recorded: Fit) -> Fit:
    """The fit of every workload with its recorded zones and prices."""
    was = recorded.candidate
    same = {"zones": was.zones, "price_usd_per_hour": was.price_usd_per_hour, "price_as_of": was.price_as_of}
    same |= {"price_source": was.price_source, "price_region": was.price_region}
    further = tuple(_as_recorded(new, old) for new, old in zip(fit.further, recorded.further, strict=True))
    return replace(fit, candidate=replace(fit.candidate, **same), further=further)


def _ended(decision: Decision, path: Path, today: date) -> list[Problem]:
    """A warning about an expired stack: nothing deletes it."""
    if not decision.expires_on or today < date.fromisoformat(decision.expires_on):
        return []
    reason = f"The stack expired on {decision.expires_on}; its machines still run and cost money"
    fix = f"take it down with `pulumi config set rackwright:teardown true`, `pulumi up` and `pulumi destroy`, or {renewal(path)} from today"
    return [Problem("D-ended", reason, level=Level.WARNING, fix=fix)]
