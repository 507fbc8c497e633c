"""Outputs Google's cloud computes: resource names, self links, endpoints, e-mail addresses."""

from typing import Any

from rackwright_pulumi.simulator.computed.context import ResourceRequest, certificate, prune
from rackwright_pulumi.simulator.schema.names import physical_name, place

Outputs = dict[str, Any]
API = "https://www.googleapis.com"

COMPUTE = {
    "gcp:compute/address:Address": "regions/{region}/addresses",
    "gcp:compute/disk:Disk": "zones/{zone}/disks",
    "gcp:compute/firewall:Firewall": "global/firewalls",
    "gcp:compute/globalAddress:GlobalAddress": "global/addresses",
    "gcp:compute/instance:Instance": "zones/{zone}/instances",
    "gcp:compute/instanceGroupManager:InstanceGroupManager": "zones/{zone}/instanceGroupManagers",
    "gcp:compute/instanceTemplate:InstanceTemplate": "global/instanceTemplates",
    "gcp:compute/network:Network": "global/networks",
    "gcp:compute/reservation:Reservation": "zones/{zone}/reservations",
    "gcp:compute/resizeRequest:ResizeRequest": "zones/{zone}/instanceGroupManagers/{instanceGroupManager}/resizeRequests",
    "gcp:compute/resourcePolicy:ResourcePolicy": "regions/{region}/resourcePolicies",
    "gcp:compute/router:Router": "regions/{region}/routers",
    "gcp:compute/subnetwork:Subnetwork": "regions/{region}/subnetworks",
}
"""Compute Engine's collections below ``projects/<project>/``."""

LOCATED = {
    "gcp:artifactregistry/repository:Repository": ("repositoryId", "locations/{location}/repositories"),
    "gcp:filestore/instance:Instance": ("name", "locations/{location}/instances"),
    "gcp:kms/keyRing:KeyRing": ("name", "locations/{location}/keyRings"),
    "gcp:lustre/instance:Instance": ("instanceId", "locations/{location}/instances"),
    "gcp:parallelstore/instance:Instance": ("instanceId", "locations/{location}/instances"),
    "gcp:tpu/v2QueuedResource:V2QueuedResource": ("name", "locations/{zone}/queuedResources"),
    "gcp:tpu/v2Vm:V2Vm": ("name", "locations/{zone}/nodes"),
}
"""Everything else that has a full resource name: which input names it, and its collection."""


def project(asked: ResourceRequest) -> str:
    """The resource's own project, else the provider's."""
    return str(asked.get("project") or asked.context.project)


def named(asked: ResourceRequest, prop: str = "name") -> str:
    """The physical name: given, or what the provider would have filled in."""
    return str(asked.get(prop) or physical_name(asked) or asked.name)


def full_name(asked: ResourceRequest, collection: str, name: str) -> str:
    """``projects/<project>/<collection>/<name>`` with the places filled in."""
    manager = str(asked.get("instanceGroupManager", "")).rpartition("/")[2]
    where = {k: place(asked, k) for k in ("region", "zone", "location")} | {"instanceGroupManager": manager}
    return f"projects/{project(asked)}/{collection.format(**where)}/{name}"


def compute(asked: ResourceRequest) -> tuple[str, Outputs]:
    """Compute Engine: id, self link and what else the type has."""
    name = named(asked)
    resource_id = full_name(asked, COMPUTE[asked.token], name)
    link = f"{API}/compute/v1/{resource_id}"
    extra = COMPUTE_EXTRA.get(asked.token, lambda asked, link: {})(asked, link)
    return resource_id, {"name": name, "selfLink": link, "creationTimestamp": asked.context.now, **extra}


def _network(asked: ResourceRequest, link: str) -> Outputs:
    return {"networkId": asked.digits(19), "numericId": asked.digits(19), "mtu": 1460, "routingMode": "REGIONAL"}


