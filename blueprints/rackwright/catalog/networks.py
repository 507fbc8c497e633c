"""Published work of image networks: parameters, FLOPs and activations of one forward pass, by name.

`networks.csv` has networks of benchmarks and diffusers, `image_networks.csv` the image classifiers of timm at the size of their run.
"""

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from rackwright.catalog.csv_table import Parse, Record, count, number, one_of, same, sourced_table, text, times, words

DATA = Path(__file__).parent / "data" / "models"
OPERATION = one_of("convolution", "depthwise", "transformer", "detector", "unet", "dit")
WORK: dict[str, tuple[str, Parse]] = {"parameters_m": ("parameters", times(1e6)), "activations_m": ("activations", times(1e6))}

NETWORKS = sourced_table(
    "networks.csv",
    "name",
    same(text, "name"),
    same(OPERATION, "operation"),
    same(count, "image_px layers"),
    same(words, "notes"),
    {"aliases": ("aliases", lambda cell: tuple(cell.split("|")) if cell else ())},
    {"gflops": ("flops", times(1e9)), "attention_gflops": ("attention_flops", lambda cell: number(cell) * 1e9)},
    WORK,
)

IMAGE_NETWORKS = sourced_table(
    "image_networks.csv",
    "name",
    same(text, "name"),
    same(OPERATION, "operation"),
    same(count, "image_px"),
    {"gmacs": ("flops", times(2e9))},
    WORK,
)


GATED = re.compile(r"^(tf_)?(efficientnet|efficientdet|mobilenetv3|mnasnet.*se|regnety|regnetz|fbnetv3|lcnet|ghostnet)|se_?resn[e]?[x]?t")
"""Networks that scale the channels of each block by a gate (squeeze and excitation, arXiv 1709.01507)."""
GATED_PASSES = 1.4
"""Reads and writes per element of such a block over a block without a gate: 9 instead of 6.5 (pooling and scaling read twice, write once).
Of 1.0, 1.4 and 1.8, grouped folds of all rows are best with it."""


@dataclass(frozen=True)
class ImageNetwork:
    """Work of one forward pass of one image (one denoising step without guidance for `unet` and `dit`).

    operation: convolution, depthwise, transformer, detector, unet or dit (diffusion transformer); image_px: side of the square image;
    attention_flops: part of `flops` that grows with the square of the pixels; activations: elements written by matrix products and
    convolutions; layers: matrix products and convolutions, 0 when not published.
    """

    name: str
    operation: str
    image_px: int
    parameters: float
    flops: float
    activations: float
    attention_flops: float = 0.0
    layers: int = 0
    aliases: tuple[str, ...] = ()
    notes: str = ""
    source: str = ""
    as_of: str = ""

    @property
    def moved(self) -> float:
        """Elements whose traffic is that of a convolution followed by normalisation and ReLU. A gate reads and writes its input again."""
        return self.activations * (GATED_PASSES if GATED.search(self.name) else 1.0)

    @property
    def is_diffusion(self) -> bool:
        return self.operation in ("unet", "dit")

    def at(self, pixels: float) -> "ImageNetwork":
        """Return the work at another image size. pixels: width times height."""
        by = pixels / self.image_px**2
        flops = (self.flops - self.attention_flops) * by + self.attention_flops * by**2
        return replace(
            self, image_px=round(pixels**0.5), flops=flops, attention_flops=self.attention_flops * by**2, activations=self.activations * by
        )


def find_network(name: str) -> ImageNetwork | None:
    """Return the network of a name or alias, ignoring case, schedules and checkpoint tags; None when it is unknown."""
    plain = re.sub(r"\[([^\]]*)\]\(.*\)", r"\1", name).strip().lower()
    known = _index()
    names = (plain, plain.split(".")[0], re.sub(r"_\dx(_.*)?$", "", plain), re.sub(r"_\d+x_.*$|_\dx$", "", plain))
    return next((known[n] for n in names if n in known), None)


@cache
def _index() -> dict[str, ImageNetwork]:
    found = {row.name: row for row in map(_network, _records("image_networks.csv"))}
    for row in map(_network, _records("networks.csv")):
        found |= {alias.lower(): row for alias in (row.name, *row.aliases)}
    return found


def _records(file: str) -> list[Record]:
    table = {t.file: t for t in (NETWORKS, IMAGE_NETWORKS)}[file]
    return table.read((DATA / file).read_text(encoding="utf-8"))


def _network(record: Record) -> ImageNetwork:
    return ImageNetwork(**record)
