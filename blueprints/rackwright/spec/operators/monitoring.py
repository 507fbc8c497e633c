"""Models of the `blueprint` section for alerts and dashboards: receivers, mail server, Grafana."""

from typing import Annotated

from pydantic import Discriminator, Field, Tag

from rackwright.spec.base import PLAIN, Flag, Part, Text, tag_by_key
from rackwright.spec.workload_parts import SecretRef

Email = Annotated[str, Field(pattern=r"^\S+@\S+\.\S+$", description="an e-mail address")]


class SlackReceiver(Part):
    """Slack channel that receives alerts of the cluster."""

    slack: SecretRef
    """URL of an incoming webhook of Slack, from a secret."""
    channel: Annotated[str, Field(pattern=r"^[#@]\S+$", description="such as #ml-alerts")]
    """Channel of the messages."""


class WebhookReceiver(Part):
    """HTTP endpoint that receives alerts of the cluster as JSON."""

    webhook: SecretRef
    """URL of the endpoint, from a secret."""


class TopicReceiver(Part):
    """SNS topic that receives alerts of the cluster; not supported in this release (N-38)."""

    sns: Text
    """ARN of the topic."""


Receiver = Annotated[
    Annotated[Email, Tag(PLAIN)]
    | Annotated[SlackReceiver, Tag("<slack>")]
    | Annotated[WebhookReceiver, Tag("<webhook>")]
    | Annotated[TopicReceiver, Tag("<sns>")],
    Discriminator(tag_by_key({"slack": "<slack>", "webhook": "<webhook>", "sns": "<sns>"}, "<slack>")),
]


class Smtp(Part):
    """Mail server for alerts of the cluster to the addresses in `notify`."""

    host: Annotated[str, Field(pattern=r"^[^\s:]+:[0-9]{1,5}$", description="such as smtp.example.com:587")]
    """Host and port; the connection uses STARTTLS."""
    sender: Email
    """Sender of the messages."""
    user: Text
    """User name."""
    password: SecretRef
    """Password, from a secret."""


class Grafana(Part):
    """Grafana with the dashboards of the stack, reachable inside the cluster."""

    password: SecretRef
    """Password of the user `admin`, from a secret."""


class Monitoring(Part):
    """Alerts and dashboards of a cluster."""

    alerts: Flag = True
    """Alert rules for GPUs, queues, servers and checkpoints, and the cost per team."""
    dashboards: Flag = False
    """Dashboards as ConfigMaps with the label `grafana_dashboard`, for a Grafana that exists; `grafana` has them anyway."""
    grafana: Grafana | None = None
    """Install Grafana; default: no."""

    @property
    def has_dashboards(self) -> bool:
        return self.dashboards or self.grafana is not None
