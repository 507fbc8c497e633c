"""Dashboards of Grafana as ConfigMaps, from the JSON files of `dashboards/`, and Grafana itself."""

from functools import cache
from pathlib import Path

from rackwright.compile.kubernetes.manifests import Body, obj
from rackwright.spec.operators.monitoring import Grafana
from rackwright.stackplan import ManifestPlan, ref
from rackwright.stackplan.namespaces import MONITORING_NAMESPACE

FOLDER = Path(__file__).parent / "dashboards"
LABEL = {"grafana_dashboard": "1"}
"""Label that the chart's Grafana looks for in all namespaces (kube-prometheus-stack 88.5.3, grafana.sidecar.dashboards)."""
ADMIN, ADMIN_KEY = "grafana-admin", "grafana.admin"
USER, PASSWORD = "admin-user", "admin-password"


@cache
def dashboard_text(name: str) -> str:
    """The JSON text of a dashboard: gpus, queues or serving."""
    return (FOLDER / f"{name}.json").read_text(encoding="utf-8")


def dashboard_objects(names: tuple[str, ...], namespace: str) -> tuple[ManifestPlan, ...]:
    return tuple(
        ManifestPlan(
            f"dashboard.{name}",
            obj("v1", "ConfigMap", f"dashboard-{name}", namespace, labels=LABEL, data={f"{name}.json": dashboard_text(name)}),
        )
        for name in names
    )


def grafana_values(placement: Body) -> Body:
    """Values of the chart. placement: node selector and tolerations of its other pods."""
    return {"enabled": True, "admin": {"existingSecret": ADMIN, "userKey": USER, "passwordKey": PASSWORD}, **placement}


def grafana_secret(grafana: Grafana) -> ManifestPlan:
    values = {USER: "admin", PASSWORD: ref(f"secret.{grafana.password.secret}")}
    return ManifestPlan(ADMIN_KEY, obj("v1", "Secret", ADMIN, MONITORING_NAMESPACE, type="Opaque", stringData=values), layer="operators")
