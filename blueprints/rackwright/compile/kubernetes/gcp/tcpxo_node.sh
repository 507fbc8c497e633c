# Set-up of an A3 Mega node for GPUDirect-TCPXO, in the node's own namespaces: traffic to the receive daemons, the kernel module that
# imports device memory, and the PCI resources of the NICs in one folder that containers mount.
set -eu
aperture=/dev/aperture_devices
iptables --check INPUT --protocol tcp --jump ACCEPT || iptables --insert INPUT --protocol tcp --jump ACCEPT
modprobe import-helper
mkdir -p "$aperture"
for device in $(lspci -nn -D | awk '/1ae0:0084/ { print $1 }'); do
  mkdir -p "$aperture/$device"
  umount -R "$aperture/$device" || true
  mount --bind "$(readlink -f "/sys/bus/pci/devices/$device")" "$aperture/$device"
done
chmod -R a+r "$aperture"
chmod a+rw "$aperture"/*/resource*
