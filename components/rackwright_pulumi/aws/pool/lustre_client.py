"""How an AL2023 node comes to read Lustre over EFA: https://docs.aws.amazon.com/fsx/latest/LustreGuide/configure-efa-clients.html

Nothing in the cluster does this: a client without it mounts the same file system over TCP and says nothing. The node therefore says by a
label what it has become, whatever went wrong.
"""

LABEL = "rackwright/lustre"
"""On the node: `efa`, or `tcp` where the set-up failed (its reason is in /var/log/cloud-init-output.log)."""
PEER_CREDITS = 32
"""The guide's own, for interfaces that are added by hand."""
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
"""At each boot, before the node joins (nodeadm starts after cloud-init, and reads /etc/eks/nodeadm.d after the user data). Interfaces lie
evenly among those there are, so that no processor's bus carries them all."""


def lustre_over_efa(interfaces: int) -> str:
    """The script for as many interfaces."""
    return SCRIPT.format(label=LABEL, count=interfaces, credits=PEER_CREDITS)
