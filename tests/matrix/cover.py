"""A pairwise cover of the matrix: few plans with every valid pair of family, blueprint and mode."""

from collections.abc import Iterator
from functools import cache
from itertools import combinations

from rackwright.catalog.rows import Machine

from tests.matrix import matrix


def families() -> list[str]:
    """Families of machines that a region offers. A test of each needs no plan before it runs."""
    return sorted({family(machine.name) for machine in matrix.machines() if matrix.regions(machine)})


def family(machine: str) -> str:
    return machine.partition(".")[0]


@cache
def pairwise() -> tuple[matrix.Cell, ...]:
    """Greedy, in the order of the catalog, so that it is deterministic. Only cells with new pairs are compiled."""
    covered: set[tuple[str, str]] = set()
    chosen = []
    for shape, machine, mode, region in combinations_of_machines():
        pairs = set(combinations((family(machine.name), shape, mode), 2))
        if not pairs <= covered and matrix.is_sold(machine, mode) and (cell := matrix.cell(shape, machine, mode, region)).plan:
            covered |= pairs
            chosen.append(cell)
    return tuple(chosen)


def combinations_of_machines() -> Iterator[tuple[str, Machine, str, str]]:
    """One region for each machine. Blueprint and mode change with the machine, so that the first cells differ in every value."""
    shapes, modes = list(matrix.SHAPES), list(matrix.MODES)
    for turn in range(len(shapes) * len(modes)):
        for number, machine in enumerate(matrix.machines()):
            if regions := matrix.regions(machine):
                shape, mode = shapes[(turn + number) % len(shapes)], modes[(turn // len(shapes) + number) % len(modes)]
                yield shape, machine, mode, regions[number % len(regions)]
