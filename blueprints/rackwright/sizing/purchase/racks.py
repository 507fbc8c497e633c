"""Racks for servers and switches, by space and power. Numbers in, numbers out."""

from dataclasses import dataclass
from math import ceil, inf


@dataclass(frozen=True)
class Load:
    """Equal devices. units: rack units of one; watts: of one at full load, None where it is not known."""

    count: int
    units: int
    watts: float | None

    def fits(self, units: float, watts: float | None) -> int:
        """Devices that fit into free space and power. watts: None without a limit."""
        by_power = inf if watts is None or not self.watts else watts // self.watts
        return int(min(units // self.units, by_power)) if self.units else 0


def racks_needed(servers: Load, switches: Load, units: int, watts: float | None) -> int | None:
    """Racks of `units` and at most `watts` each: switches fill the space beside the servers, then racks of their own.

    None where a rack holds no server. Switches of unknown power are placed by space alone.
    """
    each = servers.fits(units, watts)
    if not each:
        return None
    full, rest = divmod(servers.count, each)
    placed = full * _beside(each, servers, switches, units, watts) + (_beside(rest, servers, switches, units, watts) if rest else 0)
    left, per_rack = max(0, switches.count - placed), switches.fits(units, watts)
    if left and not per_rack:
        return None
    return full + bool(rest) + (ceil(left / per_rack) if left else 0)


def _beside(count: int, servers: Load, switches: Load, units: int, watts: float | None) -> int:
    """Switches that fit into a rack with a number of servers."""
    used = count * (servers.watts or 0.0)
    return switches.fits(units - count * servers.units, None if watts is None else watts - used)
