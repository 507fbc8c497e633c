"""What differs between clouds: one frozen value per cloud. Data and small pure functions; no spec, no catalog, no plan."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

EKS, GKE = "eks", "gke"
"""Managed Kubernetes services."""
FSX, MANAGED_LUSTRE = "fsx", "managed-lustre"
"""Services with Lustre file systems: Amazon FSx for Lustre, and Managed Lustre of Google Cloud."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CloudProfile:
    """Facts and capabilities of a cloud. Prices, machines and regions are rows of the catalog.

    name: `cloud` in a spec, a plan and the catalog. owner_field: key of a place for its account or project.
    is_owned: the machines belong to the user: no regions, capacity modes or prices.

    blueprints: kinds that this release builds, each with an entry in compile.PATHS.
    principals: prefixes of the principals that have access to clusters. principal_error: why a principal cannot have access, and what to
    name instead; None where it can.
    certificate: pattern of the certificates of a load balancer, with the groups owner (account or project), region and name (what the
    load balancer refers to). certificate_form: the same for people; empty: no load balancer of this cloud has certificates.
    supports: options of the spec, and features behind them, that this release builds on this cloud.
    keeps_shared_name: pods request parts of a shared accelerator by the name of whole ones, and the node pool divides them.

    zone_separator: between a region and the letter of a zone. zone_letters: region -> its letters; other regions have a, b and c.
    zone_id: pattern of zone IDs, where zones have both a name and an ID, and accounts differ in which name an ID has.
    control_zones: zones that the control plane's subnets must span. has_zone_names: the catalog's zones are names that all accounts share;
    on AWS they are IDs, which map to different letters in each account. residency: territory -> patterns of its regions.

    capacity_modes: modes that the cloud sells, in the spelling of a spec. reserves_on_demand: on-demand machines can be reserved.
    has_reservation_groups: a resource group of reservations can be used.
    reservation_id: pattern of a reservation's ID; reservation_form: an example. reservation_lookup: command that shows it.

    max_tags: tags or labels of a resource; 0: no limit. tag_error: why the cloud rejects a (key, value); empty for a valid one.
    uri_scheme: of its object store. bucket_prefixes, bucket_words: prefixes and words that bucket names must not have.
    has_bucket_folders: buckets get a hierarchical namespace, which keeps no versions.

    has_regional_subnets: a subnet spans the zones of its region, and pods have secondary ranges of it. network_prefixes: shortest and
    longest prefix of a new network; () where rules of the blueprint decide. network_id, subnet_id: patterns of existing ones, with the
    groups owner and region where an ID has them; network_form, subnet_form: examples. service_account: pattern of an identity that nodes,
    pods or updates act as; empty: roles have ARNs. key_id: pattern of an existing key, with the group region; key_form: an example.

    reserved_addresses: of every subnet. identity_endpoints: (CIDR, port) where a pod gets its cloud identity.
    earlier_pod_logs: clusters collected logs of pods before the option `pod_logs` existed.
    node_upgrade_command: of one pool, with {cluster} and {region}, where clusters hold upgrades of nodes; empty: node images are pinned.
    managed_kubernetes: EKS or GKE; decides which rules apply to nodes. lustre_service: FSX or MANAGED_LUSTRE; decides which sizes a file
    system can have.
    load_balancer_annotation: prefix of the annotations that configure a load balancer; empty: it is configured by other objects.
    pods_use_subnet: pods take addresses of the nodes' subnet, in prefixes on the nodes' interfaces; else of a secondary range.
    max_pods: kind of machine -> pods of a node, where they do not follow from its interfaces.
    reserved_memory_shares: (GiB, share of them that the kubelet reserves), in order. reserved_memory_mib: MiB that it reserves of a node,
    with its threshold for evictions, and of each pod that the node may run.

    box_images: prefix of the names of the pinned images of a box. session: how its `connectCommand` reaches it.
    system_machine, system_image: of the pool that operators run on. node_images: kind of machine -> image family.
    node_disk: arguments of a node's DiskPlan. attaches_local_ssds: local SSDs are attached by number.

    disk_volumes: kind of disk -> volume of the catalog. object_volume: the volume of buckets. fees: purpose -> fee of the catalog.
    Fees of data that leaves a region: near_transfer between two regions that both have a row, continent_transfer within a continent,
    region_transfer to any other region, internet to other clouds.
    has_vcpu_quotas: machines count towards quotas by vCPU; else by accelerator. has_cost_alerts: this release builds budgets and alarms.
    links: topic -> page of the cloud's documentation.
    """

    name: str
    owner_field: str
    is_owned: bool = False

    blueprints: frozenset[str] = frozenset()
    supports: frozenset[str] = frozenset()
    keeps_shared_name: bool = False

    zone_separator: str = ""
    zone_letters: Mapping[str, str] = field(default_factory=dict)
    zone_id: str = ""
    control_zones: int = 0
    has_zone_names: bool = False
    residency: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    capacity_modes: tuple[str, ...] = ()
    reserves_on_demand: bool = False
    has_reservation_groups: bool = False
    reservation_id: str = ".+"
    reservation_form: str = ""
    reservation_lookup: str = ""

    principals: tuple[str, ...] = ()
    principal_error: Callable[[str], tuple[str, str] | None] = lambda _name: None
    certificate: str = ""
    certificate_form: str = ""
    max_tags: int = 0
    tag_error: Callable[[str, str], str] = lambda _key, _value: ""
    uri_scheme: str = ""
    bucket_prefixes: tuple[str, ...] = ()
    bucket_words: tuple[str, ...] = ()
    has_bucket_folders: bool = False

    has_regional_subnets: bool = False
    network_prefixes: tuple[int, ...] = ()
    network_id: str = ""
    network_form: str = ""
    subnet_id: str = ""
    subnet_form: str = ""
    service_account: str = ""
    key_id: str = ""
    key_form: str = ""
    reserved_addresses: int = 0
    identity_endpoints: tuple[tuple[str, int], ...] = ()
    earlier_pod_logs: bool = False
    node_upgrade_command: str = ""
    managed_kubernetes: str = ""
    lustre_service: str = ""
    load_balancer_annotation: str = ""
    pods_use_subnet: bool = False
    max_pods: Mapping[str, int] = field(default_factory=dict)
    reserved_memory_shares: tuple[tuple[float, float], ...] = ()
    reserved_memory_mib: tuple[int, int] = (0, 0)

    box_images: str = ""
    session: str = ""
    system_machine: str = ""
    system_image: str = ""
    node_images: Mapping[str, str] = field(default_factory=dict)
    node_disk: Mapping[str, int] = field(default_factory=dict)
    attaches_local_ssds: bool = False

    disk_volumes: Mapping[str, str] = field(default_factory=dict)
    object_volume: str = ""
    fees: Mapping[str, str] = field(default_factory=dict)
    has_vcpu_quotas: bool = False
    has_cost_alerts: bool = False
    links: Mapping[str, str] = field(default_factory=dict)

    def zone(self, region: str, letter: str) -> str:
        """Name of a zone: us-east-1a, us-central1-a."""
        return f"{region}{self.zone_separator}{letter}"

    def is_zone_id(self, zone: str) -> bool:
        """Whether a zone is given by its ID (use1-az1), not by its name (us-east-1a)."""
        return bool(self.zone_id and re.fullmatch(self.zone_id, zone))

    def zones(self, region: str) -> tuple[str, ...]:
        """Names of the zones of a region. They are not read from the catalog."""
        return tuple(self.zone(region, letter) for letter in self.zone_letters.get(region, "abc"))

    def sells(self, mode: str) -> bool:
        """Whether the cloud has a capacity mode, in the spelling of a spec (`capacity_block`) or of a plan (`capacity-block`)."""
        return mode in self.capacity_modes or mode.replace("-", "_") in self.capacity_modes
