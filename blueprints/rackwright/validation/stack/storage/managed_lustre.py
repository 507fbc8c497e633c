"""Managed Lustre of Google Cloud: tiers, sizes, names, and the network that its clients share with it."""

import re
from collections.abc import Iterator
from ipaddress import ip_network

from rackwright.catalog.query import managed_lustre_tiers
from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Volume
from rackwright.clouds import GCP
from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import LustrePlan, StackPlan
from rackwright.units import GIB
from rackwright.validation.stack.registry import catalog_rule, rule

GUIDE = "https://docs.cloud.google.com/managed-lustre/docs/"
PRIVATE_SERVICES = "https://docs.cloud.google.com/vpc/docs/configure-private-services-access"
AT, NETWORK = At() / "lustre", At() / "network"
MOUNT_NAME = re.compile(r"[A-Za-z0-9]{1,8}")
INSTANCE_PREFIX = 23
"""Length of the range of one instance: https://docs.cloud.google.com/managed-lustre/docs/vpc"""


@catalog_rule("V-55", Level.ERROR, GUIDE + "performance-tiers", on=GCP)
def managed_lustre_size_exists(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """Managed Lustre has tiers of 125, 250, 500 and 1,000 MB/s per TiB, and a dynamic one; each has its own smallest size and step."""
    lustre = _created(plan)
    if lustre is None:
        return
    tiers = managed_lustre_tiers(catalog)
    tier = tiers.get(lustre.throughput_mb_s_per_tib)
    if tier is None or (lustre.kind == "dynamic") != (tier.name.endswith("dynamic")):
        rates = ", ".join(str(rate) for rate, row in sorted(tiers.items()) if not row.name.endswith("dynamic"))
        message = f"Managed Lustre has no {lustre.kind} tier of {lustre.throughput_mb_s_per_tib} MB/s per TiB; the tiers are {rates}"
        yield Violation(AT / "throughput_mb_s_per_tib", f"set it to one of {rates}", message)
        return
    size, sold = lustre.capacity_gib, _sold_near(tier, lustre.capacity_gib)
    if size not in sold:
        name = "dynamic tier" if lustre.kind == "dynamic" else f"tier of {lustre.throughput_mb_s_per_tib} MB/s per TiB"
        least, most, step = (tier.min_bytes or 0) // GIB, (tier.max_bytes or 0) // GIB, _step(tier, size)
        message = f"The {name} has no capacity of {size:,} GiB: it has {least:,} to {most:,} GiB, here in steps of {step:,} GiB"
        yield Violation(AT / "capacity_gib", f"set it to {' or '.join(f'{n} GiB' for n in sold)}", message)


@rule("V-56", Level.ERROR, GUIDE + "vpc", on=GCP)
def lustre_network_has_private_services(plan: StackPlan) -> Iterator[Violation]:
    """A Managed Lustre file system is in a network with private services access, which has a range of /23 or larger."""
    if _created(plan) is None or plan.network.existing_id:
        return
    cidr, at = plan.network.private_services_cidr, NETWORK / "private_services_cidr"
    if not cidr:
        yield Violation(at, "set a free /20", "The network has no range of private services, from which the file system takes addresses")
    elif ip_network(cidr).prefixlen > INSTANCE_PREFIX:
        yield Violation(at, "set a /20", f"The range {cidr} is too small: one file system takes a /{INSTANCE_PREFIX}")


# A second connection of a network would replace the ranges of the first, which other stacks may use.
@rule("V-260", Level.WARNING, PRIVATE_SERVICES, Stage.BUILD, blocks_update=False, on=GCP)
def existing_network_has_private_services(plan: StackPlan) -> Iterator[Violation]:
    """An existing network has a connection for private services before a file system uses it; a network has one connection only."""
    if _created(plan) and plan.network.existing_id:
        fix = "check it with `gcloud services vpc-peerings list --network NETWORK`, allow tcp/988 from its range, then acknowledge V-260"
        message = f"The stack creates no private services access in the existing network {plan.network.existing_id}"
        yield Violation(NETWORK / "existing_id", fix, message)


@rule("V-11", Level.ERROR, GUIDE + "create-instance", invariant=True, on=GCP)
def lustre_mount_name_format(plan: StackPlan) -> Iterator[Violation]:
    """The name under which clients mount a Managed Lustre file system has 1 to 8 letters and digits."""
    lustre = _created(plan)
    if lustre and not MOUNT_NAME.fullmatch(lustre.mount_name):
        message = f"{lustre.mount_name!r} is not a valid file system name: use 1 to 8 letters and digits"
        yield Violation(AT / "mount_name", "such as lustre", message)


def _created(plan: StackPlan) -> LustrePlan | None:
    """The file system that this stack creates."""
    return plan.lustre if plan.lustre and not plan.lustre.existing_id else None


def _sold_near(tier: Volume, size_gib: int) -> tuple[int, ...]:
    """The size where it is sold; else the nearest sizes: at most one below and one above."""
    least, most = (tier.min_bytes or 0) // GIB, (tier.max_bytes or 0) // GIB
    above = tier.allowed_bytes(max(size_gib, 1) * GIB)
    if above == size_gib * GIB:
        return (size_gib,)
    step, threshold = _step(tier, size_gib), (tier.large_step_above_bytes or most * GIB) // GIB
    below = max(size_gib // step * step, threshold if size_gib > threshold else 0)
    return tuple(n for n in dict.fromkeys((min(below, most), above // GIB if above else most)) if n >= least)


def _step(tier: Volume, size_gib: int) -> int:
    """Distance in GiB between the sizes of a tier at this size."""
    threshold = tier.large_step_above_bytes
    is_large = threshold is not None and size_gib * GIB > threshold
    return ((tier.large_step_bytes if is_large else tier.step_bytes) or GIB) // GIB
