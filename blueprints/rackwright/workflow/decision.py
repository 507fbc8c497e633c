"""The decision: which machines were chosen, at which prices, with which versions. Written beside the spec, read by every update.

A new catalog, price list or release never changes a running cluster; only `rackwright choose` does. An edited spec keeps the decision
while the recorded machines still satisfy it. A file that was edited by hand is not built: its machines are priced again from the catalog.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from rackwright.catalog import Catalog
from rackwright.catalog.query import managed_lustre_tiers, ssd_tiers
from rackwright.catalog.rows import CapacityMode
from rackwright.clouds import FSX, profile
from rackwright.compile import compile_plan
from rackwright.compile.compile_context import RunningStack
from rackwright.compile.operators.queues import flavor_identity
from rackwright.compile.storage.lustre import file_system_of
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.sizing.blueprint_kind import blueprint_kind
from rackwright.sizing.calibrated import calibration_digest
from rackwright.sizing.node.file_system import LustreSize, earlier_lustre_size
from rackwright.sizing.plan import Candidate, Fit, SizingPlan
from rackwright.spec import Spec
from rackwright.spec.reading.source import read_file
from rackwright.stackplan import BlueprintKind, PlacePlan, StackPlan, VersionPins
from rackwright.workflow.spec_digest import spec_digest, spec_digests

DECISION_VERSION = "decision/2"
FIRST_VERSION = "decision/1"
"""Files of the first format have a digest of the sizing plan only, 16 digits long."""
MAY_BE_ZERO = {"zero_stage", "shard_group", "replicas"}
"""Counts of a candidate and its parallel layout without the minimum 1."""
MAX_COUNT = 2**31 - 1
"""Largest count of replicas in Kubernetes (int32)."""


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

    place: where the machines run, in which account; before_you_build: what was open at the choice; by_hand: whether the file was edited
    after it was written, or has no digest. The file has two more keys: `plan_digest`, of `plan`, and `digest`, of everything else in it.
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
    before_you_build: tuple[OpenItem, ...] = ()
    calibration: str = ""
    """SHA-256 of the corrections that the plan was made with; empty without corrections."""
    file_system: LustreSize | None = None
    """The file system at the choice; None without one, and in files of earlier releases."""
    creator_is_admin: bool = True
    """Whether EKS made the access entry of the cluster's creator, as in clusters of decisions without this key."""
    has_pod_logs: bool = True
    """Whether GKE collects logs of pods although the spec does not set `pod_logs`, as in clusters of decisions without this key."""
    has_ungated_queue: bool = True
    """Whether jobs start on nodes without a passed check although the spec does not set `preflight.gate`, as before the check existed."""
    queue_flavor: str = ""
    """What the flavor of the queue was created with (`flavor_identity`); empty without a topology, and in files of earlier releases."""
    by_hand: Annotated[bool, Field(exclude=True)] = False

    @property
    def fit(self) -> Fit:
        return self.plan.fits[0]

    def has_versions_for(self, spec: Spec, fit: Fit) -> bool:
        """Whether the versions of this decision apply to a fit: same stack, cloud and instance type, and not edited by hand."""
        here, there = ([(each.candidate.cloud, each.candidate.machine) for each in one.each_workload] for one in (self.fit, fit))
        return not self.by_hand and self.spec == spec.name and here == there

    def to_json(self) -> str:
        """The text of the file, with the digest of its content."""
        content = from_json(_adapter().dump_json(replace(self, version=DECISION_VERSION)))
        content["plan_digest"] = _digest(content["plan"])
        return to_json(content | {"digest": _digest(content)}, indent=2).decode() + "\n"


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
    kept = replace(plan.with_first(fit_of_rank(plan, rank)), rejected=(), near_tie=plan.near_tie if rank == 1 else None)
    made = Decision(spec.name, spec_digest(spec), today.isoformat(), rank, kept, stack.pins, stack.expires_on)
    creator_is_admin = bool(stack.cluster and stack.cluster.creator_access == "eks")
    return replace(
        made,
        place=stack.place,
        calibration=calibration_digest(spec),
        file_system=file_system_of(stack.lustre),
        creator_is_admin=creator_is_admin,
        has_pod_logs=bool(stack.cluster and stack.cluster.pod_logs and "pod_logs" not in spec.blueprint.model_fields_set),
        has_ungated_queue=spec.blueprint.preflight.gate is None and stack.runs_jobs and not stack.has_gated_queue,
        queue_flavor=flavor_identity(stack.manifests),
    )


def with_open_items(decision: Decision, problems: Iterable[Problem]) -> Decision:
    """The decision with the problems that must be settled before an update."""
    return replace(decision, before_you_build=tuple(OpenItem(p.code, str(p.at), p.reason, p.fix) for p in problems))


def read_decision(path: Path) -> Decision | None:
    """The decision beside a spec; None without the file. Raises UserError when this release cannot read it."""
    if not path.exists():
        return None
    try:
        text = read_file(path)
        content = from_json(text, allow_inf_nan=False)
        decision = _adapter().validate_json(text)
        by_hand = not _is_as_written(content)
    except UserError as error:
        raise _unreadable(path, f"is not a decision of this release: {error.problems[0].reason}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise _unreadable(path, f"is not a decision of this release: {where + ': ' if where else ''}{first['msg']}") from None
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, f"is not a decision of this release: {error}") from None
    if decision.version not in (DECISION_VERSION, FIRST_VERSION) or not decision.plan.fits:
        raise _unreadable(path, f"is {decision.version}, this release reads {DECISION_VERSION} and {FIRST_VERSION}")
    if problem := next(_impossible(content, decision), ""):
        raise _unreadable(path, f"is not a decision: {problem}")
    return replace(decision, by_hand=by_hand)


