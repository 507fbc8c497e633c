"""Models of the `blueprint` section: overrides of what sizing decides about the stack."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from rackwright.spec.base import MAPPING, PLAIN, Flag, Id, Name, Part, PositiveInt, Text, plain_or_mapping, tag_by_key
from rackwright.spec.infra import CapacityEntry, StackOutput
from rackwright.spec.operators.gateway import EnvoyGateway, EnvoyOptions, Gateway
from rackwright.spec.operators.monitoring import Monitoring, Receiver, SlackReceiver, Smtp, WebhookReceiver
from rackwright.spec.quantity import Duration, Size
from rackwright.spec.workload_parts import SecretRef


class PrivateAccess(Part):
    """Public API endpoint that accepts connections from the listed networks only."""

    cidrs: Annotated[tuple[Text, ...], Field(min_length=1)]
    """Allowed networks, such as 203.0.113.0/24."""


class InsideAccess(Part):
    """Private API endpoint; updates run from a machine that reaches it."""

    runner: Literal["inside"]
    """Where `pulumi up` runs: inside the network, or on a machine connected to it, for example by VPN."""


ApiAccess = Annotated[
    Annotated[Literal["private", "public"], Tag(PLAIN)]
    | Annotated[PrivateAccess, Tag("<cidrs>")]
    | Annotated[InsideAccess, Tag("<runner>")],
    Discriminator(tag_by_key({"cidrs": "<cidrs>", "runner": "<runner>"}, "<cidrs>")),
]


class PrometheusService(Part):
    """Service of an existing Prometheus, which must read ServiceMonitors of all namespaces."""

    namespace: Name
    """Namespace of the service, whose pods read the metrics of workloads."""
    service: Name
    """Name of the service, such as prometheus-operated, which Prometheus Operator creates."""
    port: Annotated[PositiveInt, Field(le=65535)] = 9090
    """Port of the service."""


class ExistingCluster(Part):
    """Existing EKS or GKE cluster that another tool manages. The stack adds pools, queues and workloads to it."""

    name: Id
    """Name of the cluster."""
    location: Id | None = None
    """Region or zone of a GKE cluster; default: the region of the stack."""
    prometheus: PrometheusService | None = None
    """Prometheus of the cluster, which the autoscaler of a fleet queries; default: monitoring-prometheus in the namespace monitoring,
    the names of a cluster that rackwright creates."""


ClusterChoice = Annotated[
    Annotated[Literal["new"], Tag(PLAIN)] | Annotated[StackOutput, Tag("<stack>")] | Annotated[ExistingCluster, Tag("<name>")],
    Discriminator(tag_by_key({"name": "<name>", "stack": "<stack>"}, "<name>")),
]


class LustreOptions(Part):
    """Overrides for the Lustre file system; sizing chooses the keys that are left out."""

    capacity: Size | None = None
    """Storage capacity, such as 4800 GiB."""
    throughput: Literal[125, 250, 500, 1000] | None = None
    """Throughput tier of an SSD file system, MB/s per TiB."""
    tiering: Literal["ssd", "intelligent", "dynamic"] = "ssd"
    """Storage class: provisioned SSD, FSx Intelligent-Tiering (AWS), or the dynamic tier of Managed Lustre (Google Cloud)."""
    efa: Flag | None = None
    """Connect clients over EFA (AWS); default: when the required throughput exceeds what TCP clients reach."""


class LustreStorage(Part):
    """Shared Lustre file system with explicit options."""

    lustre: LustreOptions
    """Options of the file system."""


Storage = Annotated[Annotated[Literal["auto", "none", "lustre"], Tag(PLAIN)] | Annotated[LustreStorage, Tag(MAPPING)], plain_or_mapping]


class OwnImage(Part):
    """Custom machine image (AMI), on AWS."""

    ami: Annotated[str, Field(pattern=r"^ami-[0-9a-f]{8,17}$", description="ami- and 8 to 17 hexadecimal digits")]
    """AMI ID."""
    family: Literal["al2023", "bottlerocket", "ubuntu"]
    """Operating system that the image is based on; decides the node bootstrap."""


Family = Literal["al2023", "bottlerocket"]
Image = Annotated[Annotated[Family, Tag(PLAIN)] | Annotated[OwnImage, Tag(MAPPING)], plain_or_mapping]


class Nodes(Part):
    """Settings of the accelerator nodes on EKS."""

    image: Image = "al2023"
    """EKS image family, or a custom AMI."""
    provisioner: Literal["auto", "managed", "karpenter"] = "auto"
    """What creates nodes: managed node groups, or Karpenter (the default for serving)."""
    devices: Literal["plugin", "dra"] = "plugin"
    """How EFA interfaces are assigned to pods: device plugin, or dynamic resource allocation (DRA)."""
    interfaces: Literal["fewest-addresses", "most-bandwidth"] = "fewest-addresses"
    """Interface layout of EFA nodes: one IP address per node, or one per network card for more IP bandwidth."""
    placement_group: Literal["auto", "never"] = "auto"
    """Cluster placement group; `auto` uses one where the capacity mode allows it."""


class SharingOptions(Part):
    """One way to divide accelerators; sizing chooses the keys that are left out."""

    strategy: Literal["mig", "mps", "time-slicing"]
    """Multi-Instance GPU, Multi-Process Service, or time-slicing of NVIDIA GPUs."""
    profile: Id | None = None
    """MIG profile, such as 1g.10gb."""
    replicas_per_accelerator: Annotated[int, Field(ge=2, le=1000, strict=True)] | None = None
    """Replicas on one accelerator: clients of MPS or time-slicing, or instances of the MIG profile."""


Sharing = Annotated[
    Annotated[Literal["none", "auto", "mig", "mps", "time-slicing"], Tag(PLAIN)] | Annotated[SharingOptions, Tag(MAPPING)],
    plain_or_mapping,
]


class ExtraPool(Part):
    """Node pool in addition to the one that sizing chose."""

    name: Name
    """Name of the pool and of its queue."""
    instance: Id
    """Instance type."""
    nodes: PositiveInt
    """Maximum number of nodes."""
    at_least: Annotated[int, Field(ge=0, strict=True)] = 0
    """Minimum number of nodes."""
    capacity: CapacityEntry = "on-demand"
    """Capacity mode, Capacity Block or reservation of the pool."""


Pools = Annotated[
    Annotated[Literal["auto"], Tag(PLAIN)] | Annotated[tuple[ExtraPool, ...], Tag("<list>")],
    Discriminator(lambda value: "<list>" if isinstance(value, (list, tuple)) else PLAIN),
]


class Safety(Part):
    """Protections, on by default; switching one off causes a warning. Encryption, private nodes and private buckets are always on."""

    flow_logs: Flag = True
    """Log network connections (VPC Flow Logs)."""
    audit_logs: Flag = True
    """Log requests to the cluster's API."""
    private_endpoints: Flag = True
    """Reach AWS services through VPC endpoints, not over the internet."""
    network_policies: Flag = True
    """Limit pod traffic to what network policies allow."""
    deletion_protection: Flag = True
    """Protect the cluster and all data stores from deletion until teardown."""
    idle_alarm: Flag = True
    """Alert on idle machines, and stop an idle box."""
    require_api_key: Flag = True
    """Build a fleet only with `api_key` of its workload."""
    require_tls: Flag = True
    """Build a fleet only with a certificate in `certificates`."""


