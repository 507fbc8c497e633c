"""The parts list of a cluster of equal servers, its power and space, and what it costs. Numbers in, numbers out."""

from dataclasses import dataclass
from functools import cached_property

from rackwright.sizing.node.power import btu_per_hour
from rackwright.sizing.purchase.racks import Load, racks_needed
from rackwright.sizing.purchase.switches import FatTree, fat_tree
from rackwright.units import HOUR

HOURS_PER_YEAR = 8766.0
"""365.25 days."""


@dataclass(frozen=True)
class ServerFacts:
    """One server. watts: at full load. is_published: the power is the vendor's maximum, else an estimate. rack_units: None where unknown.

    rails: ports of the fabric; 0 for servers without one.
    """

    machine: str
    name: str
    accelerators: int
    rails: int
    watts: float | None
    is_published: bool
    rack_units: int | None


@dataclass(frozen=True)
class SwitchFacts:
    """One switch. transceiver_ports: ports of one transceiver. watts: None where unknown."""

    machine: str
    ports: int
    transceiver_ports: int
    rack_units: int
    watts: float | None


@dataclass(frozen=True)
class Prices:
    """US dollars of one piece each; None for a price that is not given."""

    server: float | None = None
    switch: float | None = None
    cable: float | None = None
    server_transceiver: float | None = None
    switch_transceiver: float | None = None
    rack: float | None = None


@dataclass(frozen=True)
class Site:
    """Racks, power and depreciation. rack_watts: None without a limit. pue: facility over IT power. lifetime_s, usd_per_kwh: None where
    they are not given."""

    rack_units: int
    rack_watts: float | None
    pue: float
    lifetime_s: float | None = None
    usd_per_kwh: float | None = None


@dataclass(frozen=True)
class PurchaseLine:
    """Pieces of one kind. pieces: None where they cannot be counted. key: of the price in the spec. usd_each: None without a price."""

    what: str
    pieces: int | None
    key: str
    usd_each: float | None

    @property
    def usd(self) -> float | None:
        if self.pieces == 0:
            return 0.0
        return None if self.pieces is None or self.usd_each is None else self.pieces * self.usd_each


@dataclass(frozen=True)
class PurchasePlan:
    """What a cluster of `servers` equal servers needs."""

    server: ServerFacts
    switch: SwitchFacts
    servers: int
    prices: Prices
    site: Site

    @cached_property
    def fabric(self) -> FatTree:
        return fat_tree(self.servers, self.server.rails, self.switch.ports)

    @property
    def switch_transceivers(self) -> int:
        """One per cage in use, if every cage of a switch is filled before the next."""
        return -(-self.fabric.switch_ends // self.switch.transceiver_ports)

    @property
    def it_watts(self) -> float | None:
        """Servers and switches at full load; None where one of them is unknown."""
        watts = [self.server.watts, *([self.switch.watts] if self.fabric.switches else [])]
        if any(each is None for each in watts):
            return None
        return self.servers * (self.server.watts or 0.0) + self.fabric.switches * (self.switch.watts or 0.0)

    @property
    def facility_watts(self) -> float | None:
        return None if self.it_watts is None else self.it_watts * self.site.pue

    @property
    def btu_per_hour(self) -> float | None:
        """Heat that cooling removes: all IT power."""
        return None if self.it_watts is None else btu_per_hour(self.it_watts)

    @property
    def rack_units(self) -> int | None:
        own = self.server.rack_units
        return None if own is None else self.servers * own + self.fabric.switches * self.switch.rack_units

    @cached_property
    def racks(self) -> int | None:
        """None where the height of the server is unknown, or a rack holds no server."""
        if self.server.rack_units is None:
            return None
        servers = Load(self.servers, self.server.rack_units, self.server.watts)
        switches = Load(self.fabric.switches, self.switch.rack_units, self.switch.watts)
        return racks_needed(servers, switches, self.site.rack_units, self.site.rack_watts)

    @property
    def lines(self) -> tuple[PurchaseLine, ...]:
        tree, prices = self.fabric, self.prices
        return (
            PurchaseLine(self.server.name, self.servers, f"prices.servers.{self.server.machine}", prices.server),
            PurchaseLine(f"switches {self.switch.machine}", tree.switches, "prices.switch", prices.switch),
            PurchaseLine("cables", tree.cables, "prices.cable", prices.cable),
            PurchaseLine("transceivers in servers", tree.server_links, "prices.server_transceiver", prices.server_transceiver),
            PurchaseLine("transceivers in switches", self.switch_transceivers, "prices.switch_transceiver", prices.switch_transceiver),
            PurchaseLine("racks", self.racks, "prices.rack", prices.rack),
        )

    @property
    def known_usd(self) -> float:
        """Sum of the lines that have a price."""
        return sum(line.usd or 0.0 for line in self.lines)

    @property
    def purchase_usd(self) -> float | None:
        """None where a line has no price."""
        return None if any(line.usd is None for line in self.lines) else self.known_usd

    @property
    def depreciation_usd_per_year(self) -> float | None:
        if self.purchase_usd is None or self.site.lifetime_s is None:
            return None
        return self.purchase_usd / (self.site.lifetime_s / HOUR) * HOURS_PER_YEAR

    @property
    def energy_usd_per_year(self) -> float | None:
        """At full load all year, with the facility's overhead."""
        if self.facility_watts is None or self.site.usd_per_kwh is None:
            return None
        return self.facility_watts / 1000 * HOURS_PER_YEAR * self.site.usd_per_kwh

    @property
    def usd_per_server_hour(self) -> float | None:
        if self.depreciation_usd_per_year is None or self.energy_usd_per_year is None:
            return None
        return (self.depreciation_usd_per_year + self.energy_usd_per_year) / HOURS_PER_YEAR / self.servers

    @property
    def missing(self) -> tuple[str, ...]:
        """Keys of `purchase` whose values a total needs."""
        found = [line.key for line in self.lines if line.usd is None]
        found += ["lifetime"] if self.site.lifetime_s is None else []
        found += ["electricity"] if self.site.usd_per_kwh is None else []
        return (*found, *(["switch_watts"] if self.fabric.switches and self.switch.watts is None else []))
