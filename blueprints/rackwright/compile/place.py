"""Where: the zone of the accelerators, and on AWS a second zone for the control plane."""

from rackwright.compile.draft import Draft
from rackwright.compile.wants import PlaceWant

AWS_ZONE_LETTERS = {"us-east-1": "abcdf", "ap-northeast-1": "acd", "ca-central-1": "abd", "us-west-1": "ab"}
"""Zones that take an EKS control plane, where they are not a, b and c: us-east-1e does not, and some letters do not exist.
Source: docs.aws.amazon.com/eks/latest/userguide/network-reqs.html; moto 5.2.5 zone tables (2026-10-27)."""


def place_want(draft: Draft) -> PlaceWant:
    cloud, region = draft.candidate.cloud, draft.candidate.region
    zone = zone_of(draft)
    control = control_zones(region, zone) if cloud == "aws" else ()
    account = (draft.place.account if cloud == "aws" else draft.place.project) or ""
    return PlaceWant(cloud=cloud, region=region, zone=zone, control_zones=control, account=account)


def zone_of(draft: Draft) -> str:
    """The block's own zone, else the first zone the candidate may use, else the region's first letter."""
    named = [z for z in (*draft.place.zones, *draft.candidate.zones) if z.startswith(draft.candidate.region)]
    block = block_of(draft)
    return block.zone if block else named[0] if named else draft.candidate.region + _letters(draft.candidate.region)[0]


def control_zones(region: str, zone: str) -> tuple[str, ...]:
    """Two zones, the accelerators' own first: EKS wants its control plane in two."""
    zones = [region + letter for letter in _letters(region)]
    return tuple(([zone] if zone in zones else []) + [z for z in zones if z != zone])[:2]


def block_of(draft: Draft):
    """The capacity block of the spec the candidate was bought from, if any."""
    entries = (*draft.place.capacity.ordered, *draft.place.capacity.fallback)
    blocks = [e.capacity_block for e in entries if hasattr(e, "capacity_block")]
    return next((b for b in blocks if b.id == draft.candidate.capacity_id), None)


def _letters(region: str) -> str:
    return AWS_ZONE_LETTERS.get(region, "abc")
