"""An existing Kubernetes cluster on the user's own machines: sized for a pinned machine, not built in this release (N-08)."""

from rackwright.clouds.base import CloudProfile

KUBERNETES = CloudProfile(name="kubernetes", owner_field="inventory", is_owned=True, supports=frozenset({"network.existing"}))
