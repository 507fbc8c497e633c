"""What a component cannot build, said with its place in the plan and what to do instead."""

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem


class Unsupported(UserError):
    """The plan asks for something this release builds elsewhere or not at all.

    place: path in the StackPlan (`box`, `pools[slice-0].capacity.mode`); instead: what can be built.
    """

    def __init__(self, what: str, place: str, instead: str):
        self.what, self.place, self.instead = what, place, instead
        super().__init__([Problem("C-unsupported", f"{what} cannot be built in this release", At((place,)), f"instead: {instead}")])
