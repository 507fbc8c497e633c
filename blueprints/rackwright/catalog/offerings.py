"""Prices, availability, quotas and capacity rules; storage tiers and fees. Unknown values are None, never zero."""

from dataclasses import dataclass

from rackwright.catalog.hardware import CapacityMode, Machine


@dataclass(frozen=True, slots=True)
class Price:
    """List price. unit: `node` or `chip`; region None: the source gives one price without a region."""

    sku: str
    cloud: str
    region: str | None
    capacity: CapacityMode
    usd_per_hour: float
    unit: str
    notes: str
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class Availability:
    """Region that offers a machine. zones: GCP zone names or AWS zone IDs (`use1-az4`; names differ per account); empty: not published."""

    sku: str
    cloud: str
    region: str
    zones: tuple[str, ...]
    notes: str
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class Zone:
    """Zone ID of AWS. control_plane: EKS accepts subnets of a cluster in it."""

    zone: str
    cloud: str
    region: str
    control_plane: bool
    notes: str
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class Volume:
    """Storage tier. kind: lustre, block, object, file, cache or local.

    *_bytes_per_s_per_tib: sustained rate per provisioned TiB (2^40 bytes); max_*: limit of one file system or volume; allowed sizes:
    min_bytes, second_bytes when set, then multiples of step_bytes, and of large_step_bytes above large_step_above_bytes.
    server_bytes: storage of one file server; network_bytes_per_s_per_tib: sustained network rate of the servers.
    regions: those that offer it, empty where that is not published.
    price_*: price in the reference region, None when not published; a vendor's "GB-month" is 2^30 bytes for 730 h.
    """

    name: str
    cloud: str
    kind: str
    tier: str
    read_bytes_per_s_per_tib: float | None
    write_bytes_per_s_per_tib: float | None
    burst_bytes_per_s_per_tib: float | None
    max_read_bytes_per_s: float | None
    max_write_bytes_per_s: float | None
    max_iops: float | None
    min_bytes: int | None
    second_bytes: int | None
    step_bytes: int | None
    max_bytes: int | None
    large_step_bytes: int | None
    large_step_above_bytes: int | None
    server_bytes: int | None
    network_bytes_per_s_per_tib: float | None
    regions: tuple[str, ...]
    rdma: bool
    deprecated: bool
    rules: str
    conflict: str
    source: str
    as_of: str
    price_usd_per_byte_month: float | None = None
    price_region: str | None = None
    price_as_of: str = ""
    price_source: str = ""
    price_notes: str = ""
    price_is_illustrative: bool = False

    def allowed_bytes(self, need_bytes: float) -> int | None:
        """Return the smallest allowed size of at least `need_bytes`; None when it exceeds the maximum or sizes are not published."""
        if self.min_bytes is None:
            return None
        large = self.large_step_above_bytes is not None and need_bytes > self.large_step_above_bytes
        step = (self.large_step_bytes if large else self.step_bytes) or 1
        stepped = int(-(-need_bytes // step)) * step
        size = next((s for s in (self.min_bytes, self.second_bytes) if s and s >= need_bytes), stepped)
        return size if self.max_bytes is None or size <= self.max_bytes else None


@dataclass(frozen=True, slots=True)
class StoragePrice:
    """Price of a volume's capacity in one region. illustrative: its source says that its numbers are examples, not the list price."""

    volume: str
    cloud: str
    region: str | None
    usd_per_byte_month: float
    notes: str
    source: str
    as_of: str
    illustrative: bool = False


@dataclass(frozen=True, slots=True)
class Fee:
    """Price besides machines and storage capacity. per: hour, month, gib, vm-hour, gib-month, iops-month, mbps-month ...

    illustrative: as in StoragePrice.
    """

    name: str
    cloud: str
    region: str | None
    usd: float
    per: str
    notes: str
    source: str
    as_of: str
    illustrative: bool = False


@dataclass(frozen=True, slots=True)
class Quota:
    """Quota of an account. code: AWS quota code or GCP metric; capacity None: applies to all modes; default None: not published."""

    cloud: str
    code: str
    family: str
    capacity: CapacityMode | None
    scope: str
    unit: str
    default: float | None
    adjustable: bool | None
    notes: str
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class StorageLimit:
    """Limit, step or offered values of a volume. volume: name in volumes.csv, or `fsx-lustre` for all tiers of it. Units are suffixes."""

    volume: str
    limit: str
    values: tuple[int, ...]
    notes: str
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class SupportedVersion:
    """Minors of Kubernetes 1 that a component supports, and its first release that does. kubernetes_last None: no end is published.

    older_minors: how many minors it may be older than the control plane; None where that is not limited or not published.
    """

    component: str
    kubernetes_first: int
    kubernetes_last: int | None
    first_release: str
    older_minors: int | None
    notes: str
    source: str
    as_of: str

    def supports(self, minor: int) -> bool:
        return self.kubernetes_first <= minor and (self.kubernetes_last is None or minor <= self.kubernetes_last)


@dataclass(frozen=True, slots=True)
class PinnedVersion:
    """Version that a plan pins. chart, repository: of Helm charts; chart is a full `oci://` reference, or a name within `repository`.

    The version of an OCI chart ends with `@sha256:...` where a source publishes the digest, that of an image likewise.
    """

    kind: str
    name: str
    version: str
    chart: str
    repository: str
    notes: str
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class Support:
    """Last day of support of a version and its patches. cloud: empty for every cloud; support_ends None: not published.

    extended_ends: last day of the support that costs extra, where the cloud sells one; deprecated: critical fixes only.
    follows: component whose support it has, such as kubernetes for node images of EKS; then it has no dates and no version.
    """

    component: str
    cloud: str
    version: str
    support_ends: str | None
    extended_ends: str | None
    deprecated: bool
    follows: str
    notes: str
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class CapacityRule:
    """Limit of a capacity mode, None: of all. Rule names have a unit suffix: `longest_run_s`, `most_nodes`, `drain_before_end_s`."""

    cloud: str
    capacity: CapacityMode | None
    family: str
    rule: str
    value: float
    notes: str
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class Offering:
    """Machine in a region with a capacity mode. For TPUs the machine is one host.

    price_usd_per_hour: of one node, None when not published; price_is_reference: the price is that of another region or mode, described in
    `price_words`.
    """

    machine: Machine
    cloud: str
    region: str
    zones: tuple[str, ...]
    capacity: CapacityMode
    price_usd_per_hour: float | None = None
    price_region: str | None = None
    price_as_of: str = ""
    price_source: str = ""
    price_is_reference: bool = False
    price_words: str = ""
