"""One complete StackPlan per blueprint, from written specs and fits, so that tests of later packages need no sizing."""

from dataclasses import replace
from datetime import date

from rackwright.catalog.read import Catalog
from rackwright.catalog.sharing import Sharing
from rackwright.compile.compile import compile_plan
from rackwright.sizing.metrics import Interval, Memory, ParallelLayout, Speed
from rackwright.sizing.plan import Candidate, Fit, SizingPlan, StorageNeed, WorkloadFacts
from rackwright.spec.spec import Spec
from rackwright.stackplan import StackPlan

TODAY = date(2026, 11, 21)
AWS = {"cloud": "aws", "account": "123456789012", "regions": ["us-east-1"]}
OFFICE = {"cidrs": ["203.0.113.0/24"]}
GCP = {"cloud": "gcp", "project": "my-project", "regions": ["us-central1"]}


def spec(name: str, workload: dict, place: dict, **more) -> Spec:
    """On AWS without warnings: with a cost goal for the budget, and an alert recipient."""
    tags = {"owner": "test", "cost-centre": "4711"}
    base = {"api_version": "rackwright/v1", "name": name, "workloads": [workload], "infra": {"any_of": [place]}, "tags": tags}
    if place["cloud"] == "aws":
        base["goals"] = {"max_cost": "90000 USD"}
        more["blueprint"] = {"notify": ["team@example.com"]} | more.get("blueprint", {})
    return Spec.model_validate(base | more)


def sizing(fit: Fit, facts: WorkloadFacts, storage: StorageNeed | None = None) -> SizingPlan:
    return SizingPlan("spec", facts, (fit,), (), (), "digest", storage=storage or StorageNeed())


def fit(candidate: Candidate, hours: float | None = None, **speed) -> Fit:
    duration = None if hours is None else Interval(hours * 3000, hours * 3600, hours * 4200)
    cost = Interval(90, 100, 120)
    memory = Memory(80e9, 0.9, weights_bytes=40e9)
    return Fit(candidate, memory, Speed(**speed), cost, candidate.nodes * (candidate.price_usd_per_hour or 0), duration)


def candidate(machine: str, accelerator: str, count: int, nodes: int, **more) -> Candidate:
    aws = "." in machine
    chosen = {
        "cloud": "aws" if aws else "gcp",
        "region": "us-east-1" if aws else "us-central1",
        "zones": ("us-east-1a",) if aws else ("us-central1-b",),
        "capacity": "on-demand",
        "fabric": "none",
        "parallelism": ParallelLayout(),
        "price_usd_per_hour": 10.0,
        "price_as_of": "2026-07-20",
        "price_source": "test",
        "price_region": "us-east-1" if aws else "us-central1",
    } | more
    return Candidate(machine=machine, accelerator=accelerator, accelerators_per_node=count, nodes=nodes, **chosen)


def box_case(**more):
    workload = {
        "name": "qlora",
        "kind": "finetune",
        "model": {"base": "mistral-7b"},
        "adapter": {"type": "qlora"},
        "data": {"samples": 20000, "tokens_per_sample": 512, "uri": "s3://team/sft"},
        "team": "support",
    }
    box = fit(candidate("g6e.2xlarge", "NVIDIA L40S", 1, 1, price_usd_per_hour=2.24208, **more), 6)
    facts = WorkloadFacts("qlora", "finetune", "mistral-7b", 7.2e9, 7.2e9)
    return spec("mistral-7b-qlora", workload, AWS, blueprint={"ttl": "7d"}), sizing(box, facts, StorageNeed(40e9, 2e8, "checkpoints")), box


