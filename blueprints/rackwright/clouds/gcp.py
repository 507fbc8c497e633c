"""Google Cloud: Compute Engine, GKE, Cloud Storage."""

import math
import re

from rackwright.clouds.base import GKE, MANAGED_LUSTRE, CloudProfile

NAME, PROJECT = r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?", r"[a-z][-a-z0-9:.]{4,61}[a-z0-9]"
"""Of resources of Compute Engine (https://cloud.google.com/compute/docs/naming-resources), and IDs of projects."""
REGIONS = "https://cloud.google.com/compute/docs/regions-zones"


def _label_error(key: str, value: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_-]{0,62}", key):
        return "a key is lower-case letters, digits, - and _, a letter first, 63 at most"
    return "" if re.fullmatch(r"[a-z0-9_-]{0,63}", value) else "a value is lower-case letters, digits, - and _, 63 at most"


GCP = CloudProfile(
    name="gcp",
    owner_field="project",
    blueprints=frozenset({"box", "training-cluster", "inference-fleet", "tpu-pod"}),
    # https://cloud.google.com/kubernetes-engine/docs/how-to/gpus-multi, and how-to/nvidia-mps-gpus
    keeps_shared_name=True,
    zone_separator="-",
    has_zone_names=True,
    # London (europe-west2) and Zurich (europe-west6) are outside the European Union.
    residency={
        "us": ("us-*",),
        "eu": ("europe-central2", "europe-north[12]", "europe-southwest1", "europe-west1", "europe-west[3489]", "europe-west1[02]"),
        "apac": ("asia-*", "australia-*"),
    },
    capacity_modes=("on-demand", "spot", "flex-start", "calendar", "reservation"),
    # https://cloud.google.com/iam/docs/principal-identifiers
    principals=("user:", "group:", "serviceAccount:", "domain:", "principal:", "principalSet:"),
    # A regional gateway refers to regional certificates of its project by name.
    certificate=r"projects/(?P<owner>[^/]+)/regions/(?P<region>[^/]+)/sslCertificates/(?P<name>.+)",
    certificate_form="projects/PROJECT/regions/REGION/sslCertificates/NAME",
    max_tags=64,
    tag_error=_label_error,
    uri_scheme="gs",
    bucket_prefixes=("goog",),
    bucket_words=("google",),
    has_bucket_folders=True,
    supports=frozenset(
        {
            *("blueprint.cluster", "blueprint.gateway", "blueprint.notify", "blueprint.pools", "blueprint.safety", "blueprint.ssh_from"),
            *("blueprint.storage", "capacity.calendar", "capacity.fallback", "capacity.reservation", "project.alerts"),
            *("key", "layers", "network.cidr", "network.existing", "permissions_boundary", "role", "roles"),
            *("quotas", "serve.multi_node", "serve.sharing"),
        }
    ),
    # A part of a reservation is named by its block: https://cloud.google.com/ai-hypercomputer/docs/view-reserved-capacity
    reservation_id=(
        r"(projects/[a-z][-a-z0-9]{4,28}[a-z0-9]/reservations/)?[a-z]([-a-z0-9]{0,61}[a-z0-9])?"
        r"(/reservationBlocks/[a-z0-9][-a-z0-9]{0,62}(/reservationSubBlocks/[a-z0-9][-a-z0-9]{0,62})?)?"
    ),
    reservation_form="team-h200, team-h200/reservationBlocks/block-1 or projects/PROJECT/reservations/team-h200",
    reservation_lookup="`gcloud compute reservations describe {} --zone ZONE` shows it",
    has_regional_subnets=True,
    # The ranges of pods take half: a /9 is the largest (cloud.google.com/kubernetes-engine/docs/concepts/alias-ips), and a proxy-only
    # subnet has at least 64 addresses (cloud.google.com/load-balancing/docs/proxy-only-subnets).
    network_prefixes=(8, 18),
    network_id=rf"(projects/(?P<owner>{PROJECT})/global/networks/)?{NAME}",
    network_form="projects/HOST/global/networks/NAME",
    subnet_id=rf"projects/(?P<owner>{PROJECT})/regions/(?P<region>[a-z]+-[a-z]+[0-9]+)/subnetworks/{NAME}",
    subnet_form="projects/HOST/regions/REGION/subnetworks/NAME",
    # https://cloud.google.com/iam/docs/service-accounts-create
    service_account=rf"[a-z][-a-z0-9]{{4,28}}[a-z0-9]@(?P<owner>{PROJECT})\.iam\.gserviceaccount\.com",
    key_id=rf"projects/{PROJECT}/locations/(?P<region>[-a-z0-9]+)/keyRings/[-a-zA-Z0-9_]{{1,63}}/cryptoKeys/[-a-zA-Z0-9_]{{1,63}}",
    key_form="projects/PROJECT/locations/REGION/keyRings/RING/cryptoKeys/KEY",
    reserved_addresses=4,
    # Both addresses of GKE's metadata server.
    identity_endpoints=(("169.254.169.254/32", 80), ("169.254.169.252/32", 988)),
    earlier_pod_logs=True,
    # cloud.google.com/kubernetes-engine/docs/how-to/upgrading-a-cluster#upgrading-nodes
    node_upgrade_command="gcloud container clusters upgrade {cluster} --node-pool POOL --location {region}",
    managed_kubernetes=GKE,
    lustre_service=MANAGED_LUSTRE,
    # As in AI-Hypercomputer/xpk@367c838; each node reserves twice as many addresses.
    max_pods={"gpu": 32, "tpu": 15},
    # cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes; evictions below 100 MiB
    reserved_memory_shares=((4, 0.25), (4, 0.20), (8, 0.10), (112, 0.06), (math.inf, 0.02)),
    reserved_memory_mib=(100, 0),
    box_images="gce-",
    session="by SSH through Identity-Aware Proxy, without a public address",
    system_machine="e2-standard-8",
    system_image="cos",
    node_images={"gpu": "cos", "tpu": "cos"},
    attaches_local_ssds=True,
    disk_volumes={"balanced": "pd-balanced", "hyperdisk-balanced": "hyperdisk-balanced"},
    object_volume="gcs-standard",
    fees={
        "control_plane": "gke-cluster",
        "log_ingestion": "cloud-logging",
        "continent_transfer": "continent-transfer",
        "internet": "internet-egress",
    },
    links={
        "certificates": "https://cloud.google.com/kubernetes-engine/docs/how-to/secure-gateway",
        "regions": REGIONS,
        "offerings": REGIONS,
        "subnets": "https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-shared-vpc",
        "networks": "https://cloud.google.com/kubernetes-engine/docs/concepts/alias-ips",
        "keys": "https://cloud.google.com/kubernetes-engine/docs/how-to/using-cmek",
        "reservations": "https://cloud.google.com/kubernetes-engine/docs/how-to/consuming-reservations",
        "tags": "https://cloud.google.com/compute/docs/labeling-resources",
    },
)
