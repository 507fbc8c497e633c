"""Data residency: the regions of each territory."""

from fnmatch import fnmatchcase

TERRITORIES: dict[str, dict[str, tuple[str, ...]]] = {
    "us": {"aws": ("us-*",), "gcp": ("us-*",)},
    "eu": {
        "aws": ("eu-central-1", "eu-west-1", "eu-west-3", "eu-north-1", "eu-south-*"),
        "gcp": ("europe-central2", "europe-north[12]", "europe-southwest1", "europe-west1", "europe-west[3489]", "europe-west1[02]"),
    },
    "apac": {"aws": ("ap-*",), "gcp": ("asia-*", "australia-*")},
}
"""Territory -> cloud -> patterns of regions. `eu` is the European Union: London (eu-west-2, europe-west2) and Zurich (eu-central-2,
europe-west6) are outside. Locations: https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-regions.html and
https://cloud.google.com/compute/docs/regions-zones"""


def matches(region: str, patterns: tuple[str, ...]) -> bool:
    """Return whether a region matches one of the patterns. An empty tuple matches every region."""
    return not patterns or any(fnmatchcase(region, pattern) for pattern in patterns)


def stays_in(cloud: str, region: str, residency: str | None) -> bool:
    """Return whether a region lies in the territory. True without a residency, and for existing clusters, which have no region."""
    if residency is None or cloud == "kubernetes":
        return True
    return matches(region, TERRITORIES[residency][cloud])
