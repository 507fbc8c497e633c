"""docs/matrix.md: supported combinations of AWS machine, blueprint and capacity mode, from the compiler."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from tests.matrix import matrix

HEAD = """\
# Supported combinations on AWS

Every blueprint on every AWS machine of the catalog, in every capacity mode and every region that offers the machine. \
{plans:,} of
{cells:,} combinations compile to a plan. The others are refused with the IDs shown: [rules.md](rules.md) describes \
them. A test compares
this page with the compiler.
"""
YES = "yes"


def written() -> str:
    found = matrix.outcomes()
    parts = [HEAD.format(plans=sum(outcome.compiles for outcome in found), cells=len(found))]
    parts += [_section(shape, [outcome for outcome in found if outcome.shape == shape]) for shape in matrix.SHAPES]
    return "\n".join(parts)


def _section(shape: str, outcomes: list[matrix.Outcome]) -> str:
    """One row per group of machines with equal results."""
    fates: dict[str, tuple[str, ...]] = {}
    for name in dict.fromkeys(outcome.machine for outcome in outcomes):
        fates[name] = tuple(_fate(o for o in outcomes if o.machine == name and o.mode == mode) for mode in matrix.MODES)
    groups = defaultdict(list)
    for name, fate in fates.items():
        groups[fate].append(name)
    rows = [f"| {_names(names)} | {' | '.join(fate)} |" for fate, names in groups.items()]
    head = f"| Machine | {' | '.join(matrix.MODES)} |\n|---{'|---' * len(matrix.MODES)}|"
    return f"## {shape[0].upper()}{shape[1:]}\n\n{head}\n" + "\n".join(rows) + "\n"


def _fate(outcomes: Iterable[matrix.Outcome]) -> str:
    """The result if it is equal in all regions, else the number of regions per result."""
    found = Counter(YES if outcome.compiles else ", ".join(outcome.codes) for outcome in outcomes)
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(f"{fate} in {count} regions" for fate, count in found.most_common())


def _names(names: list[str]) -> str:
    """Sizes of a family after its name."""
    families = defaultdict(list)
    for name in names:
        family, _, size = name.partition(".")
        families[family].append(size)
    return ", ".join(map(_sized, families.items()))


def _sized(entry: tuple[str, list[str]]) -> str:
    family, sizes = entry
    if sizes == [""]:
        return family
    return f"{family}.{sizes[0]}" if len(sizes) == 1 else f"{family}.{{{', '.join(sizes)}}}"
