"""Script that mounts Lustre over EFA on Amazon Linux 2023: https://docs.aws.amazon.com/fsx/latest/LustreGuide/configure-efa-clients.html

Without it, a client mounts the file system over TCP without an error. Therefore the script sets a node label with the result.
"""

LABEL = "rackwright/lustre"
"""Node label: `efa`, or `tcp` if the set-up failed (see /var/log/cloud-init-output.log)."""
PEER_CREDITS = 32
"""Value of the FSx guide for manually added interfaces."""
SCRIPT = """\
#!/bin/bash
set -euo pipefail
over=tcp
labelled() {{
  printf '{{"apiVersion":"node.eks.aws/v1alpha1","kind":"NodeConfig","spec":{{"kubelet":{{"flags":["--node-labels={label}=%s"]}}}}}}' \\
    "$over" >/etc/eks/nodeadm.d/lustre.json
}}
trap labelled EXIT
again=/var/lib/cloud/scripts/per-boot/lustre-efa.sh
test "$0" -ef "$again" || install -D -m 755 "$0" "$again"
dnf install -y lustre-client
address=$(ip -o -4 route show default | awk '{{print $5; exit}}')
interfaces=()
for interface in /sys/class/infiniband/*; do
  if [[ $(basename "$(realpath "$interface/device/driver")") == efa ]]; then interfaces+=("$(basename "$interface")"); fi
done
modprobe lnet
modprobe kefalnd ipif_name="$address"
modprobe ksocklnd
lnetctl lnet configure
lnetctl net del --net tcp || true
lnetctl net add --net tcp --if "$address"
for ((i = 0; i < {count}; i++)); do
  lnetctl net add --net efa --if "${{interfaces[i * ${{#interfaces[@]}} / {count}]}}" --peer-credits {credits}
done
lnetctl set discovery 1
lnetctl udsp add --src efa --priority 0
modprobe lustre
over=efa
"""
"""Runs at every boot, before the node joins (nodeadm starts after cloud-init, and reads /etc/eks/nodeadm.d after the user data). The
interfaces are spread evenly over all EFA interfaces, so that both processors' buses are used."""


def lustre_over_efa(interfaces: int) -> str:
    """The script for this number of EFA interfaces."""
    return SCRIPT.format(label=LABEL, count=interfaces, credits=PEER_CREDITS)
