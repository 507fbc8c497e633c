"""The hardware of one search, in numbers. Knows neither catalog nor spec."""

from dataclasses import dataclass

from rackwright.sizing.traffic import Links


@dataclass(frozen=True)
class Target:
    """What a search needs to know of the hardware: numbers of one accelerator, and how many there are. few_bits: the best format of
    weights it computes in below 16 bit, "" for none."""

    accelerator: str
    vendor: str
    memory_bytes: float
    bandwidth_bytes_per_s: float
    base_peak: float
    links: Links
    nodes: int
    slices: int = 1
    tpu: bool = False
    few_bits: str = ""

    @property
    def accelerators(self) -> int:
        return self.nodes * self.links.per_node
