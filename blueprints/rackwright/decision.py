"""The decision: which machines were chosen, at which prices, with which versions. Written beside the spec, read by every update.

A new catalog, price list or release never changes a running cluster; only `rackwright choose` does. An edited spec keeps the decision
while the chosen machines still satisfy it.
"""

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from rackwright.compile.versions import pins
from rackwright.compile.wants import VersionPins
from rackwright.errors import UserError
from rackwright.problems import Problem
from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.spec.spec import Spec

DECISION_VERSION = "decision/1"
IRRELEVANT = ("tags", "acknowledge", "secrets", "goals")
"""Parts of a spec that cannot make the chosen machines wrong by themselves; goals are checked against the recorded numbers."""


@dataclass(frozen=True)
class Decision:
    """spec_digest: of the parts sizing reads; expires_on: ISO date or empty; plan: what the choice was made from, without rejections."""

    spec: str
    spec_digest: str
    chosen_on: str
    rank: int
    fit: Fit
    plan: SizingPlan
    catalog_digest: str
    pins: VersionPins
    expires_on: str = ""
    version: str = DECISION_VERSION

    def to_json(self) -> str:
        return _adapter().dump_json(self, indent=2).decode() + "\n"


@dataclass(frozen=True)
class Difference:
    """What the spec asks now, and what the decision holds."""

    what: str
    wanted: str
    decided: str

    def __str__(self) -> str:
        return f"{self.what}: the spec now wants {self.wanted}, the decision has {self.decided}"


@cache
def _adapter() -> TypeAdapter[Decision]:
    return TypeAdapter(Decision)


def decision_path(spec_path: Path) -> Path:
    return spec_path.with_suffix(".decision.json")


def choose(spec: Spec, plan: SizingPlan, rank: int, today: date) -> Decision:
    """The decision for the `rank`-th fit, counted from 1. Raises UserError when the plan has no such rank."""
    if not 1 <= rank <= len(plan.fits):
        have = f"ranks 1 to {len(plan.fits)}" if plan.fits else "no candidate that meets every goal"
        raise UserError([Problem("D-rank", f"there is no rank {rank}: the plan has {have}", fix="run `rackwright plan` to see the ranks")])
    ttl_s = spec.blueprint.ttl
    return Decision(
        spec=spec.name,
        spec_digest=spec_digest(spec),
        chosen_on=today.isoformat(),
        rank=rank,
        fit=plan.fits[rank - 1],
        plan=replace(plan, fits=(plan.fits[rank - 1],), rejected=()),
        catalog_digest=plan.catalog_digest,
        pins=pins(),
        expires_on=(today + timedelta(days=math.ceil(ttl_s / 86400))).isoformat() if ttl_s else "",
    )


def read_decision(path: Path) -> Decision | None:
    """The decision beside a spec, None when there is none. Raises UserError when it cannot be read."""
    if not path.exists():
        return None
    try:
        return _adapter().validate_json(path.read_bytes())
    except (ValidationError, OSError, UnicodeDecodeError) as error:
        first = str(error).splitlines()[0]
        raise UserError([Problem("D-unreadable", f"{path.name} is not a decision this release can read: {first}", fix=renew(path))]) from None


def renew(path: Path) -> str:
    spec_file = str(path).replace(".decision.json", ".yaml")
    return f"renew it with `rackwright choose {spec_file}`"


def spec_digest(spec: Spec) -> str:
    shown = spec.model_dump(mode="json", exclude=set(IRRELEVANT))
    for workload in shown["workloads"]:
        workload.pop("run", None)
        workload.pop("team", None)
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()[:16]


def differences(decision: Decision, spec: Spec) -> Iterator[Difference]:
    """What the spec asks that the decided machines are not known to satisfy, without asking the catalog."""
    fit, chosen = decision.fit, decision.fit.candidate
    clouds = {place.cloud for place in spec.infra.places}
    if chosen.cloud not in clouds:
        yield Difference("cloud", " or ".join(sorted(clouds)), chosen.cloud)
    regions = {region for place in spec.infra.places if place.cloud == chosen.cloud for region in place.regions}
    if chosen.cloud in clouds and regions and chosen.region not in regions:
        yield Difference("region", " or ".join(sorted(regions)), chosen.region)
    if spec.goals.max_duration and fit.duration_s and fit.duration_s.p90 > spec.goals.max_duration:
        yield Difference("deadline", f"{spec.goals.max_duration / 3600:,.1f} h", f"{fit.duration_s.p90 / 3600:,.1f} h (p90)")
    if spec.goals.max_cost and fit.cost_usd.p50 > spec.goals.max_cost:
        yield Difference("budget", f"{spec.goals.max_cost:,.0f} USD", f"{fit.cost_usd.p50:,.0f} USD")
    yield from _pin_differences(decision, spec)


def _pin_differences(decision: Decision, spec: Spec) -> Iterator[Difference]:
    chosen = decision.fit.candidate
    pins_here = [place.pin for place in spec.infra.places if place.pin and place.cloud == chosen.cloud]
    for pin in pins_here:
        if pin.instance != chosen.machine or (pin.nodes or chosen.nodes) != chosen.nodes:
            wanted = f"{pin.nodes or 'any number of'} x {pin.instance}"
            yield Difference("pin", wanted, f"{chosen.nodes} x {chosen.machine}")


def stands(decision: Decision, spec: Spec) -> bool:
    """True when nothing that sizing reads has changed since the choice."""
    return decision.spec_digest == spec_digest(spec) and not any(differences(decision, spec))
