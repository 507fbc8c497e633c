"""Which regions keep data inside a territory: patterns per cloud are in its profile."""

from fnmatch import fnmatchcase

from rackwright.clouds import profile


def matches(region: str, patterns: tuple[str, ...]) -> bool:
    """Whether a region is named by one of the patterns; no pattern at all allows every region."""
    return not patterns or any(fnmatchcase(region, pattern) for pattern in patterns)


def stays_in(cloud: str, region: str, residency: str | None) -> bool:
    """Whether data in that region of that cloud keeps the residency. Machines one owns are where they are: always."""
    if residency is None or profile(cloud).is_owned:
        return True
    return matches(region, profile(cloud).residency[residency])
