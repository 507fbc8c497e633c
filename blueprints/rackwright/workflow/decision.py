"""The decision: which machines were chosen, at which prices, with which versions. Written beside the spec, read by every update.

A new catalog, price list or release never changes a running cluster; only `rackwright choose` does. An edited spec keeps the decision
while the recorded machines still satisfy it.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rackwright.catalog import Catalog
from rackwright.compile import compile_plan
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.spec import Spec
from rackwright.spec.blueprint import Nodes, Safety
from rackwright.stackplan import PlacePlan, StackPlan, VersionPins

DECISION_VERSION = "decision/1"
NOT_SIZED = {"tags", "acknowledge", "secrets"}
"""Parts of a spec that sizing does not read."""
LATER = {
    "admins": [],
    "cidr": None,
    "group": None,
    "key": None,
    "nodes": Nodes().model_dump(mode="json"),
    "notify": [],
    "permissions_boundary": None,
    "role": None,
    "roles": None,
    "safety": Safety().model_dump(mode="json"),
    "ssh_from": "nobody",
    "viewers": [],
}
"""Keys added after the first release, with their defaults."""


@dataclass(frozen=True)
class OpenItem:
    """A condition that was open at the choice and must hold before an update. code: rule id; path: in the spec or the StackPlan."""

    code: str
    path: str
    reason: str
    fix: str = ""


@dataclass(frozen=True)
class Decision:
    """plan: the sizing plan with the chosen fit only; spec_digest: of the parts that sizing reads; expires_on: ISO date or empty.

    place: where the machines run, in which account; plan_digest: of `plan` as it was written. Both are empty in decisions made by hand.
    before_you_build: what was open at the choice.
    """

    spec: str
    spec_digest: str
    chosen_on: str
    rank: int
    plan: SizingPlan
    pins: VersionPins
    expires_on: str = ""
    version: str = DECISION_VERSION
    place: PlacePlan | None = None
    plan_digest: str = ""
    before_you_build: tuple[OpenItem, ...] = ()

    @property
    def by_hand(self) -> bool:
        """Whether the recorded plan was edited by hand. It is then sized again before it is built."""
        return bool(self.plan_digest) and self.plan_digest != plan_digest(self.plan)

    @property
    def fit(self) -> Fit:
        return self.plan.fits[0]

    def to_json(self) -> str:
        return _adapter().dump_json(self, indent=2).decode() + "\n"


@cache
def _adapter() -> TypeAdapter[Decision]:
    return TypeAdapter(Decision)


def decision_path(spec_path: Path) -> Path:
    return spec_path.with_suffix(".decision.json")


def fit_of_rank(plan: SizingPlan, rank: int) -> Fit:
    """The `rank`-th fit, counted from 1. Raises UserError when the plan has no such rank."""
    if not 1 <= rank <= len(plan.fits):
        have = f"ranks 1 to {len(plan.fits)}" if plan.fits else "no candidate that meets every goal"
        raise UserError(
            [Problem("D-rank", f"Rank {rank} does not exist; the plan has {have}", fix="run `rackwright plan` to see the ranks")]
        )
    return plan.fits[rank - 1]


def record(spec: Spec, plan: SizingPlan, rank: int, stack: StackPlan, today: date) -> Decision:
    """The decision for a rank of a plan. stack: what the fit of that rank compiles to, with the versions to keep."""
    from rackwright.wording.plan_text import with_text

    plan = with_text(plan)
    kept = replace(plan, fits=(fit_of_rank(plan, rank),), rejected=())
    made = Decision(spec.name, spec_digest(spec), today.isoformat(), rank, kept, stack.pins, stack.expires_on)
    return replace(made, place=stack.place, plan_digest=plan_digest(kept))


def with_open_items(decision: Decision, problems: Iterable[Problem]) -> Decision:
    """The decision with the problems that must be settled before an update."""
    return replace(decision, before_you_build=tuple(OpenItem(p.code, str(p.at), p.reason, p.fix) for p in problems))


def read_decision(path: Path) -> Decision | None:
    """The decision beside a spec; None without the file. Raises UserError when this release cannot read it."""
    try:
        decision = _adapter().validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, f"is not a decision of this release: {error.strerror or error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise _unreadable(path, f"is not a decision of this release: {where + ': ' if where else ''}{first['msg']}") from None
    if decision.version != DECISION_VERSION or not decision.plan.fits:
        raise _unreadable(path, f"is {decision.version}, this release reads {DECISION_VERSION}")
    return decision


def _unreadable(path: Path, why: str) -> UserError:
    return UserError([Problem("D-unreadable", f"{path.name} {why}", fix=renewal(path))], str(path))


def renewal(path: Path, word: str = "renew") -> str:
    """The command that writes the decision at `path`, as typed in the current folder where that is above it."""
    spec = path.with_name(path.name.replace(".decision.json", ".yaml"))
    shown = spec.relative_to(Path.cwd()) if spec.is_relative_to(Path.cwd()) else spec
    return f"{word} it with `rackwright choose {shown}`"


def compiled(decision: Decision, spec: Spec, today: date, now: datetime | None = None, catalog: Catalog | None = None) -> StackPlan:
    """The stack of the recorded machines, with the recorded versions and expiry."""
    pins, expires_on = decision.pins, decision.expires_on
    return compile_plan(spec, decision.plan, decision.fit, today=today, pins=pins, expires_on=expires_on, now=now, catalog=catalog)


def spec_digest(spec: Spec) -> str:
    """Sixteen hex digits over what sizing reads of a spec."""
    read = _as_first_written(spec.model_dump(mode="json", exclude=NOT_SIZED))
    for place in (*read["infra"]["any_of"], *read["infra"]["ordered"]):
        place["quotas"] = None
    for workload in read["workloads"]:
        workload.pop("run", None)
        workload.pop("team", None)
    return hashlib.sha256(json.dumps(read, sort_keys=True).encode()).hexdigest()[:16]


def _as_first_written(value: Any) -> Any:
    """`value` without later keys that have their default, so that an upgrade alone does not change the digest."""
    if isinstance(value, dict):
        return {key: _as_first_written(item) for key, item in value.items() if key not in LATER or item != LATER[key]}
    return [_as_first_written(item) for item in value] if isinstance(value, list) else value


def plan_digest(plan: SizingPlan) -> str:
    """Sixteen hex digits over a plan's JSON."""
    return hashlib.sha256(plan.to_json().encode()).hexdigest()[:16]
