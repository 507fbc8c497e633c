"""Published efficiencies, as data: data/priors.csv (training) and data/decode.csv (serving). Knows neither catalog nor spec."""

import csv
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Prior:
    """Model FLOPs utilisation against the bf16 peak (fp16 where there is no bf16). band: p90 of the time over its median; n: runs."""

    id: str
    accelerators: tuple[str, ...]
    vendor: str
    method: str
    precision: str
    moe: bool | None
    sequence: tuple[float, float]
    parameters: tuple[float, float]
    mfu: float
    band: float
    recompute: str
    n: int
    evidence: str
    source: str

    def speaks_of(self, accelerator: str, vendor: str) -> bool:
        return any(accelerator.startswith(name) for name in self.accelerators) or self.vendor == vendor

    @property
    def words(self) -> str:
        return f"{self.evidence} (n={self.n})" if self.n else self.evidence


@lru_cache(maxsize=1024)
def find(accelerator: str, vendor: str, method: str, precision: str, moe: bool, sequence: float, parameters: float) -> Prior | None:
    """The first row of the file that speaks of this case; the file goes from particular to general. None: nothing published."""
    for p in _training():
        same_case = p.method == method and p.precision in ("", precision) and p.moe in (None, moe)
        in_range = p.sequence[0] <= sequence < p.sequence[1] and p.parameters[0] <= parameters < p.parameters[1]
        if same_case and in_range and p.speaks_of(accelerator, vendor):
            return p
    return None


@dataclass(frozen=True)
class Decode:
    """Coefficients of one engine's decode step: see serving.py. band: p90 of the time over its median."""

    engine: str
    accelerators: tuple[str, ...]
    moe: bool
    n: int
    weight: float
    cache: float
    prefill: float
    layer_s: float
    sequence_s: float
    band: float
    evidence: str
    source: str

    @property
    def words(self) -> str:
        return f"{self.evidence} (n={self.n})" if self.n else self.evidence


@lru_cache(maxsize=256)
def decode(engine: str, moe: bool, accelerator: str) -> Decode:
    """The row of that engine fitted on the accelerator, else the row for all others."""
    rows = [d for d in _serving() if (d.engine, d.moe) == (engine, moe)]
    return next(d for d in rows if not d.accelerators or any(accelerator.startswith(name) for name in d.accelerators))


@cache
def _training() -> tuple[Prior, ...]:
    return tuple(_prior(row) for row in _rows("priors.csv"))


@cache
def _serving() -> tuple[Decode, ...]:
    numbers = ("weight", "cache", "prefill", "layer_s", "sequence_s", "band")
    return tuple(
        Decode(
            r["engine"],
            _names(r),
            r["moe"] == "1",
            int(r["n"]),
            evidence=r["evidence"],
            source=r["source"],
            **{k: float(r[k]) for k in numbers},
        )
        for r in _rows("decode.csv")
    )


def _names(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(filter(None, row["accelerators"].split(";")))


def _prior(r: dict[str, str]) -> Prior:
    upto = float("inf")
    return Prior(
        id=r["id"],
        accelerators=_names(r),
        vendor=r["vendor"],
        method=r["method"],
        precision=r["precision"],
        moe={"": None, "0": False, "1": True}[r["moe"]],
        sequence=(float(r["seq_min"] or 0), float(r["seq_max"] or upto)),
        parameters=(float(r["params_min"] or 0), float(r["params_max"] or upto)),
        mfu=float(r["mfu_p50"]),
        band=float(r["band"]),
        recompute=r["recompute"],
        n=int(r["n"]),
        evidence=r["evidence"],
        source=r["source"],
    )


def _rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
