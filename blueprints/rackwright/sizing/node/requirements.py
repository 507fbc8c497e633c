"""Node requirements of a plan: frozen, JSON in both directions. An unknown value is None, never zero."""

from dataclasses import dataclass

from rackwright.sizing.note import Note


@dataclass(frozen=True)
class NodeRequirement:
    """A requirement of a node.

    need, have: in `unit`, None where unknown or not published. basis: origin of `need`.
    is_replaceable: a network disk replaces it where the node has too little. `wording.plan_text` fills in words and instead.
    """

    name: str
    need: float | None
    have: float | None
    unit: str
    words: str = ""
    instead: str = ""
    basis: tuple[Note, ...] = ()
    is_replaceable: bool = False

    @property
    def distance(self) -> float | None:
        """Ratio of needed to available; inf where nothing is available, None where either is unknown."""
        if self.need is None or self.have is None:
            return None
        return self.need / self.have if self.have else float("inf") if self.need else 0.0

    @property
    def is_short(self) -> bool:
        return (self.distance or 0.0) > 1


@dataclass(frozen=True)
class FileSystem:
    """Storage of checkpoints and data. tier: catalog name. bytes: size to order. bytes_per_s: throughput that is bought with that size.

    client_bytes_per_s: highest rate of one node over client_interface (ENA or EFA), None where the node's network is the limit.
    delivered_bytes_per_s: what reaches the nodes, and limit the reason; None where only the tier is known. checkpoint_s, weights_s:
    seconds to write a checkpoint and to read the weights at that rate. price_is_illustrative: the price is an example.
    `wording.plan_text` fills in words from basis.
    """

    tier: str
    bytes: float
    bytes_per_s: float | None
    usd_per_month: float | None
    words: str = ""
    basis: tuple[Note, ...] = ()
    client_bytes_per_s: float | None = None
    client_interface: str = ""
    delivered_bytes_per_s: float | None = None
    limit: Note | None = None
    checkpoint_s: float | None = None
    weights_s: float | None = None
    price_is_illustrative: bool = False


@dataclass(frozen=True)
class Power:
    """Power at full load.

    it_watts: all nodes. facility_watts: with cooling and distribution. rack_units: of all nodes, None where unknown.
    energy_kwh: of the facility for the whole run, an upper bound; None for a server. `wording.plan_text` fills in words from basis.
    """

    node_watts: float
    it_watts: float
    facility_watts: float
    btu_per_hour: float
    cooling_tons: float
    rack_units: int | None
    energy_kwh: float | None
    words: str = ""
    basis: tuple[Note, ...] = ()


@dataclass(frozen=True)
class NodeRequirements:
    """Requirements per node; dataset_* and checkpoint_* of the whole run. checkpoint_write_s: the window for writing one."""

    nodes: int
    needs: tuple[NodeRequirement, ...]
    dataset_read_bytes_per_s: float | None = None
    checkpoint_bytes: float | None = None
    checkpoint_write_s: float | None = None
    checkpoint_bytes_per_s: float | None = None
    file_system: FileSystem | None = None
    power: Power | None = None
    owned: Power | None = None
    """The same accelerators in on-premises servers; None without such a server in the catalog, or where the fit is on premises."""

    @property
    def short(self) -> tuple[NodeRequirement, ...]:
        """Requirements that a node does not meet and that have no replacement."""
        return tuple(n for n in self.needs if n.is_short and not n.is_replaceable)
