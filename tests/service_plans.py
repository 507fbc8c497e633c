"""Fleets with alerts, dashboards, other servers, adapters and an endpoint picker, from written specs and fits."""

from dataclasses import replace

from rackwright.spec.spec import Spec
from rackwright.stackplan import StackPlan

from tests.plans import OFFICE, _units, compiled, eks_fleet_case, fleet_case, training_case

OBSERVED = {
    "notify": ["team@example.com", {"slack": {"secret": "slack"}, "channel": "#ml"}, {"webhook": {"secret": "hook"}}],
    "smtp": {"host": "smtp.example.com:587", "sender": "rack@example.com", "user": "rack", "password": {"secret": "smtp"}},
    "monitoring": {"grafana": {"password": {"secret": "grafana"}}},
}
"""`blueprint` with every receiver of alerts and Grafana."""


def observed_plan() -> StackPlan:
    """The training cluster with receivers of alerts, Grafana and a checkpoint every half hour."""
    given, plan, chosen = training_case(blueprint={"ttl": "14d", "api_access": OFFICE} | OBSERVED)
    secrets = {name: {"config": name} for name in ("slack", "hook", "smtp", "grafana")}
    data = given.model_dump(mode="json", exclude_unset=True) | {"secrets": secrets}
    return compiled((Spec.model_validate(_units(data)), replace(plan, facts=replace(plan.facts, checkpoint_interval_s=1800.0)), chosen))


OWN_SERVER = {
    "run": {"image": "registry.example/sdxl:1.0.0@sha256:" + "0" * 64},
    "server": {"port": 9000, "health": "/ready", "metrics": {"queue": "sdxl_queue", "in_flight": "sdxl_busy", "path": "/stats"}},
}
"""A container of the user with its own port, paths and metrics."""
ADAPTERS = {"loras": {"adapters": {"sql": "weights://adapters/sql", "mail": "hf://acme/mail-lora"}, "rank": 20}}


def picked_case(workload: dict | None = None):
    """The fleet on GKE behind an endpoint picker."""
    given, plan, chosen = fleet_case(workload)
    data = given.model_dump(mode="json", exclude_unset=True)
    return Spec.model_validate(_units(data | {"blueprint": data["blueprint"] | {"gateway": "inference"}})), plan, chosen


SERVICES = {
    "inference-gateway": lambda: compiled(picked_case({"loras": {}})),
    "observed": observed_plan,
    "adapters": lambda: compiled(eks_fleet_case(ADAPTERS)),
    "sglang": lambda: compiled(eks_fleet_case({"engine": "sglang", "ttft": {"target": "2 s"}})),
    "own-server": lambda: compiled(eks_fleet_case(OWN_SERVER)),
    "own-server-gke": lambda: compiled(fleet_case(OWN_SERVER)),
}
"""Stacks with options of monitoring and of model servers, by name."""
