"""Stacks on own servers, from a written inventory and fits: no sizing."""

from copy import deepcopy
from typing import Any

from rackwright.sizing.metrics import ParallelLayout
from rackwright.sizing.plan import StorageNeed, WorkloadFacts
from rackwright.stackplan import StackPlan

from tests.plans import candidate, compiled, fit, sizing, spec

RAILS = [{"device": f"mlx5_{number}", "interface": f"ibs{number}"} for number in range(8)]
XE9680: dict[str, Any] = {
    "name": "h100",
    "model": "xe9680-h100",
    "nodes": [{"name": f"h100-0{number}", "rack": f"a{1 + number // 2}"} for number in range(4)],
    "gpus": {"model": "h100", "count": 8},
    "cpus": 224,
    "memory": "2048 GiB",
    "nics": [{"kind": "infiniband", "speed": "NDR", "count": 8, "rails": RAILS}],
    "local_nvme": {"count": 8, "size": "3.84 TB"},
}
INVENTORY: dict[str, Any] = {
    "api_version": "rackwright/inventory/v1",
    "generated_at": "2026-11-21T08:00:00Z",
    "cluster": {"name": "lab", "kubernetes": "1.35", "context": "lab-admin"},
    "servers": [XE9680],
    "storage": [
        {"kind": "lustre", "name": "scratch", "path": "/lustre"},
        {"kind": "nfs", "name": "home", "server": "nas.example", "path": "/export"},
        {"kind": "csi", "name": "block", "storage_class": "ceph-block", "shared": False, "default": True},
    ],
}
TRAIN = {
    "name": "sft",
    "kind": "finetune",
    "model": {"base": "llama-3.1-70b"},
    "data": {"samples": 250000, "tokens_per_sample": 1800},
    "team": "nlp",
}
SERVE = {
    "name": "chat",
    "kind": "serve",
    "model": {"base": "llama-3.1-8b", "weights": {"uri": "hf://meta-llama/Llama-3.1-8B-Instruct"}},
    "requests_per_second": 4,
    "input_tokens": {"mean": 700},
    "output_tokens": {"mean": 220},
    "min_replicas": 1,
    "max_replicas": 2,
    "team": "chat",
}


def inventory(servers: dict[str, Any] | None = None, servers_of: list[dict[str, Any]] | None = None, **changes: Any) -> dict[str, Any]:
    """The inventory with changes of its keys, and of those of its one group. servers_of: all groups instead."""
    made = deepcopy(INVENTORY) | changes
    made["servers"] = servers_of or [made["servers"][0] | (servers or {})]
    return made


def place(fabric: dict[str, Any] | None = None, servers: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A place on own servers. more: further keys of the inventory."""
    return {"cloud": "kubernetes", "inventory": inventory(servers, **more)} | ({"fabric": fabric} if fabric else {})


def own_candidate(nodes: int = 4, **more: Any):
    chosen = {"cloud": "kubernetes", "region": "", "zones": (), "capacity": "owned", "fabric": "infiniband", "price_region": ""} | more
    return candidate("xe9680-h100", "NVIDIA H100 80GB SXM5", 8, nodes, **chosen)


def own_training_case(where: dict[str, Any] | None = None, nodes: int = 4, **more: Any):
    made = fit(own_candidate(nodes, parallelism=ParallelLayout(tensor=4, pipeline=8)), 12)
    facts = WorkloadFacts("sft", "finetune", "llama-3.1-70b", 7e10, 7e10)
    return spec("llama-own", TRAIN, where or place(), **more), sizing(made, facts, StorageNeed(2e12)), made


def own_training_plan(where: dict[str, Any] | None = None, **more: Any) -> StackPlan:
    return compiled(own_training_case(where, **more))


def own_box_case(run: dict[str, Any] | None = None, where: dict[str, Any] | None = None):
    made = fit(own_candidate(1), 6)
    facts = WorkloadFacts("sft", "finetune", "mistral-7b", 7e9, 7e9)
    workload = TRAIN | {"model": {"base": "mistral-7b"}} | ({"run": run} if run else {})
    return spec("box-own", workload, where or place()), sizing(made, facts, StorageNeed(4e10)), made


def own_fleet_case(tensor: int = 1, pipeline: int = 1, where: dict[str, Any] | None = None):
    layout = ParallelLayout(tensor=tensor, pipeline=pipeline)
    made = fit(own_candidate(pipeline, parallelism=layout, max_replicas=2), concurrency=16, tpot_s=0.02, ttft_s=0.2)
    facts = WorkloadFacts("chat", "serve", "llama-3.1-8b", 8e9, 8e9, weights_bytes=1.6e10)
    return spec("chat-own", SERVE, where or place()), sizing(made, facts), made


TAINTS = [{"key": "dedicated", "value": "gpu"}, {"key": "lab", "effect": "NoExecute"}]
SRIOV = {"mode": "sriov", "pkey": "0x8001", "ufm_secret": "ufm-credentials", "mtu": 4092}
OWN = {
    "own-training": own_training_plan,
    "own-sriov": lambda: own_training_plan(place(SRIOV)),
    "own-shared": lambda: own_training_plan(place({"mode": "shared"})),
    "own-tainted": lambda: own_training_plan(place(servers={"taints": TAINTS})),
    "own-box": lambda: compiled(own_box_case()),
    "own-fleet": lambda: compiled(own_fleet_case()),
    "own-fleet-wide": lambda: compiled(own_fleet_case(8, 2)),
}
"""Stacks on own servers, by name."""
