"""What starts a box: an image made for its machine."""

from collections.abc import Iterator

from rackwright.compile.versions import BOX_IMAGES
from rackwright.compile.wants import StackPlan
from rackwright.problems import At, Level
from rackwright.rules.registry import Broken, rule

MARKS = {"gpu": ("Nvidia",), "neuron": ("Neuron",)}
"""Words that the names of Amazon's images with such drivers carry."""
ARM = ("ARM64", "arm64")


@rule("R-60", Level.ERROR, "https://docs.aws.amazon.com/dlami/latest/devguide/appendix-ami-release-notes.html")
def box_image_fits_the_machine(plan: StackPlan) -> Iterator[Broken]:
    """A box's image has the drivers of its accelerators and is built for its processors."""
    box = plan.box
    if box is None or box.image.startswith("ami-") or (box.kind, box.cpu_arch) not in BOX_IMAGES:
        return
    fit, at = f"use {BOX_IMAGES[box.kind, box.cpu_arch]!r}, or an ami- id of your own", At() / "box" / "image"
    if not all(mark in box.image for mark in MARKS.get(box.kind, ())):
        yield Broken(at, fit, f"{box.image!r} has no drivers for {box.kind} machines")
    if any(mark in box.image for mark in ARM) != (box.cpu_arch == "arm64"):
        yield Broken(at, fit, f"{box.machine} is {box.cpu_arch}, and {box.image!r} is not")
