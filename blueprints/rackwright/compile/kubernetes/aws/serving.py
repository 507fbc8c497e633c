"""What is Amazon's own in serving: the bucket as a volume, and an internal load balancer."""

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.kubernetes.manifests import Body, obj
from rackwright.compile.serving.model_server import USER_ID, ModelServer
from rackwright.stackplan import AddonPlan, BucketPlan, ManifestPlan, NetworkPlan, ref
from rackwright.stackplan.labels import LOAD_BALANCER_ANNOTATION, SERVER_PORT

LOAD_BALANCER_PORT = 80
PRIVATE_RANGES = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
"""Private addresses (RFC 1918, RFC 6598): who may call where the network exists already and nobody says its addresses."""
MOUNTPOINT_ADDON = AddonPlan("object-store-mount", "", needs_nodes=True, values=(("node", {"tolerateAllTaints": True}),))
"""Mountpoint for S3, kept by AWS; no build of it is known for this Kubernetes, so EKS takes its own default. Weights are files to whatever
server reads them, with the rights of its own pods; a download before the start would hold them twice, on a disk that must be paid for."""
CLAIM = "weights"


def weights_objects(bucket: BucketPlan, stack: str, namespace: str, region: str) -> tuple[ManifestPlan, ...]:
    """The bucket's folder as a read-only volume, mounted with the rights of the pod that reads it.

    Size is a formality. https://github.com/awslabs/mountpoint-s3-csi-driver/blob/main/docs/CONFIGURATION.md
    """
    size = {"storage": "1Ti"}
    options = ["read-only", f"region {region}", f"uid={USER_ID}", f"gid={USER_ID}", "allow-other", "metadata-ttl indefinite"]
    options += [f"prefix {bucket.prefix}/"] if bucket.prefix else []
    name = f"{stack}-{CLAIM}"
    volume: Body = {
        "capacity": size,
        "accessModes": ["ReadOnlyMany"],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "",
        "volumeMode": "Filesystem",
        "mountOptions": options,
        "claimRef": {"name": CLAIM, "namespace": namespace},
        "csi": {
            "driver": "s3.csi.aws.com",
            "volumeHandle": name,
            "volumeAttributes": {"bucketName": ref(f"bucket.{bucket.key}.name"), "authenticationSource": "pod"},
        },
    }
    claim = {"accessModes": ["ReadOnlyMany"], "storageClassName": "", "volumeName": name, "resources": {"requests": size}}
    return (
        ManifestPlan("storage.weights.volume", obj("v1", "PersistentVolume", name, spec=volume)),
        ManifestPlan("storage.weights.claim", obj("v1", "PersistentVolumeClaim", CLAIM, namespace, claim), ("storage.weights.volume",)),
    )


def weights_volume() -> Body:
    """The pod volume of the claim above."""
    return {"name": "weights", "persistentVolumeClaim": {"claimName": CLAIM, "readOnly": True}}


def client_ranges(context: CompileContext, network: NetworkPlan) -> tuple[str, ...]:
    """Whose requests are answered: the addresses of the network, as the spec says them or as usual, never everybody's."""
    if network.existing_id:
        return PRIVATE_RANGES
    return (context.place.network.cidr or network.cidr,)


def load_balancer(server: ModelServer, cidrs: tuple[str, ...]) -> ManifestPlan:
    """A network load balancer inside the network, made by EKS's own controller: it goes when this service does, and before its subnet.

    Every node takes requests and hands them on: a machine that has just come serves at once, while the load balancer needs minutes to know
    it. Subnets are named, since the controller finds by tags only, which a network that exists may lack.
    https://cloud-provider-aws.sigs.k8s.io/service_controller/
    """
    annotations = {
        f"{LOAD_BALANCER_ANNOTATION}-type": "nlb",
        f"{LOAD_BALANCER_ANNOTATION}-internal": "true",
        f"{LOAD_BALANCER_ANNOTATION}-subnets": ref("network.machine_subnet_id"),
    }
    spec = {
        "type": "LoadBalancer",
        "externalTrafficPolicy": "Cluster",
        "loadBalancerSourceRanges": list(cidrs),
        "selector": server.serving_labels,
        "ports": [{"name": "http", "port": LOAD_BALANCER_PORT, "targetPort": SERVER_PORT}],
    }
    body = obj("v1", "Service", f"{server.name}-entrance", server.namespace, spec, annotations=annotations)
    return ManifestPlan("serving.entrance", body)
