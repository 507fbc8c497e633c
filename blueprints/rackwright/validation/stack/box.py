"""What starts a box: an image made for its machine."""

from collections.abc import Iterator

from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import StackPlan
from rackwright.stackplan.images import BOX_IMAGES
from rackwright.validation.stack.registry import rule

MARKS = {"gpu": ("Nvidia",), "neuron": ("Neuron",)}
"""Words that the names of Amazon's images with such drivers carry."""
ARM = ("ARM64", "arm64")


@rule("R-60", Level.ERROR, "https://docs.aws.amazon.com/dlami/latest/devguide/appendix-ami-release-notes.html")
def box_image_fits_the_machine(plan: StackPlan) -> Iterator[Violation]:
    """A box's image has the drivers of its accelerators and is built for its processors."""
    box = plan.box
    if box is None or box.image.startswith("ami-") or (box.kind, box.cpu_arch) not in BOX_IMAGES:
        return
    fit, at = f"use {BOX_IMAGES[box.kind, box.cpu_arch]!r}, or an ami- id of your own", At() / "box" / "image"
    if not all(mark in box.image for mark in MARKS.get(box.kind, ())):
        yield Violation(at, fit, detail=f"{box.image!r} has no drivers for {box.kind} machines")
    if any(mark in box.image for mark in ARM) != (box.cpu_arch == "arm64"):
        yield Violation(at, fit, detail=f"{box.machine} is {box.cpu_arch}, and {box.image!r} is not")
