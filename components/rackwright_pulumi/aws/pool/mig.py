"""Script that divides the GPUs of Amazon Linux 2023 by MIG: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/getting-started-with-mig.html"""

from rackwright.stackplan import SharingPlan

SCRIPT = """\
#!/bin/bash
set -euo pipefail
again=/var/lib/cloud/scripts/per-boot/mig.sh
test "$0" -ef "$again" || install -D -m 755 "$0" "$again"
nvidia-smi --multi-instance-gpu=1
if nvidia-smi --query-gpu=mig.mode.current --format=csv,noheader | grep -qv Enabled; then nvidia-smi --gpu-reset; fi
nvidia-smi mig --destroy-compute-instance || true
nvidia-smi mig --destroy-gpu-instance || true
nvidia-smi mig --create-gpu-instance {instances} --default-compute-instance
"""
"""Runs at every boot, because instances do not survive one, and before the node joins (nodeadm starts after cloud-init). GPUs before Hopper
enter MIG mode after a reset only. Without a GPU index, all GPUs are divided."""


def mig_script(sharing: SharingPlan) -> str:
    """The script that creates every instance of the profile on all GPUs."""
    return SCRIPT.format(instances=",".join([sharing.profile] * sharing.parts))
