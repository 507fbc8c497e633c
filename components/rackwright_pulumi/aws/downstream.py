"""Before a stack with the network alone is opened for deletion: does the cluster of the same spec still stand in it?

`pulumi destroy` runs no program and would take NAT, endpoints, file system and buckets away before AWS refuses the subnets, so the update
that lifts the protections is where it ends: https://docs.aws.amazon.com/vpc/latest/userguide/delete-vpc.html
"""

import pulumi
from rackwright.stackplan import StackPlan, used_layers


def refuse_under_a_cluster(plan: StackPlan, provider: pulumi.ProviderResource) -> None:
    """Asks EKS for its clusters, where the layer above is another stack's. Raises pulumi.RunError with the name of the one that stands.

    Whoever may not list clusters is told so, and goes on. Clusters of other specs in the same network are not known here.
    """
    above = "cluster" in used_layers(plan) and "cluster" not in plan.layers and "base" in plan.layers
    if not above or plan.cluster is None or plan.cluster.existing:
        return
    from pulumi_aws.eks.get_clusters import get_clusters

    try:
        names = get_clusters(opts=pulumi.InvokeOptions(provider=provider)).names
    except Exception as error:  # the SDK raises nothing narrower
        pulumi.log.warn(f"whether cluster {plan.cluster.name} still stands on this stack was not found out: {error}")
        return
    if plan.cluster.name in names:
        raise pulumi.RunError(
            f"cluster {plan.cluster.name} still stands on this stack, and would lose its network and its files: take down the stacks of "
            "the layers above first, each with rackwright:teardown true; nothing was changed"
        )
