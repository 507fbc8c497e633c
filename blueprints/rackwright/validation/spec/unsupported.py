"""N-rules: what the format allows and this release does not build. Building one removes its row."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from rackwright.clouds import profile, supports
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Rule, Violation
from rackwright.spec.blueprint import Nodes, Safety
from rackwright.spec.infra import Place
from rackwright.spec.workload import Batch, Custom, Finetune, Serve
from rackwright.validation.spec.places import modes
from rackwright.validation.spec.registry import RULES, SpecContext


@dataclass(frozen=True)
class NotYet:
    """`what` is not supported; `where` finds its uses; `instead`: what this release supports."""

    id: str
    what: str
    where: Callable[[SpecContext], Iterable[At]]
    instead: str


def _set(kind: type, key: str, *values: object) -> Callable[[SpecContext], Iterable[At]]:
    return lambda context: [at / key for at, workload in context.each(kind) if getattr(workload, key) in values]


def _lacking(context: SpecContext, option: str) -> list[tuple[At, Place]]:
    """Places on clouds for which this release does not build the option."""
    return [(at, place) for at, place in context.places if not supports(place.cloud, option)]


def _second_server(context: SpecContext) -> list[At]:
    return [at / "kind" for at, _ in list(context.each(Serve))[1:]]


def _fallback(context: SpecContext) -> list[At]:
    return [at / "capacity" / "fallback" for at, place in _lacking(context, "capacity.fallback") if place.capacity.fallback]


def _reserved(context: SpecContext) -> list[At]:
    found = [(place.cloud, where, mode) for at, place in context.places for where, mode in modes(at, place)]
    return [w for cloud, w, mode in found if mode in ("calendar", "reservation") and not supports(cloud, f"capacity.{mode}")]


def _pools(context: SpecContext) -> list[At]:
    return [At() / "blueprint" / "pools"] if context.spec.blueprint.pools != "auto" and _lacking(context, "blueprint.pools") else []


def _network_on_google(context: SpecContext) -> list[At]:
    return [at / "network" / "existing" for at, place in _lacking(context, "network.existing") if place.network.existing]


def _kubernetes(context: SpecContext) -> list[At]:
    return [at / "cloud" for at, place in context.places if profile(place.cloud).is_owned]


def _commitments(context: SpecContext) -> list[At]:
    return [At() / "pricing" / "commitments"] if context.spec.pricing.commitments else []


def _price_file(context: SpecContext) -> list[At]:
    return [At() / "pricing" / "file"] if context.spec.pricing.file is not None else []


def _quotas(context: SpecContext) -> list[At]:
    return [at / "quotas" for at, place in _lacking(context, "quotas") if place.quotas]


def _engine(context: SpecContext) -> list[At]:
    return [at / "engine" for at, workload in context.each(Serve, Batch) if workload.engine in ("sglang", "tensorrt-llm")]


def _measured(context: SpecContext) -> list[At]:
    return [at / "measured" for at, workload in context.workloads if workload.measured is not None]


def _blueprint(key: str, *usual: object) -> Callable[[SpecContext], Iterable[At]]:
    return lambda context: [] if getattr(context.spec.blueprint, key) in usual else [At() / "blueprint" / key]


def _elsewhere(key: str, *usual: object) -> Callable[[SpecContext], Iterable[At]]:
    """Set, while one of the places is on a cloud that lacks it."""
    said = _blueprint(key, *usual)
    return lambda context: said(context) if _lacking(context, f"blueprint.{key}") else []


def _ssh(context: SpecContext) -> list[At]:
    blueprint = context.spec.blueprint
    on_box = blueprint.kind in ("auto", "box") and any(supports(place.cloud, "blueprint.ssh_from") for _, place in context.places)
    return [] if blueprint.ssh_from == "nobody" or on_box else [At() / "blueprint" / "ssh_from"]


def _place(*keys: str) -> Callable[[SpecContext], Iterable[At]]:
    """Set, of a place on a cloud that lacks it."""
    return lambda context: [
        at / key for at, place in context.places for key in keys if getattr(place, key) is not None and not supports(place.cloud, key)
    ]


def _network_cidr(context: SpecContext) -> list[At]:
    return [at / "network" / "cidr" for at, place in _lacking(context, "network.cidr") if place.network.cidr]


TABLE = (
    NotYet("N-01", "Kind custom", _set(Custom, "kind", "custom"), "describe it as finetune or serve, or pin its machines"),
    NotYet("N-02", "Objective dpo or grpo", _set(Finetune, "objective", "dpo", "grpo"), "use sft"),
    NotYet("N-03", "More than one serving workload", _second_server, "use a stack for each"),
    NotYet("N-04", "capacity.fallback outside AWS", _fallback, "use `ordered`"),
    NotYet("N-05", "A reservation or calendar capacity on Google Cloud", _reserved, "use spot or on-demand"),
    NotYet("N-06", "An existing network on Google Cloud", _network_on_google, "leave `network` out to create one"),
    NotYet("N-07", "An existing cluster outside AWS", _elsewhere("cluster", "new"), "use `new`"),
    NotYet("N-08", "A place on Kubernetes", _kubernetes, "use aws or gcp"),
    NotYet("N-09", "pricing.commitments", _commitments, "write their saving in pricing.discounts"),
    NotYet("N-10", "`quotas` on Google Cloud", _quotas, "leave it out: the plan lists the quotas that it needs"),
    NotYet("N-11", "An engine other than vLLM", _engine, "use auto or vllm"),
    NotYet("N-12", "Sizing from a measured run", _measured, "leave it out: published runs are used"),
    NotYet("N-13", "A price file", _price_file, "write your discount in pricing.discounts"),
    NotYet("N-14", "blueprint.nodes outside AWS", _elsewhere("nodes", Nodes()), "leave it out"),
    NotYet("N-15", "blueprint.safety outside AWS", _elsewhere("safety", Safety()), "leave it out"),
    NotYet("N-16", "blueprint.notify outside AWS", _elsewhere("notify", ()), "leave it out"),
    NotYet("N-17", "ssh_from without a box", _ssh, "leave it out, and use Session Manager"),
    NotYet(
        "N-18",
        "An existing role or KMS key outside AWS",
        _place("role", "permissions_boundary", "roles", "key"),
        "leave it out to create one",
    ),
    NotYet("N-19", "network.cidr outside AWS", _network_cidr, "leave it out"),
    NotYet("N-20", "An extra pool outside AWS", _pools, "leave it at auto"),
    NotYet("N-21", "A Lustre option outside AWS", _elsewhere("storage", "auto", "none", "lustre"), "write `lustre`"),
)


def _as_rule(row: NotYet) -> Rule[SpecContext]:
    def find(context: SpecContext) -> Iterator[Violation]:
        return (Violation(at, row.instead) for at in row.where(context))

    return Rule(row.id, Level.ERROR, "", f"{row.what} is not supported in this release", find)


for row in TABLE:
    RULES.add(_as_rule(row))