def _subnetwork(asked: ResourceRequest, link: str) -> Outputs:
    gateway = str(asked.get("ipCidrRange", "10.0.0.0/20")).rpartition(".")[0] + ".1"
    return {"gatewayAddress": gateway, "subnetworkId": int(asked.digits(15)), "fingerprint": asked.hex(11), "purpose": "PRIVATE"}


def _vm(asked: ResourceRequest, link: str) -> Outputs:
    nics = [
        {"networkIp": f"10.128.0.{int(asked.hex(4, str(i)), 16) % 250 + 2}", "name": f"nic{i}", **nic}
        for i, nic in enumerate(asked.get("networkInterfaces", []))
    ]
    return {"instanceId": asked.digits(19), "currentStatus": "RUNNING", "cpuPlatform": "Intel Sapphire Rapids", "networkInterfaces": nics}


def _manager(asked: ResourceRequest, link: str) -> Outputs:
    return {"instanceGroup": link.replace("instanceGroupManagers", "instanceGroups"), "instanceGroupManagerId": int(asked.digits(15))}


COMPUTE_EXTRA = {
    "gcp:compute/address:Address": lambda asked, _: {"address": _public_ip(asked), "addressId": asked.digits(19)},
    "gcp:compute/disk:Disk": lambda asked, _: {"diskId": asked.digits(19), "size": asked.get("size", 500)},
    "gcp:compute/globalAddress:GlobalAddress": lambda asked, _: {"address": "10.64.0.0" if asked.get("purpose") else _public_ip(asked)},
    "gcp:compute/instance:Instance": _vm,
    "gcp:compute/instanceGroupManager:InstanceGroupManager": _manager,
    "gcp:compute/instanceTemplate:InstanceTemplate": lambda asked, link: {
        "numericId": asked.digits(19),
        "selfLinkUnique": f"{link}?uniqueId={asked.digits(19)}",
    },
    "gcp:compute/network:Network": _network,
    "gcp:compute/reservation:Reservation": lambda asked, _: {"status": "READY"},
    "gcp:compute/resizeRequest:ResizeRequest": lambda asked, _: {"state": "SUCCEEDED"},
    "gcp:compute/subnetwork:Subnetwork": _subnetwork,
}


def _public_ip(asked: ResourceRequest) -> str:
    h = asked.hex(6, "public")
    return f"34.{int(h[:2], 16)}.{int(h[2:4], 16)}.{int(h[4:], 16)}"


def located(asked: ResourceRequest) -> tuple[str, Outputs]:
    """A resource with a full name below a location."""
    prop, collection = LOCATED[asked.token]
    name = named(asked, prop)
    resource_id = full_name(asked, collection, name)
    extra = LOCATED_EXTRA.get(asked.token, lambda asked, name: {})(asked, resource_id)
    own = {prop: name} if prop == "name" else {"name": resource_id}
    return resource_id, {**own, "createTime": asked.context.now, "updateTime": asked.context.now, **extra}


def _repository(asked: ResourceRequest, name: str) -> Outputs:
    repository = named(asked, "repositoryId")
    return {"name": repository, "registryUri": f"{place(asked, 'location')}-docker.pkg.dev/{project(asked)}/{repository}"}


def _filestore(asked: ResourceRequest, name: str) -> Outputs:
    networks = [{"ipAddresses": [f"10.0.0.{int(asked.hex(4), 16) % 250 + 2}"], **n} for n in asked.get("networks", [])]
    return {"networks": networks, "etag": asked.hex(16)}


def _tpu(asked: ResourceRequest, name: str) -> Outputs:
    endpoint = {"ipAddress": f"10.128.0.{int(asked.hex(4), 16) % 250 + 2}", "port": 8470}
    return {"state": "READY", "health": "HEALTHY", "apiVersion": "V2", "networkEndpoints": [endpoint]}


