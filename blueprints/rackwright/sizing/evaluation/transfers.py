"""Data that a run moves between regions or clouds, and its price: data to the machines, checkpoints or results to their bucket."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rackwright.catalog.offerings import Fee
from rackwright.catalog.read import Catalog
from rackwright.clouds import profile, profiles
from rackwright.sizing.note import Note, NoteKind
from rackwright.sizing.plan import Transfer, WorkloadFacts
from rackwright.spec.media import BatchData, BatchProgress
from rackwright.spec.spec import Spec
from rackwright.spec.workload import TRAINING, Batch, Workload
from rackwright.spec.workload_parts import Checkpoint, Data
from rackwright.units import GIB


@dataclass(frozen=True)
class Location:
    """A bucket or machines. region: None where unknown, empty where a cloud has none."""

    cloud: str
    region: str | None

    def __str__(self) -> str:
        return " ".join(filter(None, (self.cloud, self.region)))


@dataclass(frozen=True)
class Buckets:
    """Where the data of a run is, as far as the spec has it, with the bytes that move. None: a bucket of the stack, or not known.

    written: what goes to the bucket of the checkpoints. Its size is unknown for results of a batch (`checkpoint_bytes` 0).
    """

    catalog: Catalog
    data: Location | None = None
    dataset_bytes: float = 0.0
    checkpoints: Location | None = None
    checkpoint_bytes: float = 0.0
    written: str = "checkpoints"

    @staticmethod
    def of(spec: Spec, facts: WorkloadFacts, catalog: Catalog) -> "Buckets":
        w = spec.workload
        if not isinstance(w, (*TRAINING, Batch)):
            return Buckets(catalog)
        data, written = location(w.data.uri, w.data.region), "results" if isinstance(w, Batch) else "checkpoints"
        checkpoints = location(w.checkpoint.uri, w.checkpoint.region) if w.checkpoint else None
        return Buckets(catalog, data, facts.dataset_bytes, checkpoints, facts.checkpoint_bytes, written)

    def transfers(self, cloud: str, region: str, checkpoints: float) -> Iterator[Transfer]:
        """What leaves a region or a cloud for machines in a region. checkpoints: number that the run writes.

        The dataset is read once: disks and file systems keep it. A bucket of an unknown region of the same cloud counts as near.
        """
        machines = Location(cloud, region)
        if self.data and _are_apart(self.data, machines):
            yield self._transfer("data", self.data, machines, self.dataset_bytes or None)
        if self.checkpoints and _are_apart(self.checkpoints, machines):
            yield self._transfer(self.written, machines, self.checkpoints, checkpoints * self.checkpoint_bytes or None)

    def _transfer(self, what: str, source: Location, target: Location, size: float | None) -> Transfer:
        fee = transfer_fee(source, target, self.catalog)
        usd = None if fee is None else fee.usd
        gib = None if size is None else size / GIB
        elsewhere = fee.region if fee and fee.region and fee.region != source.region else ""
        return Transfer(what, str(source), str(target), gib, usd, fee.as_of if fee else "", fee.source if fee else "", elsewhere)


def named_buckets(w: Workload) -> dict[str, Data | Checkpoint | BatchData | BatchProgress]:
    """Parts of a run that may name a bucket and its region, by their key in the spec."""
    if not isinstance(w, (*TRAINING, Batch)):
        return {}
    return {"data": w.data, **({"checkpoint": w.checkpoint} if w.checkpoint else {})}


def location(uri: str | None, region: str | None) -> Location | None:
    """Cloud and region of a bucket; None without a URI, and for one that is no object store of a cloud."""
    scheme = (uri or "").partition("://")[0]
    cloud = next((each.name for each in profiles() if scheme and each.uri_scheme == scheme), None)
    return Location(cloud, region) if cloud else None


def written_checkpoints(duration_s: float | None, interval_s: float) -> float:
    """Number of checkpoints of a run, the last one included; 1 where the times are unknown."""
    return max(1, math.ceil(duration_s / interval_s)) if duration_s and interval_s else 1


def transfer_fee(source: Location, target: Location, catalog: Catalog) -> Fee | None:
    """US dollars per GiB that leaves the source; None where the catalog has no price. The price of a first tier is an upper bound."""
    fees = profile(source.cloud).fees
    if source.cloud != target.cloud:
        return catalog.fee(fees["internet"], source.cloud, source.region or "") if "internet" in fees else None
    near = {fee.region: fee for fee in catalog.fees if fee.name == fees.get("near_transfer")}
    if source.region in near and target.region in near:
        return near[source.region]
    if "region_transfer" in fees:
        return catalog.fee(fees["region_transfer"], source.cloud, source.region or "")
    continents = {(place.region or "").partition("-")[0] for place in (source, target)}
    if "continent_transfer" in fees and len(continents) == 1:
        return catalog.fee(fees["continent_transfer"], source.cloud, source.region or "")
    return None


def unpriced_transfers(transfers: Iterable[Transfer]) -> Iterator[Note]:
    """Transfers that the cost of the candidate leaves out."""
    for moved in transfers:
        if moved.usd is None:
            kind = NoteKind.TRANSFER_UNPRICED if moved.usd_per_gib is None else NoteKind.TRANSFER_OF_UNKNOWN_SIZE
            yield Note(kind, {"what": moved.what, "source": moved.source, "target": moved.target})


def _are_apart(bucket: Location, machines: Location) -> bool:
    return bucket.cloud != machines.cloud or (bucket.region is not None and bucket.region != machines.region)
