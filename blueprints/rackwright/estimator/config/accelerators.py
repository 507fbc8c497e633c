"""Accelerators of the catalog by published name, converted to the numbers that the formulas take (case.py).

A name may include memory size and power cap: "H100-96GB-500W", "A100-80GB-330W", "GH200-480GB".
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import FORMATS
from rackwright.catalog.rows import Accelerator as Row
from rackwright.estimator.case import OTHER_VENDORS, Chip, Links
from rackwright.units import GIB

PEAK_OF = {"mxfp8": "fp8", "nf4": "bf16", "int4": "bf16", "fp16": "bf16"}
"""Format -> format whose peak applies. 4-bit weights without hardware arithmetic are multiplied in 16 bit."""
WIDE_PEAK = {"fp32": 1 / 16, "tf32": 1 / 2}
"""Share of the 16-bit peak when no peak is published: A100, L4 and T4 print 1/16 to 1/8 in fp32, without tensor cores; tf32 is half."""
FP32_PEAK = {"volta": 1 / 8, "turing": 1 / 8, "ampere": 1 / 4, "ada": 1 / 4, "blackwell": 1 / 4}
"""The share of fp32 on cards by generation: V100 15.7 of 125, A40 37.4 of 150, L4 30.3 of 121 TFLOP/s (NVIDIA data sheets). GeForce cards
run 16-bit products with fp32 sums at half rate, so their share is twice as large: RTX 4090 82.6 of 165."""
WIDE_PEAK_TPU = {"fp32": 1 / 6, "tf32": 1 / 3}
"""The same on TPUs: one product takes 6 or 3 passes in bf16 (JAX precision HIGHEST and HIGH)."""
TYPICAL_SUSTAINED_SHARE = 0.8
"""Measured over nameplate matrix peak of H100, H200 and B200, used for accelerators without a measurement."""
NEAREST = {
    "fp4": ("fp8", "int8", "bf16", "fp16"), "mxfp8": ("fp8", "int8", "bf16", "fp16"), "fp8": ("int8", "bf16", "fp16"),
    "int4": ("fp4", "fp8", "int8", "bf16", "fp16"), "int8": ("fp8", "bf16", "fp16"), "bf16": ("fp16",), "fp16": ("bf16",),
}  # fmt: skip
"""Format -> formats of the next larger width, nearest first."""
INFERENCE_ONLY = ("int8",)
"""Formats that no GPU trainer multiplies in: recipes of Megatron and Transformer Engine are 16 bit, fp8, mxfp8 and nvfp4."""
NO_NAME = re.compile(r"\d+w|\d+x|w|nvidia|amd|instinct|intel|google|cloud|aws|tesla|geforce")
"""Parts of a name that do not identify the accelerator."""
SERVER_ACCELERATORS = 8
"""Accelerators of the vendors' largest reference server; a larger scale-up domain is a rack."""
ATTENTION_GAIN = {"Blackwell Ultra": 2.0, "Grace Blackwell Ultra": 2.0}
"""Architecture -> rate of attention over that of its generation. Blackwell Ultra doubles the exponentials per second, and NVIDIA states 2x
attention layers (Inside NVIDIA Blackwell Ultra, developer.nvidia.com, August 2025). Grouped folds choose it over 1 and 1.5."""
NEURON_CORES = {"neuroncore-v1": 4}
"""NeuronCores of generations that the released compiler does not support, so that the catalog names none (AWS Neuron, Inferentia1)."""
UNNAMED = "GPU, not named"
"""Name for published runs that give only the memory size. All other numbers are those of A100."""
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
"""Pattern -> replacement before the lookup: counts are removed, "80 GB", "80G" and "A100-80" become 80gb, TPUv4 becomes TPU v4."""
SHORT = {"a100": "a100-80gb", "v7": "ironwood", "tpu-v7": "ironwood", "tpu7": "ironwood", "rtx-pro-6000-blackwell": "rtx-pro-6000"}


