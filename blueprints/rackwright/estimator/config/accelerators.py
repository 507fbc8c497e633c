"""Accelerators by the names people print, as the numbers the formulas see. Joins the catalog to case.py.

A printed name may carry memory and power cap: "H100-96GB-500W", "A100-80GB-330W", "GH200-480GB".
"""

import re
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import FORMATS
from rackwright.catalog.rows import Accelerator as Row
from rackwright.estimator.case import Chip, Wires
from rackwright.units import GIB

PCIE_BYTES_PER_S = {"volta": 12e9, "turing": 12e9, "ampere": 25e9, "ada": 25e9, "hopper": 50e9, "blackwell": 50e9}
"""One direction, usable: PCIe 3, 4 and 5 x16. Source: PCI-SIG line rates less 20 %."""
SCALE_OUT_BYTES_PER_S = {"volta": 12.5e9, "turing": 6e9, "ampere": 25e9, "ada": 12.5e9, "hopper": 50e9, "blackwell": 50e9, "cdna": 50e9}
"""Per accelerator where nobody says: one NIC each of 100 (V100), 200 (A100), 400 Gb/s in the vendors' reference servers."""
OTHER_SCALE_OUT_BYTES_PER_S = 25e9
C2C_BYTES_PER_S = 450e9
"""Grace to GPU, one direction: NVLink-C2C, 900 GB/s both ways."""
PEAK_OF = {"mxfp8": "fp8", "nf4": "bf16", "int4": "bf16", "fp16": "bf16"}
"""Format -> the one whose peak it runs at; weights in 4 bit without arithmetic of their own multiply in 16 bit."""

WIDE_PEAK = {"fp32": 1 / 16, "tf32": 1 / 2}
"""Of the 16-bit matrix peak, where none is published: A100, L4 and T4 print 1/16 to 1/8 in fp32, outside the tensor cores; tf32 is half."""
WIDE_PEAK_TPU = {"fp32": 1 / 6, "tf32": 1 / 3}
"""Passes of bf16 that one fp32 product takes on a TPU's matrix unit (JAX precision HIGHEST and HIGH)."""

TYPICAL_SUSTAINED_SHARE = 0.8
"""Measured over nameplate matrix peak of H100, H200 and B200: what an accelerator nobody measured is taken for."""

NO_NAME = re.compile(r"\d+w|\d+x|w|nvidia|amd|instinct|intel|google|cloud|aws|tesla|geforce")
"""Parts of a printed name that say nothing of the accelerator."""

UNNAMED = "GPU, not named"
"""Published runs that say only how much memory there was: good for memory, an A100's numbers for the rest."""

SPELLINGS = (
    (re.compile(r"×"), "x"),
    (re.compile(r"\b\d+\s*x\s*(?=[a-z])|(?<=\d)x\d{1,5}\b|\sx\s?\d{1,5}\b"), " "),
    (re.compile(r"\b(\d+)\s*g(i?b)?\b"), r"\1gb"),
    (re.compile(r"\b([ah][18]00)[-\s](40|80)\b"), r"\1-\2gb"),
    (re.compile(r"\btpu[-\s]?(?=v\d)"), "tpu "),
    (re.compile(r"\bv5[-\s]?lite\b"), "v5e"),
    (re.compile(r"\b(gaudi|trainium|inferentia)[-\s](\d)\b"), r"\1\2"),
    (re.compile(r"\b(trn\d|inf\d)[\w.]*"), r"\1"),
)
"""Ways to print a name -> the one that is looked up: counts go, "80 GB", "80G" and "A100-80" are 80gb, TPUv4 is TPU v4."""

SHORT = {"a100": "a100-80gb", "v7": "ironwood", "tpu-v7": "ironwood", "tpu7": "ironwood", "rtx-pro-6000-blackwell": "rtx-pro-6000"}


class UnknownAccelerator(ValueError):
    """The catalog does not have the name, or no peak and bandwidth of it are published."""


