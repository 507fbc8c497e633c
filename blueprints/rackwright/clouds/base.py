"""What differs between clouds: one frozen value per cloud. Data and small pure functions; no spec, no catalog, no plan."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


def _any_tag(_key: str, _value: str) -> str:
    return ""


@dataclass(frozen=True, kw_only=True, eq=False)
class CloudProfile:
    """Answers to the questions whose answer depends on the cloud. Prices, machines and regions are rows of the catalog.

    name: `cloud` in a spec, a plan and the catalog. owner_field: key of a place that names whose resources they are.
    is_owned: the machines are the user's: no regions, capacity modes or prices.

    blueprints: kinds this release builds, each with an entry in compile.PATHS.
    supports: options of the spec, and features behind them, that this release builds on this cloud only where they are listed.

    zone_separator: between a region and the letter of a zone. zone_letters: region -> its letters; other regions have a, b and c.
    control_zones: zones the control plane's subnets must span. has_zone_names: the catalog's zones are names that every account shares;
    on AWS they are ids, which map to other letters in each account. residency: territory -> patterns of the regions inside it.

    capacity_modes: modes the cloud sells, as the spec spells them. reserves_on_demand: what is sold on demand can be reserved.

    max_tags: tags or labels of a resource; 0: not limited here. tag_error: why the cloud refuses a (key, value), empty where it does not.
    uri_scheme: of objects in its object store. bucket_prefixes, bucket_words: what a bucket's name must not begin with, and not contain.
    has_bucket_folders: buckets get a hierarchical namespace, which keeps no versions.

    reserved_addresses: of every subnet. identity_endpoints: (CIDR, port) where a pod gets its cloud identity.
    pods_use_subnet: pods take addresses of the nodes' subnet, in prefixes on the nodes' interfaces; else of a secondary range.
    max_pods: kind of machine -> pods of a node, where they do not follow from its interfaces.

    system_machine, system_image: of the pool that operators run on. node_images: kind of machine -> image family.
    node_disk: arguments of a node's DiskPlan. attaches_local_ssds: local SSDs are attached by number.

    disk_volumes: kind of disk -> volume of the catalog. object_volume: the volume of buckets. fees: what for -> fee of the catalog.
    has_vcpu_quotas: machines take quota by vCPU; else by accelerator. has_cost_alerts: this release builds budgets and alarms.
    links: topic -> page of the cloud's documentation.
    """

    name: str
    owner_field: str
    is_owned: bool = False

    blueprints: frozenset[str] = frozenset()
    supports: frozenset[str] = frozenset()

    zone_separator: str = ""
    zone_letters: Mapping[str, str] = field(default_factory=dict)
    control_zones: int = 0
    has_zone_names: bool = False
    residency: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    capacity_modes: tuple[str, ...] = ()
    reserves_on_demand: bool = False

    max_tags: int = 0
    tag_error: Callable[[str, str], str] = _any_tag
    uri_scheme: str = ""
    bucket_prefixes: tuple[str, ...] = ()
    bucket_words: tuple[str, ...] = ()
    has_bucket_folders: bool = False

    reserved_addresses: int = 0
    identity_endpoints: tuple[tuple[str, int], ...] = ()
    pods_use_subnet: bool = False
    max_pods: Mapping[str, int] = field(default_factory=dict)

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
        """The name of a zone: us-east-1a, us-central1-a."""
        return f"{region}{self.zone_separator}{letter}"

    def zones(self, region: str) -> tuple[str, ...]:
        """Zones of a region that take a control plane, without asking the catalog."""
        return tuple(self.zone(region, letter) for letter in self.zone_letters.get(region, "abc"))

    def sells(self, mode: str) -> bool:
        """Whether a capacity mode is sold, in the spelling of a spec (`capacity_block`) or of a plan (`capacity-block`)."""
        return mode in self.capacity_modes or mode.replace("-", "_") in self.capacity_modes
