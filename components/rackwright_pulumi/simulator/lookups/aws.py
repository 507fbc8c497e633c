"""Results of AWS look-up functions: resources in the simulated cloud, and default values for all others."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rackwright_pulumi.simulator.computed import computed
from rackwright_pulumi.simulator.computed.arns import zone_id, zone_name, zones
from rackwright_pulumi.simulator.computed.context import Context
from rackwright_pulumi.simulator.limits.machines import vcpus
from rackwright_pulumi.simulator.provider.values import unwrap_secrets
from rackwright_pulumi.simulator.schema.references import EKS, SUBNET, VPC
from rackwright_pulumi.simulator.store import Store

Args = Mapping[str, Any]
EXTERNAL = {
    VPC: {"cidrBlock": "10.0.0.0/16"},
    SUBNET: {"cidrBlock": "10.0.0.0/20", "vpcId": "vpc-00000000000000000", "availableIpAddressCount": 4091},
    EKS: {"roleArn": "", "vpcConfig": {"subnetIds": []}, "accessConfig": {"authenticationMode": "API"}},
}
"""Inputs of a resource that is not in the simulated cloud."""
KUBERNETES_VERSIONS = ("1.32", "1.33", "1.34")
UNLIMITED = 1_000_000.0
"""Value of quotas that the setting does not list."""


@dataclass(frozen=True)
class AwsFunctions:
    """Look-ups in one account and region; without a store it has no resources."""

    context: Context
    store: Store | None = None

    def functions(self) -> dict[str, Callable[[Args], dict[str, Any]]]:
        """Function token to function. A function raises LookupError for deleted resources."""
        return {
            "aws:ec2/getInstanceType:getInstanceType": self.instance_type,
            "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings": self.offerings,
            "aws:ec2/getSubnet:getSubnet": lambda args: self.one(SUBNET, args),
            "aws:ec2/getSubnets:getSubnets": self.subnets,
            "aws:ec2/getVpc:getVpc": lambda args: self.one(VPC, args),
            "aws:eks/getAddonVersion:getAddonVersion": addon_version,
            "aws:eks/getCluster:getCluster": self.cluster,
            "aws:eks/getClusterVersions:getClusterVersions": cluster_versions,
            "aws:eks/getClusters:getClusters": self.clusters,
            "aws:servicequotas/getServiceQuota:getServiceQuota": self.quota,
        }

    @property
    def region(self) -> str:
        return self.context.region or "us-east-1"

    def _setting(self, name: str) -> dict[str, Any]:
        return self.store.setting(name, {}) if self.store else {}

    def cluster(self, args: Args) -> dict[str, Any]:
        """An EKS cluster. The look-up has lists where the resource has one object (aws.eks.GetClusterResult of pulumi-aws 7.51)."""
        state = self.one(EKS, {"id": args["name"]})
        single = {"certificateAuthorities": "certificateAuthority", "kubernetesNetworkConfigs": "kubernetesNetworkConfig"}
        return state | {many: [state[one]] for many, one in single.items() if state.get(one) is not None}

    def clusters(self, args: Args) -> dict[str, Any]:
        """Names of the clusters in the cloud."""
        names = [unwrap_secrets(r.state).get("name") or r.id for r in (self.store.all(EKS) if self.store else [])]
        return {"names": names, "id": self.region}

    def one(self, token: str, args: Args) -> dict[str, Any]:
        """A resource by id, or by the filters ``vpc-id``, ``availability-zone``, ``availability-zone-id`` and ``tag:``."""
        id_ = args.get("id")
        states = {} if self.store is None else {r.id: unwrap_secrets(r.state) for r in self.store.all(token)}
        found = [i for i, state in states.items() if (i == id_ if id_ else _matches(state, args.get("filters") or ()))]
        if not id_ and len(found) != 1:
            raise LookupError(f"{len(found)} {token.rpartition(':')[2]}s match the filters; the look-up needs 1")
        if found:
            return states[found[0]] | {"id": found[0]}
        if self.store and self.store.was_deleted(token, str(id_)):
            raise LookupError(f"{token.rpartition(':')[2]} {id_} does not exist: NotFound")
        named = {"name": id_} if token == EKS else {}
        inputs = EXTERNAL[token] | named
        outputs = computed(token, str(id_), f"urn:pulumi:outside::outside::{token}::{id_}", inputs, self.context)[1]
        return inputs | outputs | {"id": id_}

    def subnets(self, args: Args) -> dict[str, Any]:
        """Ids of subnets in the cloud; without a match, two ids of existing subnets."""
        records = self.store.all(SUBNET) if self.store else []
        ids = [r.id for r in records if _matches(unwrap_secrets(r.state), args.get("filters") or ())]
        return {"ids": ids or [f"subnet-{letter * 17}" for letter in "ab"], "id": self.region}

    def instance_type(self, args: Args) -> dict[str, Any]:
        machine = args["instanceType"]
        return {"id": machine, "instanceType": machine, "defaultVcpus": vcpus(machine)}

    def offerings(self, args: Args) -> dict[str, Any]:
        """Every type in every zone; a type in ``capacity`` only in the zones that have machines."""
        types = [value for f in args.get("filters") or () if f["name"] == "instance-type" for value in f["values"]]
        kind, capacity = args.get("locationType", "region"), self._setting("capacity")
        in_zones, by_id = kind != "region", kind == "availability-zone-id"
        everywhere = zones(self.region) if in_zones else [self.region]
        pairs = []
        for machine in types:
            is_limited = in_zones and machine in capacity
            limited = sorted(zone_name(zone, self.region) for zone, count in capacity.get(machine, {}).items() if count)
            pairs += [(machine, zone_id(place) if by_id else place) for place in (limited if is_limited else everywhere)]
        return {
            "id": self.region,
            "instanceTypes": [machine for machine, _ in pairs],
            "locations": [zone for _, zone in pairs],
            "locationTypes": [kind] * len(pairs),
        }

    def quota(self, args: Args) -> dict[str, Any]:
        code = args.get("quotaCode", "")
        value = float(self._setting("quota").get(code, UNLIMITED))
        return {"id": code, "quotaCode": code, "serviceCode": args["serviceCode"], "value": value, "adjustable": True}


def addon_version(args: Args) -> dict[str, Any]:
    """The version of every add-on in the simulated EKS."""
    version = computed("aws:eks/addon:Addon", "", "", {}, Context())[1]["addonVersion"]
    return {"id": args["addonName"], "addonName": args["addonName"], "version": version, "kubernetesVersion": args["kubernetesVersion"]}


def cluster_versions(args: Args) -> dict[str, Any]:
    requested = args.get("clusterVersionsOnlies") or KUBERNETES_VERSIONS
    versions = [
        {"clusterVersion": v, "clusterType": "eks", "versionStatus": "STANDARD_SUPPORT"} for v in KUBERNETES_VERSIONS if v in requested
    ]
    return {"id": "eks", "clusterVersions": versions}


def _matches(state: Args, filters: Iterable[Args]) -> bool:
    keys = {"vpc-id": "vpcId", "availability-zone": "availabilityZone", "availability-zone-id": "availabilityZoneId", "subnet-id": "id"}
    tags = state.get("tagsAll") or state.get("tags") or {}
    for f in filters:
        value = tags.get(f["name"].removeprefix("tag:")) if f["name"].startswith("tag:") else state.get(keys.get(f["name"], f["name"]))
        if value not in f["values"]:
            return False
    return True
