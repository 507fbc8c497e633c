"""What a run needs of its machines beside accelerators, as a plan says it: frozen, JSON both ways. Unknown is None, never zero."""

from dataclasses import dataclass


@dataclass(frozen=True)
class NodeRequirement:
    """One thing a node must have. need, have: in `unit`; None: cannot be told, not published. words: how `need` comes about; instead:
    what takes its place where a node has too little, so that this is no fault."""

    name: str
    need: float | None
    have: float | None
    unit: str
    words: str = ""
    instead: str = ""

    @property
    def distance(self) -> float | None:
        """How many times what there is would be needed; inf where there is none; None where either is unknown."""
        if self.need is None or self.have is None:
            return None
        return self.need / self.have if self.have else float("inf") if self.need else 0.0

    @property
    def is_short(self) -> bool:
        return (self.distance or 0.0) > 1


@dataclass(frozen=True)
class FileSystem:
    """Where checkpoints go and data comes from. tier: a catalog name; bytes: to buy; *_bytes_per_s: what that many bytes sustain."""

    tier: str
    bytes: float
    bytes_per_s: float | None
    usd_per_month: float | None
    words: str


@dataclass(frozen=True)
class Power:
    """At full load. it_watts: all nodes; facility_watts: with cooling and distribution; heat is what the nodes draw. rack_units: of all
    nodes, None where the server is not known; energy_kwh: facility, of the whole run at most, None for a server that never ends."""

    node_watts: float
    it_watts: float
    facility_watts: float
    btu_per_hour: float
    cooling_tons: float
    rack_units: int | None
    energy_kwh: float | None
    words: str


@dataclass(frozen=True)
class NodeRequirements:
    """Per node where not said. dataset_*, checkpoint_*: of the whole run; checkpoint_write_s: the window one may take."""

    nodes: int
    needs: tuple[NodeRequirement, ...]
    dataset_read_bytes_per_s: float | None = None
    checkpoint_bytes: float | None = None
    checkpoint_write_s: float | None = None
    checkpoint_bytes_per_s: float | None = None
    file_system: FileSystem | None = None
    power: Power | None = None
    owned: Power | None = None
    """The same accelerators in servers of one's own, where the catalog knows such a server; None too when the fit is already there."""

    @property
    def short(self) -> tuple[NodeRequirement, ...]:
        """What a node has too little of, and nothing takes the place of."""
        return tuple(n for n in self.needs if n.is_short and not n.instead)
