"""Registered clouds by name, in the order in which messages list them."""

from rackwright.clouds.aws import AWS
from rackwright.clouds.base import CloudProfile
from rackwright.clouds.gcp import GCP
from rackwright.clouds.kubernetes import KUBERNETES
from rackwright.diagnostics.errors import Bug

_PROFILES: dict[str, CloudProfile] = {}


def register(cloud: CloudProfile) -> None:
    """Register a cloud, so that a spec can use it. Raises Bug where the name is taken."""
    if cloud.name in _PROFILES:
        raise Bug(f"cloud {cloud.name} is registered twice")
    _PROFILES[cloud.name] = cloud


def unregister(name: str) -> None:
    """Unregister a cloud, for tests. Raises KeyError for an unknown name."""
    del _PROFILES[name]


def profile(name: str) -> CloudProfile:
    """The profile of a cloud. Raises Bug for a name that is not registered, which a validated spec cannot contain."""
    if name not in _PROFILES:
        raise Bug(f"cloud {name} is not registered")
    return _PROFILES[name]


def profiles() -> tuple[CloudProfile, ...]:
    return tuple(_PROFILES.values())


def names() -> tuple[str, ...]:
    """Valid values of `cloud`."""
    return tuple(_PROFILES)


def sellers() -> tuple[str, ...]:
    """Clouds that sell machines, and so have prices and discounts."""
    return tuple(cloud.name for cloud in _PROFILES.values() if not cloud.is_owned)


def supports(name: str, option: str) -> bool:
    """Whether this release builds the option on that cloud; False for a cloud that is not registered."""
    return name in _PROFILES and option in _PROFILES[name].supports


for _cloud in (AWS, GCP, KUBERNETES):
    register(_cloud)