@dataclass(frozen=True)
class AcceleratorRates:
    """generation: what coefficients are fitted by; flops: dense peak by format; *_bytes_per_s: one direction, None
    where the accelerator has no such link or it is not published."""

    name: str
    generation: str
    memory_bytes: float
    bandwidth_bytes_per_s: float
    flops: tuple[tuple[str, float], ...]
    scale_up_bytes_per_s: float | None
    domain: int
    tdp_watts: float | None
    host_bytes_per_s: float
    sustained_share: float = TYPICAL_SUSTAINED_SHARE
    """Measured bf16 matrix peak over nameplate; of its architecture, else its generation, where its own was not measured."""
    power_watts: float | None = None

    @property
    def is_tpu(self) -> bool:
        return self.generation.startswith("tpu")

    @property
    def base_peak(self) -> float:
        peaks = dict(self.flops)
        return peaks.get("bf16") or peaks["fp16"]

    def peak(self, numbers: str) -> float | None:
        """Dense peak of the format; None where the accelerator has no arithmetic for it. 16-bit formats share one peak."""
        peaks = dict(self.flops)
        if numbers in ("bf16", "fp16", "nf4", "int4"):
            return self.base_peak
        if numbers == "fp8" and "fp8" not in peaks and self.generation == "ampere":
            return None
        wide = (WIDE_PEAK_TPU if self.is_tpu else WIDE_PEAK).get(numbers)
        return peaks.get(PEAK_OF.get(numbers, numbers)) or (self.base_peak * wide if wide else None)


def find(name: str) -> AcceleratorRates:
    """The accelerator of a printed name. Raises UnknownAccelerator."""
    found = _find(" ".join(name.lower().split()))
    if found is None:
        raise UnknownAccelerator(f"no accelerator {name!r} with published peak and bandwidth; see rackwright catalog accelerators")
    return found


def chip(a: AcceleratorRates, numbers: str = "bf16", memory_bytes: float | None = None, power_watts: float | None = None) -> Chip:
    """As the formulas see it, multiplying in `numbers`; 16 bit where it has no arithmetic for that."""
    cap = power_watts or a.power_watts
    return Chip(
        generation=a.generation,
        kin=a.generation if a.is_tpu or a.scale_up_bytes_per_s else f"{a.generation} cards",
        memory_bytes=memory_bytes or a.memory_bytes,
        bandwidth_bytes_per_s=a.bandwidth_bytes_per_s,
        base_peak_flops=a.base_peak,
        peak_flops=a.peak(numbers) or a.base_peak,
        power_share=min(cap / a.tdp_watts, 1.0) if cap and a.tdp_watts else 1.0,
        is_tpu=float(a.is_tpu),
        host_bytes_per_s=a.host_bytes_per_s,
        sustained_share=a.sustained_share,
        watts=cap or a.tdp_watts or float("inf"),
    )


def wires(
    a: AcceleratorRates,
    per_node: int | None = None,
    scale_up_gb_s: float | None = None,
    domain: int | None = None,
    scale_out_gb_s: float | None = None,
    count: int = 8,
) -> Wires:
    """Links of one accelerator; what is not said is the vendor's reference server."""
    linked = scale_up_gb_s * 1e9 if scale_up_gb_s else a.scale_up_bytes_per_s
    alone = linked and a.domain == 1 and not domain  # one superchip is a node
    node = per_node or (count if a.is_tpu else 1 if alone else 4 if a.domain > 8 else 8)
    out = scale_out_gb_s * 1e9 if scale_out_gb_s else SCALE_OUT_BYTES_PER_S.get(a.generation, OTHER_SCALE_OUT_BYTES_PER_S)
    return Wires(
        scale_up_bytes_per_s=linked or PCIE_BYTES_PER_S.get(a.generation, 25e9),
        scale_out_bytes_per_s=out,
        domain=float(domain or (a.domain if linked and (a.domain > 1 or alone) else node)),
        per_node=float(node),
        is_linked=float(bool(linked)),
    )