def training_case(nodes: int = 4, machine: str = "p5.48xlarge", place: dict | None = None, blueprint: dict | None = None, **more):
    workload = {
        "name": "sft",
        "kind": "finetune",
        "model": {"base": "llama-3.1-70b"},
        "data": {"samples": 250000, "tokens_per_sample": 1800, "uri": "s3://team/sft"},
        "checkpoint": {"uri": "s3://team-ckpt/runs"},
        "team": "nlp",
    }
    chosen = {"fabric": "efa", "price_usd_per_hour": 55.04, "parallelism": ParallelLayout(tensor=8, data=nodes, zero_stage=3)} | more
    cluster = fit(candidate(machine, "NVIDIA H100 80GB SXM5", 8, nodes, **chosen), 20)
    facts = WorkloadFacts("sft", "finetune", "llama-3.1-70b", 70.6e9, 70.6e9, checkpoint_bytes=988e9)
    need = StorageNeed(4e12, 8e9, "four checkpoints in a minute each")
    shape = {"ttl": "14d", "api_access": {"cidrs": ["203.0.113.0/24"]}} if blueprint is None else blueprint
    return spec("llama-70b-sft", workload, place or AWS, blueprint=shape), sizing(cluster, facts, need), cluster


def fleet_case(workload: dict | None = None, access=OFFICE, **more):
    chat = {
        "name": "chat",
        "kind": "serve",
        "model": {"base": "llama-3.1-8b"},
        "requests_per_second": 10,
        "input_tokens": {"mean": 800, "p95": 2000},
        "output_tokens": {"mean": 200, "p95": 500},
        "max_context": 8192,
        "min_replicas": 1,
        "max_replicas": 8,
        "team": "chat",
    } | (workload or {})
    l4 = candidate("g2-standard-12", "NVIDIA L4", 1, 3, replicas=3, max_replicas=8, price_usd_per_hour=1.000416, **more)
    fleet = fit(l4, ttft_s=0.4, tpot_s=0.04, concurrency=24)
    facts = WorkloadFacts("chat", "serve", "llama-3.1-8b", 8e9, 8e9, weights_bytes=16e9)
    return spec("chat-serve", chat, GCP, blueprint={"api_access": access}), sizing(fleet, facts), fleet


FALLBACK = [
    {"reservation": {"id": "cr-0123456789abcdef0", "instance": "g6e.xlarge", "count": 2, "zone": "us-east-1a"}},
    "on-demand",
    "spot",
]


def eks_fleet_case(
    workload: dict | None = None, place: dict | None = None, blueprint: dict | None = None, facts: dict | None = None, **more
):
    """The chat of fleet_case on EKS: three replicas, each on its own Karpenter node."""
    given, _, _ = fleet_case(workload)
    chat = given.model_dump(mode="json", exclude_unset=True)["workloads"][0] | (workload or {})
    l40s = candidate("g6e.xlarge", "NVIDIA L40S", 1, 3, **({"replicas": 3, "max_replicas": 8, "price_usd_per_hour": 1.861} | more))
    fleet = fit(l40s, ttft_s=0.4, tpot_s=0.04, concurrency=24)
    known = WorkloadFacts("chat", "serve", "llama-3.1-8b", 8e9, 8e9, **({"weights_bytes": 16e9} | (facts or {})))
    shape = {"ttl": "14d", "api_access": {"cidrs": ["203.0.113.0/24"]}} | (blueprint or {})
    return spec("chat-eks", chat, place or AWS, blueprint=shape), sizing(fleet, known), fleet


def managed_fleet_case(**more):
    """The same on a node group with the cluster autoscaler."""
    return eks_fleet_case(blueprint={"nodes": {"provisioner": "managed"}}, **more)


MIG = Sharing("mig", 7, 1 / 7, 1 / 8, "1g.10gb")


def shared_fleet_case(sharing: Sharing = MIG, **more):
    """Three replicas of the chat on one H100, divided by MIG, up to eight on two."""
    h100 = {"machine": "p5.4xlarge", "accelerator": "NVIDIA H100 80GB SXM5", "nodes": 1, "sharing": sharing}
    given, sized, fleet = eks_fleet_case(blueprint={"sharing": sharing.strategy}, **more)
    return given, sized, replace(fleet, candidate=replace(fleet.candidate, **h100, accelerator_memory_bytes=80e9 * sharing.memory_share))


EFA_IMAGE = "registry.example/vllm-efa:1.0.0@sha256:" + "0" * 64


