"""The one provider of a stack in an existing cluster on own servers."""

from pulumi_kubernetes import Provider
from rackwright.stackplan import PlacePlan

from rackwright_pulumi.kubernetes import CLOUD


def make_provider(place: PlacePlan) -> Provider:
    """Uses the kubeconfig of the machine that runs the update: KUBECONFIG, else ~/.kube/config.

    The context of the inventory is set where it has one, so that another current context builds nothing in another cluster. Objects of an
    unreachable cluster stay in the state: the provider neither deletes nor skips them.
    """
    return Provider(CLOUD, context=place.account or None, cluster_identifier=place.account or None, enable_server_side_apply=True)
