"""Outputs of Google Cloud: resource names, self links, endpoints, email addresses."""

from collections.abc import Callable

from rackwright_pulumi.simulator.computed.context import Outputs, ResourceRequest, certificate, without_none
from rackwright_pulumi.simulator.computed.names import place, resource_name
from rackwright_pulumi.simulator.schema.facts import entry, table

MAKERS: dict[str, Callable[[ResourceRequest], tuple[str, Outputs]]] = {}
COMPUTE_EXTRA: dict[str, Callable[[ResourceRequest, str], Outputs]] = {}
LOCATED_EXTRA: dict[str, Callable[[ResourceRequest, str], Outputs]] = {}
API = "https://www.googleapis.com"

COLLECTIONS = {row["type"]: (row["name_input"], row["collection"]) for row in table("gcp_collections.csv")}
"""The input with the name, and the collection below ``projects/<project>/``."""


def project(request: ResourceRequest) -> str:
    """The resource's project, else the provider's."""
    return str(request.get("project") or request.context.project)


def full_name(request: ResourceRequest, collection: str, name: str) -> str:
    """``projects/<project>/<collection>/<name>`` with region, zone and location filled in."""
    manager = str(request.get("instanceGroupManager", "")).rpartition("/")[2]
    location = {k: place(request, k) for k in ("region", "zone", "location")} | {"instanceGroupManager": manager}
    return f"projects/{project(request)}/{collection.format(**location)}/{name}"


def compute(request: ResourceRequest) -> tuple[str, Outputs]:
    """Id, self link and further outputs of a Compute Engine resource."""
    name = resource_name(request)
    resource_id = full_name(request, COLLECTIONS[request.token][1], name)
    link = f"{API}/compute/v1/{resource_id}"
    extra = COMPUTE_EXTRA.get(request.token, lambda request, link: {})(request, link)
    return resource_id, {"name": name, "selfLink": link, "creationTimestamp": request.context.now, **extra}


@entry(COMPUTE_EXTRA, "gcp:compute/network:Network")
def network(request: ResourceRequest, link: str) -> Outputs:
    return {"networkId": request.digits(19), "numericId": request.digits(19), "mtu": 1460, "routingMode": "REGIONAL"}


@entry(COMPUTE_EXTRA, "gcp:compute/subnetwork:Subnetwork")
def subnetwork(request: ResourceRequest, link: str) -> Outputs:
    gateway = str(request.get("ipCidrRange", "10.0.0.0/20")).rpartition(".")[0] + ".1"
    return {"gatewayAddress": gateway, "subnetworkId": int(request.digits(15)), "fingerprint": request.hex(11), "purpose": "PRIVATE"}


@entry(COMPUTE_EXTRA, "gcp:compute/instance:Instance")
def vm(request: ResourceRequest, link: str) -> Outputs:
    nics = [
        {"networkIp": f"10.128.0.{int(request.hex(4, str(i)), 16) % 250 + 2}", "name": f"nic{i}", **nic}
        for i, nic in enumerate(request.get("networkInterfaces", []))
    ]
    return {"instanceId": request.digits(19), "currentStatus": "RUNNING", "cpuPlatform": "Intel Sapphire Rapids", "networkInterfaces": nics}


@entry(COMPUTE_EXTRA, "gcp:compute/instanceGroupManager:InstanceGroupManager")
def instance_group_manager(request: ResourceRequest, link: str) -> Outputs:
    return {"instanceGroup": link.replace("instanceGroupManagers", "instanceGroups"), "instanceGroupManagerId": int(request.digits(15))}


COMPUTE_EXTRA |= {
    "gcp:compute/address:Address": lambda request, _: {"address": _public_ip(request), "addressId": request.digits(19)},
    "gcp:compute/disk:Disk": lambda request, _: {"diskId": request.digits(19), "size": request.get("size", 500)},
    "gcp:compute/globalAddress:GlobalAddress": lambda request, _: {
        "address": "10.64.0.0" if request.get("purpose") else _public_ip(request)
    },
    "gcp:compute/instanceTemplate:InstanceTemplate": lambda request, link: {
        "numericId": request.digits(19),
        "selfLinkUnique": f"{link}?uniqueId={request.digits(19)}",
    },
    "gcp:compute/reservation:Reservation": lambda request, _: {"status": "READY"},
    "gcp:compute/resizeRequest:ResizeRequest": lambda request, _: {"state": "SUCCEEDED"},
}


def _public_ip(request: ResourceRequest) -> str:
    h = request.hex(6, "public")
    return f"34.{int(h[:2], 16)}.{int(h[2:4], 16)}.{int(h[4:], 16)}"


def located(request: ResourceRequest) -> tuple[str, Outputs]:
    """Id and outputs of a resource with a full name in a location."""
    prop, collection = COLLECTIONS[request.token]
    name = resource_name(request, prop)
    resource_id = full_name(request, collection, name)
    extra = LOCATED_EXTRA.get(request.token, lambda request, name: {})(request, resource_id)
    own = {prop: name} if prop == "name" else {"name": resource_id}
    return resource_id, {**own, "createTime": request.context.now, "updateTime": request.context.now, **extra}


