"""The error for parts of a plan that a component cannot build."""

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem


class Unsupported(UserError):
    """Part of the plan is not supported by the component in this release.

    place: path in the StackPlan (`box`, `pools[slice-0].capacity.mode`); instead: supported alternatives.
    """

    def __init__(self, what: str, place: str, instead: str):
        self.what: str = what
        self.place: str = place
        self.instead: str = instead
        super().__init__([Problem("C-unsupported", f"{what} is not supported in this release", At((place,)), f"instead: {instead}")])
