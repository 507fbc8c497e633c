"""A pairwise cover of the matrix: few plans with every valid pair of family, blueprint and mode."""

from itertools import combinations

from tests.matrix import matrix


def pairwise() -> list[matrix.Cell]:
    """Greedy, in the order of the catalog, so that it is deterministic. Uses the first region that offers the machine."""
    covered: set[tuple[str, str]] = set()
    chosen = []
    for cell in candidates():
        pairs = {(a, b) for a, b in combinations((cell.machine.partition(".")[0], cell.shape, cell.mode), 2)}
        if not pairs <= covered:
            covered |= pairs
            chosen.append(cell)
    return chosen


def candidates() -> list[matrix.Cell]:
    """One region for each machine. Blueprint and mode change with the machine, so that the first cells differ in every value."""
    found = []
    shapes, modes = list(matrix.SHAPES), list(matrix.MODES)
    for turn in range(len(shapes) * len(modes)):
        for number, machine in enumerate(matrix.machines()):
            regions = sorted({row.region for row in matrix.Catalog.default().places_by_sku.get(machine.name, ())})
            shape, mode = shapes[(turn + number) % len(shapes)], modes[(turn // len(shapes) + number) % len(modes)]
            if regions:
                cell = matrix.cell(shape, machine, mode, regions[number % len(regions)])
                found += [cell] if cell.plan else []
    return found
