"""Serving on Google Cloud: weights in a bucket as a volume, and an internal gateway with its policies."""

import math

from rackwright.compile.kubernetes.manifests import Body, obj
from rackwright.compile.serving.entrance import HTTP_PORT, HTTPS_PORT
from rackwright.compile.serving.model_server import ModelServer
from rackwright.stackplan import ManifestPlan, ref
from rackwright.stackplan.labels import SERVER_PORT

PRE_SHARED_CERTIFICATES = "networking.gke.io/pre-shared-certs"
HEALTH_CHECKERS = ("35.191.0.0/16", "130.211.0.0/22")
"""Source ranges of Google's health checks (cloud.google.com/load-balancing/docs/health-check-concepts)."""
GATEWAY_CLASS = "gke-l7-rilb"
"""Regional, internal: reachable from the VPC only."""
UNLIMITED = "0"


def fuse_annotations(cache_gib: int) -> tuple[tuple[str, str], ...]:
    """The GCS FUSE sidecar has no limits, because its cache grows to all weights, and requests disk for it.

    https://cloud.google.com/kubernetes-engine/docs/how-to/cloud-storage-fuse-csi-driver-sidecar
    """
    limits = tuple((f"gke-gcsfuse/{what}-limit", UNLIMITED) for what in ("cpu", "memory", "ephemeral-storage"))
    return (("gke-gcsfuse/volumes", "true"), *limits, ("gke-gcsfuse/ephemeral-storage-request", f"{cache_gib}Gi"))


def boot_disk_gib(pods_gib: float) -> int:
    """The smallest boot disk with this much space for pods.

    GKE reserves 10 % for evictions, and for the system the minimum of half, 6 GiB plus 35 %, and 100 GiB
    (cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes).
    """
    return math.ceil(min(pods_gib / 0.4, (pods_gib + 6) / 0.55, (pods_gib + 100) / 0.9))


def weights_volume(bucket: str, prefix: str) -> Body:
    """The bucket as a read-only volume with a cache on the node's disk and parallel downloads."""
    options = ["implicit-dirs", "file-cache:max-size-mb:-1", "file-cache:enable-parallel-downloads:true"]
    options += [f"only-dir={prefix}"] if prefix else []
    attributes = {"bucketName": ref(f"bucket.{bucket}.name"), "mountOptions": ",".join(options)}
    return {"name": "weights", "csi": {"driver": "gcsfuse.csi.storage.gke.io", "readOnly": True, "volumeAttributes": attributes}}


def gateway_objects(server: ModelServer, certificate: str, path: str, pool: Body | None = None) -> tuple[ManifestPlan, ...]:
    """An internal gateway, a route to the service or the pool, a health check, and a timeout for long requests.

    The gateway is updated after the servers, so that its port does not change where the update of the servers fails.

    certificate: name of a regional SSL certificate, for TLS up to the gateway; empty: plain HTTP. path: prefix of what clients may use.
    pool: reference to an InferencePool, in place of the service.
    """
    name, namespace = server.name, server.namespace
    listener = _listener(certificate) | {"allowedRoutes": {"namespaces": {"from": "Same"}}}
    gateway = {"gatewayClassName": GATEWAY_CLASS, "listeners": [listener]}
    paths = {} if path == "/" else {"matches": [{"path": {"type": "PathPrefix", "value": path}}]}
    route = {"parentRefs": [{"name": name}], "rules": [paths | {"backendRefs": [pool or {"name": server.service, "port": SERVER_PORT}]}]}
    target = pool or {"group": "", "kind": "Service", "name": server.service}
    check = {
        "default": {"config": {"type": "HTTP", "httpHealthCheck": {"port": server.port, "requestPath": server.health_path}}},
        "targetRef": target,
    }
    patience = {"default": {"timeoutSec": server.longest_request_s}, "targetRef": target}
    service = ("serving.pool",) if pool else ("serving.service",)
    http_route = obj("gateway.networking.k8s.io/v1", "HTTPRoute", name, namespace, route)
    return (
        ManifestPlan("serving.gateway", obj("gateway.networking.k8s.io/v1", "Gateway", name, namespace, gateway), (server.workload,)),
        ManifestPlan("serving.route", http_route, ("serving.gateway", *service)),
        ManifestPlan("serving.health", obj("networking.gke.io/v1", "HealthCheckPolicy", name, namespace, check), service),
        ManifestPlan("serving.timeout", obj("networking.gke.io/v1", "GCPBackendPolicy", name, namespace, patience), service),
    )


def _listener(certificate: str) -> Body:
    """https://cloud.google.com/kubernetes-engine/docs/how-to/secure-gateway"""
    if not certificate:
        return {"name": "http", "protocol": "HTTP", "port": HTTP_PORT}
    tls = {"mode": "Terminate", "options": {PRE_SHARED_CERTIFICATES: certificate}}
    return {"name": "https", "protocol": "HTTPS", "port": HTTPS_PORT, "tls": tls}
