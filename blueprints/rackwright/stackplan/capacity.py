"""Limits of capacity modes: longest runs, drain times, placement."""

import re
from datetime import timedelta

RESERVATION_ID = re.compile(r"cr-[0-9a-f]{17}")
"""ID of an EC2 capacity reservation or capacity block."""

FLEX_START_MAX_RUN_S = 604800
"""Seconds. GKE deletes flex-start nodes after 7 days (cluster-toolkit@1047080 gke-node-pool preconditions)."""
DRAIN_BEFORE_END, DRAIN_ULTRA_BEFORE_END = timedelta(minutes=40), timedelta(minutes=70)
"""EC2 reclaims a block's machines from 30 minutes before its end, those of an UltraServer from 60; draining starts 10 minutes earlier
(aws/karpenter-provider-aws@1d92708 website/content/en/preview/tasks/odcrs.md)."""
ULTRA_SERVERS = ("p6e-", "trn2u.", "u-")
"""Prefixes of machines sold as parts of an UltraServer."""


def drain_before_end(machine: str) -> timedelta:
    """Time before a capacity block's end at which draining starts: 10 minutes before EC2 reclaims the machines."""
    return DRAIN_ULTRA_BEFORE_END if machine.startswith(ULTRA_SERVERS) else DRAIN_BEFORE_END


IDLE_STOP_MINUTES = 60
"""Default idle time after which a box is stopped."""
ADJACENT_MODES = ("capacity-block", "reservation")
"""EC2 places these machines close together; an additional placement group can prevent their launch (eksctl issue 7949)."""