Principal = Annotated[
    str,
    Field(
        pattern=r"^(arn:aws[a-z-]*:(iam|sts)::[0-9]{12}:(role|user|group|assumed-role)/\S+|"
        r"(user|group|serviceAccount|domain|principal|principalSet):\S+)$",
        description="the ARN of an IAM role or user, or a Google principal such as group:ml@example.com",
    ),
]


class PreflightOptions(Part):
    """Check of GPU nodes (`rackwright preflight`) before the queue starts jobs on them."""

    gate: Flag | None = None
    """Start jobs only on nodes that passed the check; default: on with an `image`, for new clusters with a fixed number of GPU nodes,
    except on spot."""
    image: Id | None = None
    """Container image with digest, with Python 3.10, Open MPI and nccl-tests; default: `run.image`."""
    all_reduce: Text = "all_reduce_perf"
    """Path of nccl-tests' all-reduce in the image."""
    driver: Text | None = None
    """GPU driver that every node must have, such as 580.95.05; default: the same on all nodes."""
    firmware: Text | None = None
    """Firmware that every RDMA port must have; default: the same on all nodes."""


Certificate = Annotated[
    str,
    Field(
        pattern=r"^(arn:aws[a-z-]*:acm:[a-z0-9-]+:[0-9]{12}:certificate/[A-Za-z0-9-]+"
        r"|projects/[^/\s]+/regions/[^/\s]+/sslCertificates/[a-z]([a-z0-9-]{0,61}[a-z0-9])?)$",
        description="the ARN of an ACM certificate, or projects/PROJECT/regions/REGION/sslCertificates/NAME",
    ),
]


JobOperator = Literal["kubeflow-trainer", "mpi-operator", "kuberay"]


