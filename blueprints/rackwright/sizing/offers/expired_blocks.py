"""Check for capacity blocks that have ended."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem
from rackwright.spec.infra import CapacityBlock, CapacityEntry, Infra, existing_capacity
from rackwright.spec.spec import Spec

EXPIRED_BLOCK_RULE = "R-10"
"""The stack rule for the same condition."""
BLOCKS_LINK = "https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html"


def check_expired_blocks(spec: Spec, today: date) -> None:
    """Raises UserError when every entry of every place is a block that has ended before `today`."""
    entries = list(_entries(spec.infra))
    now = datetime.combine(today, time(), UTC)
    blocks = [
        (at, holding) for at, entry in entries if isinstance(holding := existing_capacity(entry), CapacityBlock) and holding.end <= now
    ]
    if blocks and len(blocks) == len(entries):
        raise UserError([_expired(block, at, today) for at, block in blocks])


def utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _entries(infra: Infra) -> Iterator[tuple[At, CapacityEntry]]:
    for index, place in enumerate(infra.places):
        at = At() / "infra" / ("any_of" if infra.any_of else "ordered") / index / "capacity"
        for key, listed in (("ordered", place.capacity.ordered), ("fallback", place.capacity.fallback)):
            yield from ((at / key / position, entry) for position, entry in enumerate(listed))


def _expired(block: CapacityBlock, at: At, today: date) -> Problem:
    return Problem(
        EXPIRED_BLOCK_RULE,
        f"Capacity block {block.id} ended {utc(block.end)}, before {today.isoformat()}",
        at / "capacity_block" / "end",
        f"name a block that ends after {today.isoformat()}, or on-demand; `aws ec2 describe-capacity-block-offerings` lists what is sold",
        link=BLOCKS_LINK,
    )
