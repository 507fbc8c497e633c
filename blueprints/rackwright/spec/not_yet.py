"""What the format has and this release does not build. To build one: take its row out."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rackwright.problems import At, Level
from rackwright.spec.checks.places import modes
from rackwright.spec.checks.registry import REGISTRY, Check, Context, Finding
from rackwright.spec.workload import Batch, Custom, Finetune, Serve


@dataclass(frozen=True)
class NotYet:
    """`what` is not built; `where` finds its uses; `instead`: what can be done today."""

    id: str
    what: str
    where: Callable[[Context], Iterable[At]]
    instead: str


def _mode(*names: str) -> Callable[[Context], Iterable[At]]:
    return lambda context: [where for at, place in context.places for where, mode in modes(at, place) if mode in names]


def _set(kind: type, key: str, *values: object) -> Callable[[Context], Iterable[At]]:
    return lambda context: [at / key for at, workload in context.each(kind) if getattr(workload, key) in values]


def _second_server(context: Context) -> list[At]:
    return [at / "kind" for at, _ in list(context.each(Serve))[1:]]


TABLE = (
    NotYet("N-01", "kind custom", _set(Custom, "kind", "custom"), "describe it as finetune or serve, or pin its machines"),
    NotYet("N-02", "objective dpo or grpo", _set(Finetune, "objective", "dpo", "grpo"), "use sft; the memory of dpo is that of two models"),
    NotYet("N-03", "more than one serving workload", _second_server, "give each a stack of its own"),
    NotYet("N-04", "capacity.fallback", lambda c: [at / "capacity" / "fallback" for at, p in c.places if p.capacity.fallback], "use `ordered`"),
    NotYet("N-05", "capacity from reservations or the calendar", _mode("reservation", "calendar"), "use on-demand, spot, flex-start or a capacity_block"),
    NotYet(
        "N-06",
        "an existing network on Google Cloud",
        lambda c: [at / "network" / "existing" for at, place in c.places if place.cloud == "gcp" and place.network.existing],
        "leave network out: one is made",
    ),
    NotYet(
        "N-07",
        "a cluster that exists",
        lambda c: [At() / "blueprint" / "cluster"] if c.spec.blueprint.cluster != "new" else [],
        "use `new`",
    ),
    NotYet("N-08", "a place on Kubernetes", lambda c: [at / "cloud" for at, place in c.places if place.cloud == "kubernetes"], "use aws or gcp"),
    NotYet(
        "N-09",
        "pricing.commitments",
        lambda c: [At() / "pricing" / "commitments"] if c.spec.pricing.commitments else [],
        "say what they save in pricing.discounts",
    ),
    NotYet("N-10", "reading exported quotas", lambda c: [at / "quotas" for at, place in c.places if place.quotas], "the plan lists the quotas it needs"),
    NotYet(
        "N-11",
        "an engine other than vLLM",
        lambda c: [at / "engine" for at, work in c.each(Serve, Batch) if work.engine in ("sglang", "tensorrt-llm")],
        "use auto or vllm",
    ),
    NotYet(
        "N-12",
        "sizing from a measured run",
        lambda c: [at / "measured" for at, work in c.workloads if work.measured is not None],
        "leave it out: published runs are used",
    ),
)


def _as_check(row: NotYet) -> Check:
    return Check(row.id, Level.ERROR, f"{row.what} is not built in this release", lambda context: (Finding(at, row.instead) for at in row.where(context)))


REGISTRY.checks.update({row.id: _as_check(row) for row in TABLE})
