"""Data residency: the regions of each territory, from the cloud profiles."""

from fnmatch import fnmatchcase

from rackwright.clouds import profile


def matches(region: str, patterns: tuple[str, ...]) -> bool:
    """Return whether a region matches one of the patterns. An empty tuple matches every region."""
    return not patterns or any(fnmatchcase(region, pattern) for pattern in patterns)


def stays_in(cloud: str, region: str, residency: str | None) -> bool:
    """Return whether a region lies in the territory. True without a residency, and for existing clusters, which have no region."""
    if residency is None or profile(cloud).is_owned:
        return True
    return matches(region, profile(cloud).residency[residency])