def _is_as_written(content: dict[str, Any]) -> bool:
    """Whether the file's data are those that a release wrote. The data are compared as they are in the file, so that fields that a later
    release adds to the plan do not change a digest."""
    if content.get("version") == FIRST_VERSION and "digest" not in content:
        # the first format hashed the plan as pydantic prints it
        return content.get("plan_digest") == hashlib.sha256(to_json(content["plan"], indent=2)).hexdigest()[:16]
    return content.get("digest") == _digest({key: value for key, value in content.items() if key != "digest"})


def _digest(content: Any) -> str:
    """SHA-256 of plain data; white space and the order of keys do not count."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()).hexdigest()


def _impossible(content: Any, decision: Decision) -> Iterator[str]:
    """Values that no release records: negative numbers, machines that cannot run a job, and dates that are none."""
    for at, value in leaves(content):
        if isinstance(value, (int, float)) and value < 0:
            yield f"{at} is {value:g}, which is negative"
    for each in decision.fit.each_workload:
        yield from _impossible_machines(each.candidate)
    for name, text in (("chosen_on", decision.chosen_on), ("expires_on", decision.expires_on)):
        try:
            date.fromisoformat(text or "2026-01-01")
        except ValueError:
            yield f"{name} is {text!r}, not a date"


def _impossible_machines(chosen: Candidate) -> Iterator[str]:
    counts = {
        "accelerators_per_node": chosen.accelerators_per_node,
        "nodes": chosen.nodes,
        "replicas": chosen.replicas,
        "max_replicas": chosen.max_replicas,
        **asdict(chosen.parallelism),
    }
    for name, count in counts.items():
        least = 0 if name in MAY_BE_ZERO else 1
        if isinstance(count, int) and not least <= count <= MAX_COUNT:
            yield f"{name} is {count}, not {least} to {MAX_COUNT:,}"
    if chosen.parallelism.accelerators > max(1, chosen.accelerators):
        yield f"parallelism needs {chosen.parallelism.accelerators:,} accelerators, the machines have {chosen.accelerators:,}"
    if chosen.capacity not in {"", *CapacityMode}:
        yield f"capacity is {chosen.capacity!r}, not one of {', '.join(CapacityMode)}"


def leaves(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Path and value of every number, text, truth value and empty part of plain data."""
    if isinstance(value, (dict, list)) and value:
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, f"{at}.{key}" if at else str(key))
    else:
        yield at, value


def _unreadable(path: Path, why: str) -> UserError:
    return UserError([Problem("D-unreadable", f"{path.name} {why}", fix=renewal(path))], str(path))


def renewal(path: Path, word: str = "renew") -> str:
    """The command that writes the decision at `path`, as typed in the current folder where that is above it."""
    spec = path.with_name(path.name.replace(".decision.json", ".yaml"))
    shown = spec.relative_to(Path.cwd()) if spec.is_relative_to(Path.cwd()) else spec
    return f"{word} it with `rackwright choose {shown}`"


def compiled(decision: Decision, spec: Spec, today: date, now: datetime | None = None, *, catalog: Catalog) -> StackPlan:
    """The stack of the recorded machines, with the recorded versions, expiry, zones, file system and access of the cluster's creator."""
    running = RunningStack(
        pins=decision.pins,
        expires_on=decision.expires_on,
        place=decision.place,
        file_system=recorded_file_system(decision, spec, catalog),
        creator_is_admin=decision.creator_is_admin,
        has_pod_logs=decision.has_pod_logs,
        has_ungated_queue=decision.has_ungated_queue,
        queue_flavor=decision.queue_flavor,
    )
    return compile_plan(spec, decision.plan, decision.fit, today=today, now=now, catalog=catalog, running=running)


def recorded_file_system(decision: Decision, spec: Spec, catalog: Catalog) -> LustreSize | None:
    """The file system of a decision; for a file of an earlier release, which does not record it, what that release built.

    None for a tier that the catalog does not have: the file was edited by hand.
    """
    if size := decision.file_system:
        known = not size.ssd_tier or size.ssd_tier in ssd_tiers(catalog, size.efa) | managed_lustre_tiers(catalog)
        return size if known and size.volume in catalog.volume_by_name else None
    if decision.plan.storage.in_bucket:
        return None
    candidate, then = decision.fit.candidate, _spec_at_choice(decision, spec)
    machine = catalog.machine_by_name.get(candidate.machine)
    if machine is None or blueprint_kind(then, candidate) != BlueprintKind.TRAINING_CLUSTER:
        return None
    if profile(candidate.cloud).lustre_service != FSX:
        return None
    return earlier_lustre_size(then, decision.plan, candidate, machine, catalog)


def _spec_at_choice(decision: Decision, spec: Spec) -> Spec:
    """The spec as it was chosen: without options of `storage` that were added later. Unchanged where other keys were edited as well.

    Storage without options is `auto`, `lustre` or `none`; the digest of the recorded spec tells which.
    """
    blueprints = (spec.blueprint.model_copy(update={"storage": plain}) for plain in ("auto", "lustre", "none"))
    earlier = (spec.model_copy(update={"blueprint": blueprint}) for blueprint in blueprints)
    return next((each for each in (spec, *earlier) if decision.spec_digest in spec_digests(each)), spec)
