"""R-100: administrators and viewers of the cluster."""

from collections.abc import Iterator

from rackwright.clouds import profile
from rackwright.diagnostics.problem import At
from rackwright.diagnostics.rule import Violation
from rackwright.spec.base import quote
from rackwright.validation.spec.registry import SpecContext, rule


@rule("R-100", link="https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html")
def cluster_access_is_for_principals_of_its_cloud(context: SpecContext) -> Iterator[Violation]:
    """Administrators and viewers are principals of a cloud in the spec, and of a cluster that the stack creates."""
    blueprint, clouds = context.spec.blueprint, sorted({place.cloud for _, place in context.places})
    prefixes = tuple(prefix for cloud in clouds for prefix in profile(cloud).principals)
    for key, names in (("admins", blueprint.admins), ("viewers", blueprint.viewers)):
        at = At() / "blueprint" / key
        if names and (blueprint.kind == "box" or blueprint.cluster != "new"):
            found = "A box has no cluster" if blueprint.kind == "box" else "The stack does not create its cluster"
            yield Violation(at, "leave it out", f"{found}, so `{key}` would have no effect")
        for index, name in enumerate(names):
            if not name.startswith(prefixes):
                fix = f"use a principal that starts with {' or '.join(prefixes)}" if prefixes else "leave it out"
                yield Violation(at / index, fix, f"{quote(name)} is not a principal of {' or '.join(clouds)}")
