"""A Kubernetes cluster that exists, on machines of the user's: sized where a machine is pinned, not built in this release (N-08)."""

from rackwright.clouds.base import CloudProfile

KUBERNETES = CloudProfile(name="kubernetes", owner_field="inventory", is_owned=True, supports=frozenset({"network.existing"}))
