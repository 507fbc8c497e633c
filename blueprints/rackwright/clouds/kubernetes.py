"""An existing Kubernetes cluster on the user's own servers, which an inventory describes."""

from rackwright.clouds.base import CloudProfile

KUBERNETES = CloudProfile(
    name="kubernetes",
    owner_field="inventory",
    is_owned=True,
    capacity_modes=("owned",),
    blueprints=frozenset({"box", "training-cluster", "inference-fleet"}),
    supports=frozenset({"network.existing", "serve.multi_node", "serve.envoy", "serve.sharing"}),
)
