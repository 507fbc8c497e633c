"""Receivers of alerts: configuration of Alertmanager, and the Secret with its URLs and password."""

from typing import Any

from rackwright.compile.kubernetes.manifests import Body, obj
from rackwright.spec.blueprint import Blueprint
from rackwright.spec.operators.monitoring import SlackReceiver, WebhookReceiver
from rackwright.stackplan import ManifestPlan, ref
from rackwright.stackplan.namespaces import MONITORING_NAMESPACE

SECRET = "alert-receivers"
SECRET_KEY = "alerts.receivers"
FOLDER = f"/etc/alertmanager/secrets/{SECRET}"
"""Where Prometheus Operator mounts Secrets of `alertmanagerSpec.secrets` (its API reference, AlertmanagerSpec)."""
TEAM, NOBODY = "team", "null"
SENT = 'severity =~ "warning|critical"'
REPEAT = "12h"


def alertmanager_values(blueprint: Blueprint) -> Body:
    """Values of the chart: warnings and errors go to the receivers. The texts of secrets are files, not values."""
    mail = blueprint.smtp
    settings: dict[str, Any] = {"resolve_timeout": "5m"}
    if mail:
        settings |= {
            "smtp_smarthost": mail.host,
            "smtp_from": mail.sender,
            "smtp_auth_username": mail.user,
            "smtp_auth_password_file": f"{FOLDER}/smtp",
        }
    route = {
        "group_by": ["alertname", "namespace"],
        "group_wait": "30s",
        "group_interval": "5m",
        "repeat_interval": REPEAT,
        "receiver": NOBODY,
        "routes": [{"receiver": NOBODY, "matchers": ['alertname = "Watchdog"']}, {"receiver": TEAM, "matchers": [SENT]}],
    }
    config = {"global": settings, "route": route, "receivers": [{"name": NOBODY}, {"name": TEAM} | _integrations(blueprint)]}
    return {"config": config, "alertmanagerSpec": {"secrets": [SECRET]}}


def receiver_secret(blueprint: Blueprint) -> ManifestPlan:
    """The Secret of Alertmanager, which reads changed values at its next message."""
    values = {"smtp": ref(f"secret.{blueprint.smtp.password.secret}")} if blueprint.smtp else {}
    for index, each in enumerate(blueprint.notify):
        if isinstance(each, SlackReceiver):
            values[f"slack-{index}"] = ref(f"secret.{each.slack.secret}")
        elif isinstance(each, WebhookReceiver):
            values[f"webhook-{index}"] = ref(f"secret.{each.webhook.secret}")
    return ManifestPlan(SECRET_KEY, obj("v1", "Secret", SECRET, MONITORING_NAMESPACE, type="Opaque", stringData=values), layer="operators")


def _integrations(blueprint: Blueprint) -> Body:
    """https://prometheus.io/docs/alerting/latest/configuration/#receiver-integration-settings"""
    found: dict[str, list[Body]] = {}
    for index, each in enumerate(blueprint.notify):
        if isinstance(each, SlackReceiver):
            slack = {"api_url_file": f"{FOLDER}/slack-{index}", "channel": each.channel, "send_resolved": True}
            found.setdefault("slack_configs", []).append(slack)
        elif isinstance(each, WebhookReceiver):
            found.setdefault("webhook_configs", []).append({"url_file": f"{FOLDER}/webhook-{index}", "send_resolved": True})
    if blueprint.smtp and blueprint.emails:
        found["email_configs"] = [{"to": address, "send_resolved": True} for address in blueprint.emails]
    return found
