"""Alert and recording rules of Prometheus, as data."""

from typing import Any

from rackwright.catalog.release.alert_rows import AlertRow, alert_row
from rackwright.compile.kubernetes.manifests import Body, obj
from rackwright.stackplan import ManifestPlan
from rackwright.stackplan.operators import MONITORING

Rule = dict[str, Any]


def alert(name: str, expression: str, summary: str, description: str) -> Rule:
    """An alert whose waiting time and severity are those of its row in `alerts.csv`."""
    row = alert_row(name)
    held = {"for": f"{row.for_minutes}m"} if row.for_minutes else {}
    texts = {"summary": summary, "description": description}
    return {"alert": name, "expr": expression, **held, "labels": {"severity": row.severity}, "annotations": texts}


def recorded(name: str, expression: str, **labels: str) -> Rule:
    """A rule that stores the value of an expression as the metric `name`."""
    return {"record": name, "expr": expression} | ({"labels": labels} if labels else {})


def limit(row: AlertRow) -> str:
    """The threshold of a row as a number of PromQL."""
    return f"{row.threshold:g}"


def groups(name: str, rules: list[Rule]) -> Body:
    """The spec of a PrometheusRule with one group."""
    return {"groups": [{"name": name, "rules": rules}]}


def rule_object(key: str, name: str, namespace: str, rules: list[Rule]) -> ManifestPlan:
    """A PrometheusRule in a namespace; Prometheus of the stack reads those of all namespaces."""
    return ManifestPlan(key, obj("monitoring.coreos.com/v1", "PrometheusRule", name, namespace, groups(name, rules)), (MONITORING,))
