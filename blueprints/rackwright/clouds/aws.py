"""Amazon Web Services: EC2, EKS, S3."""

import re

from rackwright.clouds.base import EKS, FSX, CloudProfile

MANAGED_POLICY_ACCOUNT = "aws"
"""Account field in the ARN of a policy that AWS manages."""


def _tag_error(key: str, value: str) -> str:
    if key.lower().startswith("aws:"):
        return "the prefix aws: is reserved"
    if not 0 < len(key) <= 128 or len(value) > 256:
        return "a key has 1 to 128 characters, a value 256 at most"
    return "" if re.fullmatch(r"[\w\s.:/=+@-]*", key + value) else "letters, digits, spaces and _ . : / = + - @ only"


NO_PRINCIPALS = {
    "group": ("is an IAM group, which an access entry of EKS cannot name", "name a role that members of the group may assume"),
    "assumed-role": ("is a session, which an access entry of EKS cannot name", "name its role: arn:aws:iam::<account>:role/<name>"),
}
"""Kinds of ARNs: https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html"""


def _principal_error(name: str) -> tuple[str, str] | None:
    found = re.match(r"arn:[^:]*:[^:]*:[^:]*:[^:]*:([^/]*)/", name)
    return NO_PRINCIPALS.get(found[1]) if found else None


AWS = CloudProfile(
    name="aws",
    owner_field="account",
    blueprints=frozenset({"box", "training-cluster", "inference-fleet"}),
    supports=frozenset(
        {
            *("capacity.fallback", "capacity.reservation", "network.existing", "network.cidr", "quotas"),
            *("role", "permissions_boundary", "roles", "key"),
            *("blueprint.cluster", "blueprint.pools", "blueprint.nodes", "blueprint.safety", "blueprint.notify", "blueprint.ssh_from"),
            *("blueprint.storage", "serve.multi_node", "serve.several", "serve.envoy", "serve.sharing"),
            *("layers", "lookup", "access-entries"),
        }
    ),
    # Which zone a letter names differs per account; zone IDs are in catalog/data/zones.csv. us-east-1e is left out, because
    # EKS's example of a refused zone is us-east-1e; some letters do not exist (moto 5.2.5 zone tables, 2026-10-27).
    # https://docs.aws.amazon.com/eks/latest/userguide/troubleshooting.html#ICE
    zone_letters={"us-east-1": "abcdf", "ap-northeast-1": "acd", "ca-central-1": "abd", "us-west-1": "ab"},
    # https://docs.aws.amazon.com/global-infrastructure/latest/regions/az-ids.html
    zone_id=r"[a-z]+[0-9]-az[0-9]+",
    control_zones=2,
    # London (eu-west-2) and Zurich (eu-central-2) are outside the European Union:
    # https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-regions.html
    residency={
        "us": ("us-*",),
        "eu": ("eu-central-1", "eu-west-1", "eu-west-3", "eu-north-1", "eu-south-*"),
        "apac": ("ap-*",),
    },
    capacity_modes=("on-demand", "spot", "capacity_block", "reservation"),
    reserves_on_demand=True,
    has_reservation_groups=True,
    reservation_id=r"cr-[0-9a-f]{17}",
    reservation_form="cr-0123456789abcdef0",
    reservation_lookup="`aws ec2 describe-capacity-reservations --capacity-reservation-ids {}` shows it",
    principals=("arn:",),
    principal_error=_principal_error,
    certificate=r"(?P<name>arn:aws[a-z-]*:acm:(?P<region>[^:]+):(?P<owner>[^:]+):certificate/.+)",
    certificate_form="arn:aws:acm:REGION:ACCOUNT:certificate/ID",
    max_tags=50,
    tag_error=_tag_error,
    uri_scheme="s3",
    bucket_prefixes=("xn--",),
    reserved_addresses=5,
    # The agent of EKS Pod Identity. EC2's metadata service would give a pod the role of its node.
    identity_endpoints=(("169.254.170.23/32", 80),),
    managed_kubernetes=EKS,
    lustre_service=FSX,
    load_balancer_annotation="service.beta.kubernetes.io/aws-load-balancer",
    pods_use_subnet=True,
    # awslabs/amazon-eks-ami, nodeadm: 255 MiB and 11 for each pod; evictions below 100 MiB
    reserved_memory_mib=(255 + 100, 11),
    session="without SSH and open ports",
    system_machine="m7i.2xlarge",
    system_image="al2023",
    node_images={"gpu": "al2023-nvidia", "neuron": "al2023-neuron"},
    node_disk={"iops": 3000, "throughput_mib_s": 250},
    disk_volumes={"balanced": "ebs-gp3"},
    object_volume="s3-standard",
    fees={
        "control_plane": "eks-cluster",
        "disk_iops": "ebs-gp3-iops",
        "disk_throughput": "ebs-gp3-throughput",
        "log_ingestion": "logs-ingest",
        "log_storage": "logs-storage",
        "machine_metric": "detailed-metric",
        "alarm": "metric-alarm",
        "region_transfer": "region-transfer",
        "near_transfer": "us-east-transfer",
        "internet": "internet-egress",
    },
    has_vcpu_quotas=True,
    has_cost_alerts=True,
    links={
        "certificates": "https://docs.aws.amazon.com/elasticloadbalancing/latest/network/create-tls-listener.html",
        "regions": "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-regions-availability-zones.html",
        "offerings": "https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-regions.html",
        "machines": "https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-types.html",
        "tags": "https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html",
        "reservations": "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-using.html",
        "subnets": "https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html",
    },
)