LOCATED_EXTRA = {
    "gcp:artifactregistry/repository:Repository": _repository,
    "gcp:filestore/instance:Instance": _filestore,
    "gcp:lustre/instance:Instance": lambda asked, _: {
        "mountPoint": f"10.64.{int(asked.hex(2), 16)}.2@tcp:/{asked.get('filesystem', '')}",
        "state": "ACTIVE",
        "uid": asked.uuid(),
    },
    "gcp:parallelstore/instance:Instance": lambda asked, _: {
        "accessPoints": [f"10.64.{int(asked.hex(2), 16)}.{i}" for i in (2, 3, 4)],
        "state": "ACTIVE",
    },
    "gcp:tpu/v2Vm:V2Vm": _tpu,
}


def _cluster(asked: ResourceRequest) -> tuple[str, Outputs]:
    name, where = named(asked), place(asked, "location")
    resource_id = full_name(asked, "locations/{location}/clusters", name)
    region = where if where.count("-") == 1 else where.rpartition("-")[0]
    version = asked.get("minMasterVersion") or "1.35.1-gke.1000000"
    dns = {"endpoint": f"gke-{asked.hex(30, 'dns')}-{asked.context.project_number}.{region}.gke.goog"}
    endpoints = asked.get("controlPlaneEndpointsConfig", {})
    return resource_id, {
        "name": name,
        "location": where,
        "endpoint": _public_ip(asked),
        "selfLink": f"https://container.googleapis.com/v1/{resource_id}",
        "masterAuth": {**asked.get("masterAuth", {}), "clusterCaCertificate": certificate(asked)},
        "controlPlaneEndpointsConfig": {**endpoints, "dnsEndpointConfig": {**endpoints.get("dnsEndpointConfig", {}), **dns}},
        "masterVersion": version,
        "nodeVersion": version,
        "clusterIpv4Cidr": "10.4.0.0/14",
        "servicesIpv4Cidr": "10.0.32.0/20",
        "labelFingerprint": asked.hex(8),
    }


def _node_pool(asked: ResourceRequest) -> tuple[str, Outputs]:
    name, cluster = named(asked), str(asked.get("cluster", ""))
    parent = cluster if "/" in cluster else full_name(asked, "locations/{location}/clusters", cluster)
    zones = asked.get("nodeLocations") or [place(asked, "zone")]
    short = f"gke-{parent.rpartition('/')[2]}-{name}"[:32].rstrip("-")
    groups = [f"{API}/compute/v1/projects/{project(asked)}/zones/{z}/instanceGroupManagers/{short}-{asked.hex(8, z)}-grp" for z in zones]
    return f"{parent}/nodePools/{name}", {
        "name": name,
        "location": parent.split("/")[3] if "/" in parent else place(asked, "location"),
        "nodeLocations": zones,
        "managedInstanceGroupUrls": groups,
        "instanceGroupUrls": [g.replace("instanceGroupManagers", "instanceGroups") for g in groups],
        "version": "1.35.1-gke.1000000",
    }


def _account(asked: ResourceRequest) -> tuple[str, Outputs]:
    email = f"{named(asked, 'accountId')}@{project(asked)}.iam.gserviceaccount.com"
    name = f"projects/{project(asked)}/serviceAccounts/{email}"
    return name, {
        "accountId": named(asked, "accountId"),
        "email": email,
        "member": f"serviceAccount:{email}",
        "name": name,
        "uniqueId": asked.digits(21),
    }


def _bucket(asked: ResourceRequest) -> tuple[str, Outputs]:
    name = named(asked)
    return name, {
        "name": name,
        "url": f"gs://{name}",
        "selfLink": f"{API}/storage/v1/b/{name}",
        "projectNumber": int(asked.context.project_number),
        "storageClass": "STANDARD",
        "timeCreated": asked.context.now,
        "updated": asked.context.now,
    }


def _crypto_key(asked: ResourceRequest) -> tuple[str, Outputs]:
    name = named(asked)
    resource_id = f"{asked.get('keyRing', '')}/cryptoKeys/{name}"
    return resource_id, {
        "name": name,
        "purpose": "ENCRYPT_DECRYPT",
        "primaries": [{"name": f"{resource_id}/cryptoKeyVersions/1", "state": "ENABLED"}],
    }