class UnknownAccelerator(ValueError):
    """The catalog does not have the name, or no peak, bandwidth or link rates for it."""


@dataclass(frozen=True)
class AcceleratorRates:
    """Rates of one accelerator. flops: (format, dense peak); *_bytes_per_s: per direction; None: no such link, or not published.

    host_bytes_per_s: usable rate of its link to the CPU, also to other accelerators without a scale-up link. scale_out_bytes_per_s: its
    share of the network in the vendor's reference server.
    """

    name: str
    generation: str
    memory_bytes: float
    bandwidth_bytes_per_s: float
    flops: tuple[tuple[str, float], ...]
    scale_up_bytes_per_s: float | None
    domain: int
    tdp_watts: float | None
    host_bytes_per_s: float
    scale_out_bytes_per_s: float
    sustained_share: float = TYPICAL_SUSTAINED_SHARE
    """Measured bf16 matrix peak over nameplate of this accelerator, else of its architecture, else of its generation."""
    power_watts: float | None = None
    share: float = 1.0
    """Part of a whole accelerator that a vGPU is."""
    vendor: str = ""
    attention_gain: float = 1.0
    """Rate of attention over that of the generation."""
    cores: int = 1
    """NeuronCores; 1 on other accelerators."""

    @property
    def is_tpu(self) -> bool:
        return self.generation.startswith("tpu")

    @property
    def base_peak(self) -> float:
        peaks = dict(self.flops)
        return peaks.get("bf16") or peaks["fp16"]

    def peak(self, numbers: str) -> float | None:
        """Return the dense peak of a format; None when the accelerator has no arithmetic for it. 16-bit formats share one peak."""
        peaks = dict(self.flops)
        if numbers in ("bf16", "fp16", "nf4", "int4"):
            return self.base_peak
        if numbers == "fp8" and "fp8" not in peaks and self.generation == "ampere":
            return None
        wide = (WIDE_PEAK_TPU if self.is_tpu else WIDE_PEAK).get(numbers)
        if numbers == "fp32" and (not self.scale_up_bytes_per_s or self.generation == "volta"):
            wide = FP32_PEAK.get(self.generation, 1 / 16) * (2 if "GeForce" in self.name else 1) if not self.is_tpu else wide
        # 8-bit integers run at the rate of fp8 on generations that have both, where only one is published
        same = peaks.get("fp8") if numbers == "int8" else None
        return peaks.get(PEAK_OF.get(numbers, numbers)) or same or (self.base_peak * wide if wide else None)

    def part(self, share: float) -> "AcceleratorRates":
        """Return a vGPU with this share of the memory, bandwidth, FLOP/s, host link and power of the accelerator.

        The fixed-share scheduler gives each of N vGPUs 1/N of the time (docs.nvidia.com/vgpu, vGPU schedulers), and so 1/N of FLOP/s and
        bandwidth. That AWS and GCP use it is an assumption of rackwright, 2026-11; no run on a share is published.
        """
        if share == 1:
            return self
        return replace(
            self, name=f"{Fraction(share).limit_denominator(64)} of {self.name}", share=share, memory_bytes=self.memory_bytes * share,
            bandwidth_bytes_per_s=self.bandwidth_bytes_per_s * share, flops=tuple((name, peak * share) for name, peak in self.flops),
            host_bytes_per_s=self.host_bytes_per_s * share, tdp_watts=self.tdp_watts and self.tdp_watts * share,
        )  # fmt: skip

    def divided(self, label: str, compute: float, memory: float) -> "AcceleratorRates":
        """Return a part of the accelerator that MIG, MPS or time-slicing gives one process, while all parts are busy.

        compute: share of the FLOP/s. memory: share of the memory, its bandwidth, and the host link. No run on a part is published.
        """
        flops = tuple((name, peak * compute) for name, peak in self.flops)
        return replace(self.part(memory), name=f"{self.name}, {label}", flops=flops, share=memory)

    @property
    def evidence_group(self) -> str:
        """Accelerators whose runs count as evidence: the generation; cards without a scale-up link apart, and shares of a card."""
        if self.share < 1:
            return f"{self.generation} shares"
        return self.generation if self.is_tpu or self.scale_up_bytes_per_s else f"{self.generation} cards"

    def reads(self, numbers: str) -> bool:
        """Whether a server can run weights of a format: with its arithmetic, or fp4 weights multiplied in 16 bit.

        vLLM's Marlin kernels do that on NVIDIA cards from Ampere on, which are those with bf16:
        https://docs.vllm.ai/en/latest/features/quantization/
        """
        return self.peak(numbers) is not None or (numbers == "fp4" and self.vendor == "NVIDIA" and "bf16" in dict(self.flops))


