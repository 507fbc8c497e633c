"""What the simulated AWS answers to look-ups: what is in the cloud as it is there, everything else as if it existed outside it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rackwright_pulumi.simulator.computed import computed
from rackwright_pulumi.simulator.computed.arns import zones
from rackwright_pulumi.simulator.computed.context import Context, ResourceRequest
from rackwright_pulumi.simulator.limits.machines import vcpus
from rackwright_pulumi.simulator.provider.values import opened
from rackwright_pulumi.simulator.schema.references import EKS, SUBNET, VPC
from rackwright_pulumi.simulator.store import Store

Args = Mapping[str, Any]
OUTSIDE = {
    VPC: {"cidrBlock": "10.0.0.0/16"},
    SUBNET: {"cidrBlock": "10.0.0.0/20", "vpcId": "vpc-00000000000000000", "availableIpAddressCount": 4091},
    EKS: {"roleArn": "", "vpcConfig": {"subnetIds": []}, "accessConfig": {"authenticationMode": "API"}},
}
"""What is said of a resource that no program of this cloud made."""
KUBERNETES = ("1.32", "1.33", "1.34")
UNLIMITED = 1_000_000.0
"""The quota of what the knob does not name."""


@dataclass(frozen=True)
class Amazon:
    """One account and region; without a store nothing is in it."""

    context: Context
    store: Store | None = None

    def answers(self) -> dict[str, Callable[[Args], dict[str, Any]]]:
        """Function token to its answer, which raises LookupError for what was deleted."""
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

    def _knob(self, name: str) -> dict[str, Any]:
        return self.store.knob(name, {}) if self.store else {}

    def cluster(self, args: Args) -> dict[str, Any]:
        """The look-up has lists where the resource has one object (aws.eks.GetClusterResult of pulumi-aws 7.51)."""
        state = self.one(EKS, {"id": args["name"]})
        single = {"certificateAuthorities": "certificateAuthority", "kubernetesNetworkConfigs": "kubernetesNetworkConfig"}
        return state | {many: [state[one]] for many, one in single.items() if state.get(one) is not None}

    def clusters(self, args: Args) -> dict[str, Any]:
        """Names of those in the cloud."""
        names = [opened(r.state).get("name") or r.id for r in (self.store.all(EKS) if self.store else [])]
        return {"names": names, "id": self.region}

    def one(self, token: str, args: Args) -> dict[str, Any]:
        """A resource by id, or by the filters ``vpc-id``, ``availability-zone`` and ``tag:``."""
        wanted = args.get("id")
        there = {} if self.store is None else {r.id: opened(r.state) for r in self.store.all(token)}
        found = [i for i, state in there.items() if (i == wanted if wanted else _matches(state, args.get("filters") or ()))]
        if not wanted and len(found) != 1:
            raise LookupError(f"{len(found)} {token.rpartition(':')[2]}s match; the look-up wants one")
        if found:
            return there[found[0]] | {"id": found[0]}
        if self.store and self.store.is_gone(token, str(wanted)):
            raise LookupError(f"{token.rpartition(':')[2]} {wanted} does not exist: NotFound")
        named = {"name": wanted} if token == EKS else {}
        inputs = OUTSIDE[token] | named
        outputs = computed(token, str(wanted), f"urn:pulumi:outside::outside::{token}::{wanted}", inputs, self.context)[1]
        return inputs | outputs | {"id": wanted}

    def subnets(self, args: Args) -> dict[str, Any]:
        """Ids in the cloud; of a network that is not in it, one in each of the first two zones."""
        there = self.store.all(SUBNET) if self.store else []
        ids = [r.id for r in there if _matches(opened(r.state), args.get("filters") or ())]
        return {"ids": ids or [f"subnet-{letter * 17}" for letter in "ab"], "id": self.region}

    def instance_type(self, args: Args) -> dict[str, Any]:
        machine = args["instanceType"]
        return {"id": machine, "instanceType": machine, "defaultVcpus": vcpus(machine)}

    def offerings(self, args: Args) -> dict[str, Any]:
        """Every type in every zone, unless ``capacity`` names the type: then in the zones that have some."""
        types = [value for f in args.get("filters") or () if f["name"] == "instance-type" for value in f["values"]]
        pairs = [(machine, zone) for machine in types for zone in self._offering(machine, args.get("locationType", "region"))]
        return {
            "id": self.region,
            "instanceTypes": [machine for machine, _ in pairs],
            "locations": [zone for _, zone in pairs],
            "locationTypes": [args.get("locationType", "region")] * len(pairs),
        }

    def _offering(self, machine: str, kind: str) -> list[str]:
        if kind != "availability-zone":
            return [self.region]
        there = self._knob("capacity").get(machine)
        return zones(self.region) if there is None else sorted(zone for zone, count in there.items() if count)

    def quota(self, args: Args) -> dict[str, Any]:
        code = args.get("quotaCode", "")
        value = float(self._knob("quota").get(code, UNLIMITED))
        return {"id": code, "quotaCode": code, "serviceCode": args["serviceCode"], "value": value, "adjustable": True}


def addon_version(args: Args) -> dict[str, Any]:
    """The version every add-on of the simulated EKS has."""
    asked = ResourceRequest("aws:eks/addon:Addon", "", "", {}, Context())
    version = computed(asked.token, "", "", {}, asked.context)[1]["addonVersion"]
    return {"id": args["addonName"], "addonName": args["addonName"], "version": version, "kubernetesVersion": args["kubernetesVersion"]}


def cluster_versions(args: Args) -> dict[str, Any]:
    wanted = args.get("clusterVersionsOnlies") or KUBERNETES
    versions = [{"clusterVersion": v, "clusterType": "eks", "versionStatus": "STANDARD_SUPPORT"} for v in KUBERNETES if v in wanted]
    return {"id": "eks", "clusterVersions": versions}


def _matches(state: Args, filters: Iterable[Args]) -> bool:
    keys = {"vpc-id": "vpcId", "availability-zone": "availabilityZone", "subnet-id": "id"}
    tags = state.get("tagsAll") or state.get("tags") or {}
    for f in filters:
        has = tags.get(f["name"].removeprefix("tag:")) if f["name"].startswith("tag:") else state.get(keys.get(f["name"], f["name"]))
        if has not in f["values"]:
            return False
    return True
