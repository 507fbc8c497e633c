"""Disks that operators claim in the cluster."""

from collections.abc import Iterator

from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import StackPlan
from rackwright.validation.stack.registry import rule


@rule("V-127", Level.ERROR, "https://kubernetes.io/docs/concepts/storage/storage-classes/", invariant=True)
def claimed_disks_have_a_storage_class(plan: StackPlan) -> Iterator[Violation]:
    """A release that claims a disk waits for the storage class of the claim, because a claim without a class stays pending."""
    classes = {manifest.key for manifest in plan.manifests if manifest.body["kind"] == "StorageClass" and manifest.layer == "operators"}
    for index, release in enumerate(plan.releases if "operators" in plan.layers else ()):
        if release.claims and not classes.intersection(release.after):
            message = f"{release.name} claims a disk of {release.claims[0].size_gib} GiB, but waits for no storage class of the plan"
            yield Violation(At() / "releases" / index / "after", "add the key of the class", message)