def nearest_format(numbers: str, supported: Collection[str], trains: bool = False) -> str:
    """Return the supported format that is nearest to an unsupported one; fp32 where none is. trains: formats of trainers only."""
    usable = (name for name in NEAREST.get(numbers, ()) if name in supported and not (trains and name in INFERENCE_ONLY))
    return next(usable, "fp32")


def find(name: str, catalog: Catalog | None = None) -> AcceleratorRates:
    """Return the accelerator with a published name. catalog: default: the embedded one. Raises UnknownAccelerator."""
    found = _find(" ".join(name.lower().split()), catalog or Catalog.default())
    if found is None:
        raise UnknownAccelerator(f"no accelerator {name!r} with published peak and bandwidth; see rackwright catalog accelerators")
    return found


def chip(a: AcceleratorRates, numbers: str = "bf16", memory_bytes: float | None = None, power_watts: float | None = None) -> Chip:
    """Return the accelerator as input of the formulas. numbers: format of the products, else 16 bit."""
    cap = power_watts or a.power_watts
    return Chip(
        generation=a.generation,
        evidence_group=a.evidence_group,
        memory_bytes=memory_bytes or a.memory_bytes,
        bandwidth_bytes_per_s=a.bandwidth_bytes_per_s,
        base_peak_flops=a.base_peak,
        peak_flops=a.peak(numbers) or a.base_peak,
        power_share=min(cap / a.tdp_watts, 1.0) if cap and a.tdp_watts else 1.0,
        is_tpu=float(a.is_tpu),
        host_bytes_per_s=a.host_bytes_per_s,
        sustained_share=a.sustained_share,
        vendor=next((i + 1.0 for i, prefix in enumerate(OTHER_VENDORS) if a.generation.startswith(prefix)), 0.0),
        watts=cap or a.tdp_watts or float("inf"),
        attention_gain=a.attention_gain,
        cores=float(a.cores),
        vector_flops=(a.peak("fp32") or 0.0) if a.vendor == "NVIDIA" else 0.0,
    )


def links(
    a: AcceleratorRates,
    per_node: int | None = None,
    scale_up_gb_s: float | None = None,
    domain: int | None = None,
    scale_out_gb_s: float | None = None,
    count: int = 8,
) -> Links:
    """Return the links of one accelerator. Missing values are those of the vendor's reference server."""
    linked = scale_up_gb_s * 1e9 if scale_up_gb_s else a.scale_up_bytes_per_s
    alone = linked and a.domain == 1 and not domain  # a superchip is a node
    node = per_node or (count if a.is_tpu else 1 if alone else 4 if a.domain > 8 else 8)
    return Links(
        scale_up_bytes_per_s=linked or a.host_bytes_per_s,
        scale_out_bytes_per_s=scale_out_gb_s * 1e9 if scale_out_gb_s else a.scale_out_bytes_per_s,
        domain=float(domain or (_domain(a, node) if linked and (a.domain > 1 or alone) else node)),
        per_node=float(node),
        is_linked=float(bool(linked)),
    )


def _domain(a: AcceleratorRates, node: int) -> int:
    """Return the accelerators of a scale-up domain: within one node, unless the domain is a rack of several reference servers."""
    return min(a.domain, node) if a.domain <= SERVER_ACCELERATORS else a.domain