def wide_fleet_case(blueprint: dict | None = None, image: str | None = EFA_IMAGE, **more):
    """Two replicas of a model that needs two machines each, on EFA."""
    run = {"run": {"image": image}} if image else {}
    workload = {"model": {"base": "llama-3.1-405b"}, "min_replicas": 2, "max_replicas": 4} | run
    chosen = {"fabric": "efa", "parallelism": ParallelLayout(tensor=8, pipeline=2), "replicas": 2, "max_replicas": 4} | more
    spec_, plan, chosen_fit = eks_fleet_case(workload, blueprint=blueprint, facts={"weights_bytes": 810e9}, **chosen)
    wide = replace(chosen_fit.candidate, machine="p5.48xlarge", accelerator="NVIDIA H100 80GB SXM5", accelerators_per_node=8, nodes=4)
    return spec_, plan, replace(chosen_fit, candidate=wide)


NEURON_IMAGE = "registry.example/vllm-neuron:1.0.0@sha256:" + "0" * 64


def neuron_fleet_case(machine: str = "inf2.48xlarge", blueprint: dict | None = None, workload: dict | None = None, **more):
    """Three replicas of the chat on one Inferentia2 machine, each on its own device. more: arguments of the candidate."""
    row = Catalog.default().machine(machine)
    asked = {"run": {"image": NEURON_IMAGE}} | (workload or {})
    chosen = {"machine": machine, "accelerator": row.accelerator, "accelerators_per_node": row.accelerator_count, "nodes": 1} | more
    spec_, plan, chosen_fit = eks_fleet_case(asked, blueprint=blueprint)
    return spec_, plan, replace(chosen_fit, candidate=replace(chosen_fit.candidate, **chosen))


def tpu_case(slices: int = 1, nodes: int = 4, topology: str = "4x4", machine: str = "ct6e-standard-4t", access=OFFICE, place=GCP, **more):
    workload = {
        "name": "pretrain",
        "kind": "pretrain",
        "model": {"base": "gemma-2-9b"},
        "data": {"tokens": 20e9, "size": "80 GB"},
        "team": "research",
    }
    chosen = {"fabric": "ici", "slices": slices, "topology": topology, "price_usd_per_hour": 10.8} | more
    pod = fit(candidate(machine, "TPU v6e (Trillium)", 4, nodes * slices, **chosen), 100)
    facts = WorkloadFacts("pretrain", "pretrain", "gemma-2-9b", 9.2e9, 9.2e9)
    shape = {"kind": "tpu-pod", "ttl": "21d", "api_access": access}
    return spec("gemma-pretrain", workload, place, blueprint=shape), sizing(pod, facts), pod


def tpu_fleet_case(workload: dict | None = None, machine: str = "ct6e-standard-4t", topology: str = "2x2", chips: int = 4, **more):
    """The service of `fleet_case` on TPU slices with one host."""
    given, plan, _ = fleet_case(workload)
    chosen = {"slices": 3, "topology": topology, "fabric": "ici", "replicas": 3, "max_replicas": 8, "price_usd_per_hour": 10.8} | more
    layout = ParallelLayout(tensor=chips)
    accelerator = Catalog.default().machine(machine).accelerator
    found = fit(candidate(machine, accelerator, chips, 3, parallelism=layout, **chosen), ttft_s=0.4, tpot_s=0.02, concurrency=64)
    return given, replace(plan, fits=(found,)), found


def queued_tpu_case(**more):
    """The slice of `tpu_case` by queued provisioning."""
    return tpu_case(capacity="flex-start", place=GCP | {"capacity": {"ordered": ["flex-start"], "queued": True}}, **more)


def on_machine(given: Fit, machine: str, accelerators: int = 1) -> Fit:
    """The fit on another machine of the same cloud."""
    return replace(given, candidate=replace(given.candidate, machine=machine, accelerators_per_node=accelerators))


def with_replicas(given: Fit, least: int, most: int) -> Fit:
    return replace(given, candidate=replace(given.candidate, nodes=least, replicas=least, max_replicas=most))