@lru_cache(maxsize=1024)
def _find(said: str) -> AcceleratorRates | None:
    """The longest run of parts that is a name, from the first part where one begins, then memory and power from the parts."""
    for pattern, usual in SPELLINGS:
        said = pattern.sub(usual, said)
    plain = re.sub(r"\(.*?\)", " ", said).split("+")[0].strip()
    inner = re.findall(r"\((.*?)\)", said)
    watts = re.search(r"(\d+)\s*w\b", said)
    tries = [[p for p in re.split(r"[\s/_,()-]+", words) if p and not NO_NAME.fullmatch(p)] for words in (said, plain, *inner)]
    later = [parts[i:] for parts in tries for i in range(1, len(parts))]
    found = next((a for parts in (*tries, *later) if (a := _by_parts(parts))), None)
    return _capped(found, float(watts.group(1)) if watts else None) if found else None


def _by_parts(parts: list[str]) -> AcceleratorRates | None:
    index = _index()
    size = next((float(m.group(1)) for p in parts if (m := re.fullmatch(r"(\d+(?:\.\d+)?)gi?b", p))), None)
    bare = [p for p in parts if not re.fullmatch(r"\d+(?:\.\d+)?gi?b|sxm\d?|hgx|dgx|oam", p)]
    plain = [p for p in bare if p != "tpu"]
    tries = [words[:n] for words in (parts, bare, plain) for n in range(len(words), 0, -1)]
    for words in tries:
        joined = "-".join(words)
        sized = f"{joined}-{size:g}gb" if size else joined
        if sized in index or (words == parts and joined in index):
            return index.get(sized) or index[joined]
        if joined in index:
            return _sized(index[joined], size)
    return replace(index["a100-80gb"], name=UNNAMED, memory_bytes=(size or 80) * GIB) if parts[:1] == ["gpu"] else None


def _sized(a: AcceleratorRates, gb: float | None) -> AcceleratorRates:
    close = gb is None or abs(a.memory_bytes / GIB / gb - 1) < 0.1
    return a if close else replace(a, memory_bytes=gb * GIB)


def _capped(a: AcceleratorRates, watts: float | None) -> AcceleratorRates:
    return replace(a, power_watts=watts) if watts else a


@cache
def _index() -> dict[str, AcceleratorRates]:
    """Every alias, with spaces and dashes alike. A bare "a100" is the 80 GB part, the one sold most."""
    index: dict[str, AcceleratorRates] = {}
    for row in Catalog.default().accelerators:
        found = of(row)
        if found is None:
            continue
        for alias in (*row.aliases, row.name):
            index.setdefault("-".join(re.split(r"[\s/_,()-]+", alias.lower())).strip("-"), found)
    for short, long in SHORT.items():
        index.setdefault(short, index[long])
    return index


def of(row: Row) -> AcceleratorRates | None:
    """A row of the catalog as the formulas need it; None where memory, bandwidth or 16-bit peak are not published."""
    flops = tuple((f, value) for f in FORMATS if (value := row.peak(f)))
    if not (row.memory_bytes and row.memory_bandwidth_bytes_per_s and {"bf16", "fp16"} & dict(flops).keys()):
        return None
    host = C2C_BYTES_PER_S if row.architecture.startswith("Grace") else PCIE_BYTES_PER_S.get(row.generation, 25e9)
    return AcceleratorRates(
        row.name, row.generation, float(row.memory_bytes), row.memory_bandwidth_bytes_per_s, flops, row.scale_up_bytes_per_s,
        row.scale_up_domain or 1, row.tdp_watts, host, _sustained(row),
    )  # fmt: skip


@cache
def _sustained_shares() -> dict[str, list[float]]:
    """By name, architecture and generation."""
    shares: dict[str, list[float]] = {}
    for row in Catalog.default().accelerators:
        if row.measured_bf16_flops and (nameplate := row.peak("bf16")):
            for key in {row.name, row.architecture, row.generation}:
                shares.setdefault(key, []).append(row.measured_bf16_flops / nameplate)
    return shares


def _sustained(row: Row) -> float:
    shares = _sustained_shares()
    found = next((shares[key] for key in (row.name, row.architecture, row.generation) if key in shares), [TYPICAL_SUSTAINED_SHARE])
    return sum(found) / len(found)