@lru_cache(maxsize=1024)
def _find(printed: str, catalog: Catalog) -> AcceleratorRates | None:
    """Return the accelerator of the longest run of parts that is a name, with memory size and power cap from the other parts."""
    for pattern, usual in SPELLINGS:
        printed = pattern.sub(usual, printed)
    plain = re.sub(r"\(.*?\)", " ", printed).split("+")[0].strip()
    inner = re.findall(r"\((.*?)\)", printed)
    watts = re.search(r"(\d+)\s*w\b", printed)
    tries = [[p for p in re.split(r"[\s/_,()-]+", words) if p and not NO_NAME.fullmatch(p)] for words in (printed, plain, *inner)]
    later = [parts[i:] for parts in tries for i in range(1, len(parts))]
    found = next((a for parts in (*tries, *later) if (a := _by_parts(parts, _index(catalog)))), None)
    return replace(found, power_watts=float(watts.group(1))) if found and watts else found


def _by_parts(parts: list[str], index: dict[str, AcceleratorRates]) -> AcceleratorRates | None:
    """Return the accelerator of the longest leading parts in the index; a memory size that differs from the catalog's is used instead."""
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
            found = index[joined]
            return found if size is None or abs(found.memory_bytes / GIB / size - 1) < 0.1 else replace(found, memory_bytes=size * GIB)
    usual = index.get("a100-80gb") if parts[:1] == ["gpu"] else None
    return replace(usual, name=UNNAMED, memory_bytes=(size or 80) * GIB) if usual else None


@lru_cache(maxsize=4)
def _index(catalog: Catalog) -> dict[str, AcceleratorRates]:
    """Return alias -> accelerator; spaces and dashes are equal. A bare "a100" is the 80 GB part, the most common one."""
    index: dict[str, AcceleratorRates] = {}
    for row in catalog.accelerators:
        found = of(row, catalog)
        if found is None:
            continue
        for alias in (*row.aliases, row.name):
            index.setdefault("-".join(re.split(r"[\s/_,()-]+", alias.lower())).strip("-"), found)
    for short, long in SHORT.items():
        if long in index:
            index.setdefault(short, index[long])
    return index


@lru_cache(maxsize=1024)
def of(row: Row, catalog: Catalog) -> AcceleratorRates | None:
    """Convert a row of the catalog; None when memory, bandwidth, 16-bit peak or the links of its generation are not published."""
    flops = tuple((f, value) for f in FORMATS if (value := row.peak(f)))
    generation = catalog.generation_by_name.get(row.generation)
    if not (generation and row.memory_bytes and row.memory_bandwidth_bytes_per_s and {"bf16", "fp16"} & dict(flops).keys()):
        return None
    return AcceleratorRates(
        name=row.name,
        generation=row.generation,
        memory_bytes=float(row.memory_bytes),
        bandwidth_bytes_per_s=row.memory_bandwidth_bytes_per_s,
        flops=flops,
        scale_up_bytes_per_s=row.scale_up_bytes_per_s,
        domain=row.scale_up_domain or 1,
        tdp_watts=row.tdp_watts,
        host_bytes_per_s=row.host_bytes_per_s or generation.host_bytes_per_s,
        scale_out_bytes_per_s=generation.scale_out_bytes_per_s,
        sustained_share=_sustained_share(row, catalog),
        vendor=row.vendor,
        attention_gain=ATTENTION_GAIN.get(row.architecture, 1.0),
        cores=row.neuron_cores or NEURON_CORES.get(row.generation, 1),
    )


def _sustained_share(row: Row, catalog: Catalog) -> float:
    """Return the mean measured over nameplate bf16 peak of the accelerator, else of its architecture, else of its generation."""
    shares = catalog.measured_shares
    measured = next((shares[key] for key in (row.name, row.architecture, row.generation) if key in shares), (TYPICAL_SUSTAINED_SHARE,))
    return sum(measured) / len(measured)
