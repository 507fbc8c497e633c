"""Refuse the teardown of a base stack while the cluster of the same spec uses its network.

`pulumi destroy` does not run the program. It would delete NAT gateway, endpoints, file system and buckets before AWS rejects the deletion
of the subnets, so the update that removes the protection fails: https://docs.aws.amazon.com/vpc/latest/userguide/delete-vpc.html
"""

import pulumi
from rackwright.stackplan import StackPlan, used_layers


def refuse_if_cluster_uses_network(plan: StackPlan, provider: pulumi.ProviderResource) -> None:
    """Raise pulumi.RunError if the cluster of a downstream stack exists.

    Without permission to list clusters, a warning is logged. Clusters of other specs in the same network are not found.
    """
    has_downstream = "cluster" in used_layers(plan) and "cluster" not in plan.layers and "base" in plan.layers
    if not has_downstream or plan.cluster is None or plan.cluster.existing:
        return
    from pulumi_aws.eks.get_clusters import get_clusters

    try:
        names = get_clusters(opts=pulumi.InvokeOptions(provider=provider)).names
    except Exception as error:  # the SDK raises nothing narrower
        pulumi.log.warn(f"Cannot check whether cluster {plan.cluster.name} uses this stack: {error}")
        return
    if plan.cluster.name in names:
        raise pulumi.RunError(
            f"Cluster {plan.cluster.name} uses the network and files of this stack. Tear down the downstream stacks first, each with "
            "rackwright:teardown true; nothing was changed"
        )
