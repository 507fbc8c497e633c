"""What a component cannot build, said with its place in the plan and what to do instead."""


class Unsupported(NotImplementedError):
    """The plan asks for something this release builds elsewhere or not at all.

    place: path in the StackPlan (`box`, `pools[slice-0].capacity.mode`); instead: what can be built.
    """

    def __init__(self, what: str, place: str, instead: str):
        self.what, self.place, self.instead = what, place, instead
        super().__init__(f"{place}: {what} cannot be built in this release; instead: {instead}")