def with_storage(given: SizingPlan, capacity_bytes: float, throughput_bytes_per_s: float) -> SizingPlan:
    return replace(given, storage=StorageNeed(capacity_bytes, throughput_bytes_per_s, "test"))


def with_secret(given: Spec, plan: SizingPlan, chosen: Fit):
    """The case with HF_TOKEN from a secret."""
    data = given.model_dump(mode="json", exclude_unset=True)
    data["workloads"][0]["run"] = {"secrets": {"HF_TOKEN": {"secret": "hf-token"}}}
    data["secrets"] = {"hf-token": {"config": "hfToken"}}
    return Spec.model_validate(_units(data)), plan, chosen


def _units(data: dict) -> dict:
    """Parsed seconds and money as text with units."""
    if "max_cost" in data.get("goals", {}):
        data["goals"]["max_cost"] = f"{data['goals']['max_cost']:.0f} USD"
    if "ttl" in data.get("blueprint", {}):
        data["blueprint"]["ttl"] = f"{data['blueprint']['ttl']:.0f} s"
    return data


def compiled(case) -> StackPlan:
    return compile_plan(*case, today=TODAY)


def box_plan() -> StackPlan:
    return compiled(box_case())


def training_plan() -> StackPlan:
    return compiled(training_case())


def nodes_plan(machine: str = "p5.48xlarge", storage: str = "auto", **nodes) -> StackPlan:
    """The training cluster with `blueprint.nodes`."""
    shape = {"ttl": "14d", "api_access": {"cidrs": ["203.0.113.0/24"]}, "nodes": nodes, "storage": storage}
    return compiled(training_case(machine=machine, blueprint=shape))


OWN_AMI = "ami-0123456789abcdef0"


def fallback_case(*entries, **more):
    """The training cluster with a fallback; default: a reservation of two machines, then four on demand, then four by spot."""
    held = {"id": "cr-0123456789abcdef0", "instance": "p5.48xlarge", "count": 2, "zone": "us-east-1a"}
    return training_case(place=AWS | {"capacity": {"fallback": [*(entries or ({"reservation": held}, "on-demand", "spot"))]}}, **more)


NODES = {
    "fallback": lambda: compiled(fallback_case()),
    "bottlerocket": lambda: nodes_plan(image="bottlerocket"),
    "own-ami": lambda: nodes_plan(image={"ami": OWN_AMI, "family": "al2023"}),
    "ubuntu": lambda: nodes_plan(image={"ami": OWN_AMI, "family": "ubuntu"}, storage="none"),
    "dra": lambda: nodes_plan(devices="dra"),
    "neuron": lambda: nodes_plan(machine="trn1n.32xlarge"),
}
"""Training clusters whose nodes are set up in other ways, by name."""


def fleet_plan() -> StackPlan:
    return compiled(fleet_case())


FLEETS = {
    "fleet-eks": lambda: compiled(eks_fleet_case()),
    "fleet-managed": lambda: compiled(managed_fleet_case()),
    "fleet-wide": lambda: compiled(wide_fleet_case()),
    "fleet-neuron": lambda: compiled(neuron_fleet_case()),
    "fleet-neuron-managed": lambda: compiled(neuron_fleet_case(blueprint={"nodes": {"provisioner": "managed"}})),
    "fleet-shared": lambda: compiled(shared_fleet_case()),
    "fleet-fallback": lambda: compiled(eks_fleet_case(place=AWS | {"capacity": {"fallback": FALLBACK}})),
}
"""Fleets on EKS, by name: by Karpenter, by node groups, of replicas on two machines each, on Inferentia2, on an H100 divided by
MIG, and bought in three ways."""


def tpu_plan() -> StackPlan:
    return compiled(tpu_case())


def tpu_fleet_plan() -> StackPlan:
    return compiled(tpu_fleet_case())


ALL = {"box": box_plan, "training": training_plan, "fleet": fleet_plan, "tpu": tpu_plan}
