"""Serving on AWS: weights in a bucket as a volume, and an internal load balancer."""

from rackwright.clouds import AWS
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.gateway.envoy_gateway import PORT, Entrance
from rackwright.compile.kubernetes.manifests import Body, obj, static_volume
from rackwright.compile.serving.entrance import HTTP_PORT, HTTPS_PORT
from rackwright.compile.serving.model_server import USER_ID, ModelServer
from rackwright.stackplan import BucketPlan, ManifestPlan, NetworkPlan, format_refs, ref

TLS_POLICY = "ELBSecurityPolicy-TLS13-1-2-2021-06"
"""TLS 1.3 and 1.2; the controller's default also accepts 1.0 and 1.1
(https://docs.aws.amazon.com/elasticloadbalancing/latest/network/describe-ssl-policies.html)."""
PRIVATE_RANGES = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
"""Private addresses (RFC 1918, RFC 6598), the allowed clients in existing networks with unknown ranges."""
CLAIM = "weights"


def weights_objects(bucket: BucketPlan, context: CompileContext) -> tuple[ManifestPlan, ...]:
    """The bucket's folder as a read-only volume, mounted with the permissions of the pod.

    The size is required but not used. https://github.com/awslabs/mountpoint-s3-csi-driver/blob/main/docs/CONFIGURATION.md
    """
    options = [
        "read-only",
        f"region {context.candidate.region}",
        f"uid={USER_ID}",
        f"gid={USER_ID}",
        "allow-other",
        "metadata-ttl indefinite",
    ]
    options += [f"prefix {bucket.prefix}/"] if bucket.prefix else []
    claim_name = context.named(CLAIM)
    name = f"{context.spec.name}-{claim_name}"
    attributes = {"bucketName": ref(f"bucket.{bucket.key}.name"), "authenticationSource": "pod"}
    csi = {"driver": "s3.csi.aws.com", "volumeHandle": name, "volumeAttributes": attributes}
    volume, claim = static_volume(name, claim_name, context.namespace, "1Ti", "ReadOnlyMany", options, {"csi": csi})
    key = f"storage.{claim_name}.volume"
    return (ManifestPlan(key, volume), ManifestPlan(weights_claim_key(context), claim, (key,)))


def weights_claim_key(context: CompileContext) -> str:
    """Key of the manifest of the weights claim."""
    return f"storage.{context.named(CLAIM)}.claim"


def weights_volume(context: CompileContext) -> Body:
    """Pod volume of the weights claim."""
    return {"name": "weights", "persistentVolumeClaim": {"claimName": context.named(CLAIM), "readOnly": True}}


def client_ranges(context: CompileContext, network: NetworkPlan) -> tuple[str, ...]:
    """Address ranges of allowed clients: those of the network."""
    if network.existing_id:
        return PRIVATE_RANGES
    return (context.place.network.cidr or network.cidr,)


def load_balancer(server: ModelServer, cidrs: tuple[str, ...], subnets: tuple[str, ...], certificate: str) -> ManifestPlan:
    """An internal network load balancer, created by EKS's controller and deleted with this service, before its subnet.

    subnets: references to a subnet in each zone of the machines; a load balancer does not forward to machines in other zones.
    certificate: ARN in ACM, for TLS up to the load balancer; empty: plain HTTP.

    It is updated after the servers, so that its port does not change where the update of the servers fails.

    Every node forwards requests, so that new nodes serve immediately, before the load balancer registers them. Subnets are set, because the
    controller otherwise selects them by tags, which existing networks may lack.
    https://cloud-provider-aws.sigs.k8s.io/service_controller/
    """
    spec = _balanced(cidrs, certificate, server.port) | {"selector": server.serving_labels}
    body = obj("v1", "Service", f"{server.name}-entrance", server.namespace, spec, annotations=_annotations(subnets, certificate))
    return ManifestPlan(server.key("entrance"), body, (server.workload,))


def gateway_entrance(cidrs: tuple[str, ...], subnets: tuple[str, ...], certificate: str) -> Entrance:
    """The same load balancer for the proxies of a gateway."""
    callers = tuple({"ipBlock": {"cidr": cidr}} for cidr in cidrs)
    return Entrance(_balanced(cidrs, certificate, PORT), callers, tuple(_annotations(subnets, certificate).items()))


def _balanced(cidrs: tuple[str, ...], certificate: str, target: int | str) -> Body:
    """Spec of the service of a load balancer without selector. target: port of the pods."""
    name, port = ("https", HTTPS_PORT) if certificate else ("http", HTTP_PORT)
    return {
        "type": "LoadBalancer",
        "externalTrafficPolicy": "Cluster",
        "loadBalancerSourceRanges": list(cidrs),
        "ports": [{"name": name, "port": port, "targetPort": target}],
    }


def _annotations(subnets: tuple[str, ...], certificate: str) -> Body:
    """Of an internal network load balancer in these subnets."""
    listed = ",".join(f"{{{number}}}" for number in range(len(subnets)))
    annotations = {
        f"{AWS.load_balancer_annotation}-type": "nlb",
        f"{AWS.load_balancer_annotation}-internal": "true",
        f"{AWS.load_balancer_annotation}-subnets": ref(subnets[0]) if len(subnets) == 1 else format_refs(listed, *subnets),
    }
    if certificate:
        annotations |= {
            f"{AWS.load_balancer_annotation}-ssl-cert": certificate,
            f"{AWS.load_balancer_annotation}-ssl-ports": str(HTTPS_PORT),
            f"{AWS.load_balancer_annotation}-ssl-negotiation-policy": TLS_POLICY,
        }
    return annotations