def _member(scope: str, template: str = "{0}"):
    def make(asked: ResourceRequest) -> tuple[str, Outputs]:
        return "/".join([template.format(asked.get(scope, "")), asked.get("role", ""), asked.get("member", "")]), {
            "etag": f"Bw{asked.hex(8)}="
        }

    return make


def _connection(asked: ResourceRequest) -> tuple[str, Outputs]:
    service = str(asked.get("service", ""))
    return f"{asked.get('network', '')}:{service}".replace("/", "%2F"), {"peering": service.replace(".", "-")}


def _nat(asked: ResourceRequest) -> tuple[str, Outputs]:
    router = str(asked.get("router", "")).rpartition("/")[2]
    return f"{project(asked)}/{place(asked, 'region')}/{router}/{named(asked)}", {"name": named(asked), "natIpAllocateOption": "AUTO_ONLY"}


def _cache(asked: ResourceRequest) -> tuple[str, Outputs]:
    zone = place(asked, "zone")
    return f"{asked.get('bucket', '')}/{zone}", {"anywhereCacheId": zone, "state": "running", "createTime": asked.context.now}


def _numbered(collection: str):
    """``projects/<project>/<collection>/<number>``, as Cloud Monitoring names things."""

    def make(asked: ResourceRequest) -> tuple[str, Outputs]:
        name = f"projects/{project(asked)}/{collection}/{asked.digits(19)}"
        return name, {"name": name}

    return make


def _budget(asked: ResourceRequest) -> tuple[str, Outputs]:
    budget = asked.uuid()
    return f"billingAccounts/{asked.get('billingAccount', '')}/budgets/{budget}", {"name": budget}


MAKERS = {
    "gcp:billing/budget:Budget": _budget,
    "gcp:compute/attachedDisk:AttachedDisk": lambda asked: (
        f"{asked.get('instance', '')}/{str(asked.get('disk', '')).rpartition('/')[2]}",
        {},
    ),
    "gcp:compute/routerNat:RouterNat": _nat,
    "gcp:container/cluster:Cluster": _cluster,
    "gcp:container/nodePool:NodePool": _node_pool,
    "gcp:kms/cryptoKey:CryptoKey": _crypto_key,
    "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember": _member("cryptoKeyId"),
    "gcp:monitoring/alertPolicy:AlertPolicy": _numbered("alertPolicies"),
    "gcp:monitoring/notificationChannel:NotificationChannel": _numbered("notificationChannels"),
    "gcp:projects/iAMMember:IAMMember": _member("project"),
    "gcp:projects/service:Service": lambda asked: (f"{project(asked)}/{asked.get('service', '')}", {}),
    "gcp:serviceaccount/account:Account": _account,
    "gcp:serviceaccount/iAMMember:IAMMember": _member("serviceAccountId"),
    "gcp:servicenetworking/connection:Connection": _connection,
    "gcp:storage/anywhereCache:AnywhereCache": _cache,
    "gcp:storage/bucket:Bucket": _bucket,
    "gcp:storage/bucketIAMMember:BucketIAMMember": _member("bucket", "b/{0}"),
    **dict.fromkeys(COMPUTE, compute),
    **dict.fromkeys(LOCATED, located),
}
"""Type token to the function that gives its id and outputs."""


def tagged(asked: ResourceRequest, outputs: Outputs) -> Outputs:
    """Places and the two label outputs every resource of this SDK has, when its type has them."""
    own = asked.get("labels") or asked.get("resourceLabels") or {}
    labels = {**(asked.context.default_tags or {}), **own, "goog-pulumi-provisioned": "true"}
    places = {k: place(asked, k) for k in ("region", "zone", "location")}
    return prune({"project": project(asked), "effectiveLabels": labels, "pulumiLabels": labels, **places, **outputs})