@entry(LOCATED_EXTRA, "gcp:artifactregistry/repository:Repository")
def artifact_repository(request: ResourceRequest, name: str) -> Outputs:
    repository = resource_name(request, "repositoryId")
    return {"name": repository, "registryUri": f"{place(request, 'location')}-docker.pkg.dev/{project(request)}/{repository}"}


@entry(LOCATED_EXTRA, "gcp:filestore/instance:Instance")
def filestore(request: ResourceRequest, name: str) -> Outputs:
    networks = [{"ipAddresses": [f"10.0.0.{int(request.hex(4), 16) % 250 + 2}"], **n} for n in request.get("networks", [])]
    return {"networks": networks, "etag": request.hex(16)}


@entry(LOCATED_EXTRA, "gcp:tpu/v2Vm:V2Vm")
def tpu_vm(request: ResourceRequest, name: str) -> Outputs:
    endpoint = {"ipAddress": f"10.128.0.{int(request.hex(4), 16) % 250 + 2}", "port": 8470}
    return {"state": "READY", "health": "HEALTHY", "apiVersion": "V2", "networkEndpoints": [endpoint]}


LOCATED_EXTRA |= {
    "gcp:lustre/instance:Instance": lambda request, _: {
        "mountPoint": f"10.64.{int(request.hex(2), 16)}.2@tcp:/{request.get('filesystem', '')}",
        "state": "ACTIVE",
        "uid": request.uuid(),
    },
    "gcp:parallelstore/instance:Instance": lambda request, _: {
        "accessPoints": [f"10.64.{int(request.hex(2), 16)}.{i}" for i in (2, 3, 4)],
        "state": "ACTIVE",
    },
}


@entry(MAKERS, "gcp:container/cluster:Cluster")
def cluster(request: ResourceRequest) -> tuple[str, Outputs]:
    name, location = resource_name(request), place(request, "location")
    resource_id = full_name(request, "locations/{location}/clusters", name)
    region = location if location.count("-") == 1 else location.rpartition("-")[0]
    version = request.get("minMasterVersion") or "1.35.1-gke.1000000"
    dns = {"endpoint": f"gke-{request.hex(30, 'dns')}-{request.context.project_number}.{region}.gke.goog"}
    endpoints = request.get("controlPlaneEndpointsConfig", {})
    return resource_id, {
        "name": name,
        "location": location,
        "endpoint": "10.0.0.2" if request.get("privateClusterConfig.enablePrivateEndpoint") else _public_ip(request),
        "selfLink": f"https://container.googleapis.com/v1/{resource_id}",
        "masterAuth": {**request.get("masterAuth", {}), "clusterCaCertificate": certificate(request)},
        "controlPlaneEndpointsConfig": {**endpoints, "dnsEndpointConfig": {**endpoints.get("dnsEndpointConfig", {}), **dns}},
        "masterVersion": version,
        "nodeVersion": version,
        "clusterIpv4Cidr": "10.4.0.0/14",
        "servicesIpv4Cidr": "10.0.32.0/20",
        "labelFingerprint": request.hex(8),
    }


@entry(MAKERS, "gcp:container/nodePool:NodePool")
def node_pool(request: ResourceRequest) -> tuple[str, Outputs]:
    name, cluster = resource_name(request), str(request.get("cluster", ""))
    parent = cluster if "/" in cluster else full_name(request, "locations/{location}/clusters", cluster)
    zones = request.get("nodeLocations") or [place(request, "zone")]
    short = f"gke-{parent.rpartition('/')[2]}-{name}"[:32].rstrip("-")
    groups = [
        f"{API}/compute/v1/projects/{project(request)}/zones/{z}/instanceGroupManagers/{short}-{request.hex(8, z)}-grp" for z in zones
    ]
    return f"{parent}/nodePools/{name}", {
        "name": name,
        "location": parent.split("/")[3] if "/" in parent else place(request, "location"),
        "nodeLocations": zones,
        "managedInstanceGroupUrls": groups,
        "instanceGroupUrls": [g.replace("instanceGroupManagers", "instanceGroups") for g in groups],
        "version": "1.35.1-gke.1000000",
    }


@entry(MAKERS, "gcp:serviceaccount/account:Account")
def service_account(request: ResourceRequest) -> tuple[str, Outputs]:
    email = f"{resource_name(request, 'accountId')}@{project(request)}.iam.gserviceaccount.com"
    name = f"projects/{project(request)}/serviceAccounts/{email}"
    return name, {
        "accountId": resource_name(request, "accountId"),
        "email": email,
        "member": f"serviceAccount:{email}",
        "name": name,
        "uniqueId": request.digits(21),
    }


@entry(MAKERS, "gcp:storage/bucket:Bucket")
def bucket(request: ResourceRequest) -> tuple[str, Outputs]:
    name = resource_name(request)
    return name, {
        "name": name,
        "url": f"gs://{name}",
        "selfLink": f"{API}/storage/v1/b/{name}",
        "projectNumber": int(request.context.project_number),
        "storageClass": "STANDARD",
        "timeCreated": request.context.now,
        "updated": request.context.now,
    }


