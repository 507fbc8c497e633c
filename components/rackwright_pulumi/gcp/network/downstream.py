"""Refuse the teardown of a base stack while the cluster of the same spec uses its network.

`pulumi destroy` does not run the program. It would delete NAT, firewall rules and buckets before Google Cloud rejects the deletion of the
subnets, so the update that removes the protection fails: https://cloud.google.com/vpc/docs/create-modify-vpc-networks#deleting_a_network
"""

import pulumi
from rackwright.stackplan import StackPlan, used_layers

ABSENT = ("not found", "notFound", "404")
"""Parts of the provider's error for a cluster that does not exist."""


def refuse_if_cluster_uses_network(plan: StackPlan, provider: pulumi.ProviderResource) -> None:
    """Raise pulumi.RunError if the cluster of a downstream stack exists.

    Without permission to read clusters, a warning is logged. Clusters of other specs in the same network are not found.
    """
    has_downstream = "cluster" in used_layers(plan) and "cluster" not in plan.layers and "base" in plan.layers
    if not has_downstream or plan.cluster is None or plan.cluster.existing:
        return
    from pulumi_gcp.container import get_cluster

    options = pulumi.InvokeOptions(provider=provider)
    try:
        found = get_cluster(name=plan.cluster.name, location=plan.place.region, project=plan.place.account or None, opts=options).name
    except Exception as error:  # the SDK raises nothing narrower
        if not any(text in str(error) for text in ABSENT):
            pulumi.log.warn(f"Cannot check whether cluster {plan.cluster.name} uses this stack: {error}")
        return
    raise pulumi.RunError(
        f"Cluster {found} uses the network and buckets of this stack. Tear down the downstream stacks first, each with "
        "rackwright:teardown true; nothing was changed"
    )