class Blueprint(Part):
    """What the stack builds; sizing decides every `auto`."""

    kind: Literal["auto", "box", "training-cluster", "inference-fleet", "tpu-pod"] = "auto"
    """One node (box), many nodes on one fabric (training-cluster), autoscaled replicas (inference-fleet) or TPU slices (tpu-pod)."""
    cluster: ClusterChoice = "new"
    """A new cluster, an existing one, or a cluster that another stack exports; not on own servers (N-07)."""
    pools: Pools = "auto"
    """Node pools in addition to the one that sizing chose; not on own servers (N-20)."""
    sharing: Sharing = "none"
    """Whether replicas of services may share an accelerator, also those of different workloads. `auto`: by MIG or MPS, where it costs less
    than whole accelerators; `time-slicing` isolates no memory and is used only where it is named."""
    nodes: Nodes = Nodes()
    """Settings of the cluster's accelerator nodes; AWS only (N-14)."""
    api_access: ApiAccess = "private"
    """Networks that can reach the cluster's API endpoint."""
    admins: tuple[Principal, ...] = ()
    """Administrators of a new cluster. EKS: IAM roles or users, among them the one that runs `pulumi up`; for an IAM group, a role that its
    members may assume. GKE: Google principals, which become administrators of all clusters of their project."""
    viewers: tuple[Principal, ...] = ()
    """Principals that may read the objects of a new cluster."""
    pod_logs: Literal["none", "cloud"] = "none"
    """Where the logs of pods are kept: on their nodes only, or in CloudWatch Logs or Cloud Logging, which charge per GiB."""
    certificates: tuple[Certificate, ...] = ()
    """TLS certificates of a fleet's load balancer, one for each region where it may run: ACM, or regional SSL certificates of Google."""
    gateway: Gateway = "service"
    """How clients reach a fleet. service: a load balancer, or a gateway on Google Cloud, of each model, which selects replicas in turn.
    inference: an endpoint picker selects the replica by queue, free cache and cached prefix (InferencePool); Google Cloud only (N-39).
    `{envoy: ...}`: one gateway for all models with routes, API keys or tokens, and rates; on EKS and own servers (S-292)."""
    ssh_from: Annotated[
        Annotated[Literal["nobody", "anywhere"], Tag(PLAIN)] | Annotated[tuple[Text, ...], Tag("<list>")],
        Discriminator(lambda value: "<list>" if isinstance(value, (list, tuple)) else PLAIN),
    ] = "nobody"
    """Networks that may open SSH to a box, which has no public address: peered networks or a VPN. Session Manager and, on
    Google Cloud, Identity-Aware Proxy need no entry. Boxes only (N-17)."""
    storage: Storage = "auto"
    """Shared file system of the nodes; `auto`: FSx for Lustre or Managed Lustre, or only a bucket where the run costs less. Clouds
    only (N-21)."""
    safety: Safety = Safety()
    """Protections of data and cost; AWS, and boxes (N-15)."""
    notify: tuple[Receiver, ...] = ()
    """Receivers of alerts: email addresses, Slack channels and webhooks. AWS sends budget, idle machines and the end of `ttl` to the email
    addresses, Google Cloud a box that is idle and has not stopped. Alerts of the cluster go to Slack, webhooks and, with `smtp`, to the
    email addresses (N-16)."""
    smtp: Smtp | None = None
    """Mail server for alerts of the cluster; default: none, and email addresses receive no alerts of the cluster."""
    monitoring: Monitoring = Monitoring()
    """Alerts and dashboards of the cluster."""
    operators: tuple[JobOperator, ...] = ()
    """Operators of further kinds of jobs in a training cluster or TPU pod: TrainJob of Kubeflow Trainer, MPIJob, RayJob and RayCluster. The
    queue manages them. An existing EKS cluster must have them. Default: JobSet alone."""
    preflight: PreflightOptions = PreflightOptions()
    """Check of the GPU nodes before jobs start on them."""
    ttl: Duration | None = None
    """Lifetime of the stack, counted from `rackwright choose`."""

    @property
    def envoy(self) -> EnvoyOptions | None:
        """Options of Envoy Gateway; None without it."""
        return self.gateway.envoy if isinstance(self.gateway, EnvoyGateway) else None

    @property
    def emails(self) -> tuple[str, ...]:
        """Email addresses of `notify`, each once."""
        return tuple(dict.fromkeys(each for each in self.notify if isinstance(each, str)))

    @property
    def has_cluster_receivers(self) -> bool:
        """Whether alerts of the cluster have a receiver; email addresses need a mail server."""
        return bool(self.smtp and self.emails) or any(not isinstance(each, str) for each in self.notify)

    @property
    def secret_refs(self) -> dict[tuple[str | int, ...], SecretRef]:
        """References to secrets, by their path in the section."""
        found: dict[tuple[str | int, ...], SecretRef] = {}
        for index, each in enumerate(self.notify):
            if isinstance(each, SlackReceiver):
                found["notify", index, "slack"] = each.slack
            elif isinstance(each, WebhookReceiver):
                found["notify", index, "webhook"] = each.webhook
        for client, source in (self.envoy.api_keys if self.envoy else {}).items():
            found["gateway", "envoy", "api_keys", client] = source
        found |= {("smtp", "password"): self.smtp.password} if self.smtp else {}
        return found | ({("monitoring", "grafana", "password"): self.monitoring.grafana.password} if self.monitoring.grafana else {})