@entry(MAKERS, "gcp:kms/cryptoKey:CryptoKey")
def crypto_key(request: ResourceRequest) -> tuple[str, Outputs]:
    name = resource_name(request)
    resource_id = f"{request.get('keyRing', '')}/cryptoKeys/{name}"
    return resource_id, {
        "name": name,
        "purpose": "ENCRYPT_DECRYPT",
        "primaries": [{"name": f"{resource_id}/cryptoKeyVersions/1", "state": "ENABLED"}],
    }


def _member(scope: str, template: str = "{0}"):
    def make(request: ResourceRequest) -> tuple[str, Outputs]:
        parts = [template.format(request.get(scope, "")), request.get("role", ""), request.get("member", "")]
        return "/".join(parts), {"etag": f"Bw{request.hex(8)}="}

    return make


@entry(MAKERS, "gcp:servicenetworking/connection:Connection")
def service_connection(request: ResourceRequest) -> tuple[str, Outputs]:
    service = str(request.get("service", ""))
    return f"{request.get('network', '')}:{service}".replace("/", "%2F"), {"peering": service.replace(".", "-")}


@entry(MAKERS, "gcp:compute/routerNat:RouterNat")
def nat(request: ResourceRequest) -> tuple[str, Outputs]:
    router = str(request.get("router", "")).rpartition("/")[2]
    return f"{project(request)}/{place(request, 'region')}/{router}/{resource_name(request)}", {
        "name": resource_name(request),
        "natIpAllocateOption": "AUTO_ONLY",
    }


@entry(MAKERS, "gcp:storage/anywhereCache:AnywhereCache")
def anywhere_cache(request: ResourceRequest) -> tuple[str, Outputs]:
    zone = place(request, "zone")
    return f"{request.get('bucket', '')}/{zone}", {"anywhereCacheId": zone, "state": "running", "createTime": request.context.now}


def _numbered(collection: str):
    """``projects/<project>/<collection>/<number>``, the names of Cloud Monitoring."""

    def make(request: ResourceRequest) -> tuple[str, Outputs]:
        name = f"projects/{project(request)}/{collection}/{request.digits(19)}"
        return name, {"name": name}

    return make


@entry(MAKERS, "gcp:billing/budget:Budget")
def budget(request: ResourceRequest) -> tuple[str, Outputs]:
    budget = request.uuid()
    return f"billingAccounts/{request.get('billingAccount', '')}/budgets/{budget}", {"name": budget}


@entry(MAKERS, "gcp:secretmanager/secret:Secret")
def secret(request: ResourceRequest) -> tuple[str, Outputs]:
    name = f"projects/{project(request)}/secrets/{request.get('secretId', '')}"
    return name, {"name": name, "createTime": request.context.now}


@entry(MAKERS, "gcp:projects/serviceIdentity:ServiceIdentity")
def service_agent(request: ResourceRequest) -> tuple[str, Outputs]:
    service = str(request.get("service", ""))
    email = f"service-{request.context.project_number}@gcp-sa-{service.partition('.')[0]}.iam.gserviceaccount.com"
    return f"projects/{project(request)}/services/{service}", {"email": email, "member": f"serviceAccount:{email}"}


MAKERS |= {
    "gcp:secretmanager/secretIamMember:SecretIamMember": _member("secretId"),
    "gcp:secretmanager/secretVersion:SecretVersion": lambda request: (
        f"{request.get('secret', '')}/versions/1",
        {"name": f"{request.get('secret', '')}/versions/1", "version": "1", "enabled": True},
    ),
    "gcp:compute/attachedDisk:AttachedDisk": lambda request: (
        f"{request.get('instance', '')}/{str(request.get('disk', '')).rpartition('/')[2]}",
        {},
    ),
    "gcp:compute/subnetworkIAMMember:SubnetworkIAMMember": _member("subnetwork"),
    "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember": _member("cryptoKeyId"),
    "gcp:monitoring/alertPolicy:AlertPolicy": _numbered("alertPolicies"),
    "gcp:monitoring/notificationChannel:NotificationChannel": _numbered("notificationChannels"),
    "gcp:projects/iAMMember:IAMMember": _member("project"),
    "gcp:projects/service:Service": lambda request: (f"{project(request)}/{request.get('service', '')}", {}),
    "gcp:serviceaccount/iAMMember:IAMMember": _member("serviceAccountId"),
    "gcp:storage/bucketIAMMember:BucketIAMMember": _member("bucket", "b/{0}"),
    **{token: compute if ":compute/" in token else located for token in COLLECTIONS},
}
"""Type token to the function that returns its id and outputs."""


def add_tags(request: ResourceRequest, outputs: Outputs) -> Outputs:
    """Add location and label outputs, if the type declares them."""
    own = request.get("labels") or request.get("resourceLabels") or {}
    labels = {**(request.context.default_tags or {}), **own, "goog-pulumi-provisioned": "true"}
    places = {k: place(request, k) for k in ("region", "zone", "location")}
    return without_none({"project": project(request), "effectiveLabels": labels, "pulumiLabels": labels, **places, **outputs})
