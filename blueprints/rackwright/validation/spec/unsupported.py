"""N-rules: options of the format that this release does not support. Remove the row of an option when you build it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter

from rackwright.clouds import supports
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Rule, Violation
from rackwright.spec.blueprint import Nodes, Safety
from rackwright.spec.operators.monitoring import TopicReceiver
from rackwright.spec.workload import Batch, Custom, Serve
from rackwright.validation.spec.registry import RULES, SpecContext


@dataclass(frozen=True)
class NotYet:
    """`what` is not supported; `where` finds its uses; `instead`: what this release supports."""

    id: str
    what: str
    where: Callable[[SpecContext], Iterable[At]]
    instead: str


def _set(kinds: tuple[type, ...], key: str, *values: object) -> Callable[[SpecContext], Iterable[At]]:
    """Workloads of these kinds whose key has one of the values."""
    return lambda context: [at / key for at, workload in context.each(*kinds) if getattr(workload, key) in values]


def _pricing(key: str) -> Callable[[SpecContext], Iterable[At]]:
    return lambda context: [At() / "pricing" / key] if getattr(context.spec.pricing, key) else []


def _places(*options: str) -> Callable[[SpecContext], Iterable[At]]:
    """Options of places, such as `network.cidr`, that are set on a cloud without them."""
    return lambda context: [
        At((*at.steps, *option.split(".")))
        for at, place in context.places
        for option in options
        if not supports(place.cloud, option) and attrgetter(option)(place)
    ]


def _blueprint(key: str, *defaults: object) -> Callable[[SpecContext], Iterable[At]]:
    """An option of the blueprint that is set, where a place is on a cloud without it."""

    def find(context: SpecContext) -> list[At]:
        chosen = getattr(context.spec.blueprint, key)
        return [At() / "blueprint" / key] if chosen not in defaults and _lacks(context, f"blueprint.{key}") else []

    return find


def _lacks(context: SpecContext, option: str) -> bool:
    """Whether a place is on a cloud without the option."""
    return any(not supports(place.cloud, option) for _, place in context.places)


def _inference_gateway(context: SpecContext) -> list[At]:
    chosen = context.spec.blueprint.gateway == "inference"
    return [At() / "blueprint" / "gateway"] if chosen and _lacks(context, "blueprint.gateway") else []


def _safety(context: SpecContext) -> list[At]:
    """Switches of the blueprint that are off, where a place is on a cloud without them; a fleet has TLS and an API key on every cloud."""
    lacking = _lacks(context, "blueprint.safety")
    everywhere, chosen = {"require_api_key", "require_tls"}, context.spec.blueprint.safety
    changed = chosen.model_dump(exclude=everywhere) != Safety().model_dump(exclude=everywhere)
    return [At() / "blueprint" / "safety"] if lacking and changed else []


def _mail(context: SpecContext) -> list[At]:
    """Addresses that no service sends to: the cloud has no alerts by e-mail, and Alertmanager needs a mail server."""
    lacking, blueprint = _lacks(context, "blueprint.notify"), context.spec.blueprint
    return [At() / "blueprint" / "notify"] if lacking and blueprint.emails and not blueprint.smtp else []


def _several_servers(context: SpecContext) -> list[At]:
    """Serving workloads after the first, where a place is on a cloud whose stacks have one."""
    lacking = any(not supports(place.cloud, "serve.several") for _, place in context.places)
    return [at / "kind" for at, _ in [*context.each(Serve)][1:]] if lacking else []


def _mig_without_a_service(context: SpecContext) -> list[At]:
    """Groups with divided GPUs, where a workload is not a service: its accelerators work together, which parts do not."""
    trains = any(not isinstance(workload, Serve) for _, workload in context.workloads)
    return [at for at, group in context.server_groups if trains and group.gpus and group.gpus.mig]


def _ssh(context: SpecContext) -> list[At]:
    blueprint = context.spec.blueprint
    on_box = blueprint.kind in ("auto", "box") and any(supports(place.cloud, "blueprint.ssh_from") for _, place in context.places)
    return [] if blueprint.ssh_from == "nobody" or on_box else [At() / "blueprint" / "ssh_from"]


TABLE = (
    NotYet("N-03", "More than one serving workload outside AWS", _several_servers, "use a stack for each"),
    NotYet("N-04", "capacity.fallback on this cloud", _places("capacity.fallback"), "use `ordered`"),
    NotYet("N-07", "An existing cluster on this cloud", _blueprint("cluster", "new"), "use `new`"),
    NotYet("N-08", "Anything but a service on GPUs divided by MIG", _mig_without_a_service, "remove `mig`, or use servers with whole GPUs"),
    NotYet("N-09", "pricing.commitments", _pricing("commitments"), "write their saving in pricing.discounts"),
    NotYet(
        "N-11",
        "Engine tensorrt-llm, and sglang for a batch,",
        lambda c: [*_set((Serve, Batch), "engine", "tensorrt-llm")(c), *_set((Batch,), "engine", "sglang")(c)],
        "use auto, vllm or (for a service) sglang; or describe the container of a service in `server`",
    ),
    NotYet(
        "N-12",
        "`measured` of a workload other than custom",
        lambda c: [at / "measured" for at, w in c.workloads if w.measured is not None and not isinstance(w, Custom)],
        "use `rackwright calibrate`, or kind custom",
    ),
    NotYet("N-13", "A price file", _pricing("file"), "write your discount in pricing.discounts"),
    NotYet("N-14", "blueprint.nodes outside AWS", _blueprint("nodes", Nodes()), "leave it out"),
    NotYet("N-15", "blueprint.safety on this cloud", _safety, "leave it out"),
    NotYet(
        "N-16", "An e-mail address in blueprint.notify on own servers without blueprint.smtp", _mail, "set `smtp`, or use slack or webhook"
    ),
    NotYet("N-17", "ssh_from without a box", _ssh, "leave it out, and use Session Manager"),
    NotYet(
        "N-18",
        "An existing role or KMS key on this cloud",
        _places("role", "permissions_boundary", "roles", "key"),
        "leave it out to create one",
    ),
    NotYet("N-19", "network.cidr on this cloud", _places("network.cidr"), "leave it out"),
    NotYet("N-20", "An extra pool on this cloud", _blueprint("pools", "auto"), "leave it at auto"),
    NotYet("N-21", "A Lustre option on own servers", _blueprint("storage", "auto", "none", "lustre"), "write `lustre`"),
    NotYet(
        "N-38",
        "An SNS topic as receiver of alerts of the cluster",
        lambda c: [At() / "blueprint" / "notify" / i for i, each in enumerate(c.spec.blueprint.notify) if isinstance(each, TopicReceiver)],
        "use slack, webhook, or e-mail addresses with `smtp`; subscribe to the stack's own topic for budget and idle machines",
    ),
    NotYet("N-39", "gateway: inference outside Google Cloud", _inference_gateway, "use `service`"),
)


def _as_rule(row: NotYet) -> Rule[SpecContext]:
    def find(context: SpecContext) -> Iterator[Violation]:
        return (Violation(at, row.instead) for at in row.where(context))

    return Rule(row.id, Level.ERROR, "", f"{row.what} is not supported in this release", find)


for row in TABLE:
    RULES.add(_as_rule(row))
