"""The digest of what sizing reads of a spec: a decision records it, so that an edit is found."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from rackwright.spec import Spec
from rackwright.spec.blueprint import Nodes, PreflightOptions, Safety
from rackwright.spec.media import BatchData
from rackwright.spec.operators.monitoring import Monitoring

NOT_SIZED = {"tags", "acknowledge", "secrets"}
"""Parts of a spec that sizing does not read."""
LATER = {
    "adapters": {},
    "admins": [],
    "audio": None,
    "batch_size": None,
    "billing_account": None,
    "calibration": None,
    "certificates": [],
    "chunked_prefill": None,
    "cidr": None,
    "disaggregation": None,
    "fabric": None,
    "gateway": "service",
    "group": None,
    "image": None,
    "key": None,
    "latency": None,
    "local_ssds": None,
    "location": None,
    "max_batched_tokens": None,
    "monitoring": Monitoring().model_dump(mode="json"),
    "namespace": None,
    "node_cost": None,
    "nodes": Nodes().model_dump(mode="json"),
    "notify": [],
    "operators": [],
    "permissions_boundary": None,
    "pod_logs": "none",
    "pods": None,
    "preflight": PreflightOptions().model_dump(mode="json"),
    "prometheus": None,
    "purchase": None,
    "queued": False,
    "region": None,
    "registry": None,
    "require_api_key": True,
    "require_tls": True,
    "role": None,
    "roles": None,
    "rollout": None,
    "safety": Safety().model_dump(mode="json"),
    "sharing": "none",
    "slices": None,
    "speculation": None,
    "server": None,
    "services": None,
    "smtp": None,
    "ssh_from": "nobody",
    "storage": None,
    "subnet_users": "create",
    "updates": False,
    "variant": "plain",
    "viewers": [],
}
"""Keys added after the first release, with their defaults."""
LATER_OF_INFERENCE = {"sequence_length": None, "data": BatchData().model_dump(mode="json", exclude=set(LATER)), "checkpoint": None}
"""The same for services and batches; training has had these keys since the first release."""
LATER_OF_SERVING = {"mean_requests_per_second": None, "idle": 0.0, "loras": None, "revenue_per_request": None, "investment": None}
"""Keys that decisions recorded since 0.1.0 count, and those of 0.1.0 do not have."""


def spec_digests(spec: Spec) -> tuple[str, str]:
    """The digest that this release records for a spec, and that of 0.1.0 for the same spec."""
    return spec_digest(spec), spec_digest(spec, LATER | LATER_OF_SERVING)


def spec_digest(spec: Spec, later: Mapping[str, Any] = LATER) -> str:
    """Sixteen hex digits over what sizing reads of a spec. later: keys that are left out where they have these defaults."""
    read = _as_first_written(spec.model_dump(mode="json", exclude=NOT_SIZED), later)
    for place in (*read["infra"]["any_of"], *read["infra"]["ordered"]):
        place["quotas"] = None
        if isinstance(place["inventory"], dict):  # sizing reads neither; both change with every reading of the cluster
            place["inventory"] = {key: value for key, value in place["inventory"].items() if key not in ("generated_at", "installed")}
    for workload in read["workloads"]:
        workload.pop("run", None)
        workload.pop("api_key", None)
        workload.pop("team", None)
        if workload["kind"] in ("serve", "batch"):
            for key in [key for key, value in LATER_OF_INFERENCE.items() if key in workload and workload[key] == value]:
                del workload[key]
    return hashlib.sha256(json.dumps(read, sort_keys=True).encode()).hexdigest()[:16]


def _as_first_written(value: Any, later: Mapping[str, Any]) -> Any:
    """`value` without later keys that have their default, so that an upgrade alone does not change the digest."""
    if isinstance(value, dict):
        return {key: _as_first_written(item, later) for key, item in value.items() if key not in later or item != later[key]}
    return [_as_first_written(item, later) for item in value] if isinstance(value, list) else value
