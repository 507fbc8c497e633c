#!/bin/bash
# Every boot of a box: the data volume at /data (kept), the machine's own NVMe at /scratch (fast, empty after each stop).
# cloud-init runs this once, as user data, and what lies in per-boot at every later boot.
set -uo pipefail

AGAIN=/var/lib/cloud/scripts/per-boot/rackwright-disks
IMAGE_NVME=/opt/dlami/nvme  # where the Deep Learning AMI's own service mounts the local disks, which it joins

devices_of() { lsblk --nodeps --noheadings --paths --output NAME,MODEL | awk -v model="$1" 'index($0, model) { print $1 }'; }

attempt() {  # up to this many times, five seconds apart, until the command succeeds
  for _ in $(seq "$1"); do "${@:2}" && return; sleep 5; done
  return 1
}

mount_scratch() {
  local disks device
  mkdir -p /scratch
  mountpoint --quiet /scratch && return
  mapfile -t disks < <(devices_of "Amazon EC2 NVMe Instance Storage")
  [ "${#disks[@]}" -eq 0 ] && return
  if systemctl --quiet is-enabled dlami-nvme.service 2>/dev/null && attempt 24 mountpoint --quiet "$IMAGE_NVME"; then
    mount --bind "$IMAGE_NVME" /scratch
    return
  fi
  if ! blkid --label scratch >/dev/null; then  # else ours, from before a reboot
    device="${disks[0]}"
    if [ "${#disks[@]}" -gt 1 ]; then
      device=/dev/md0
      mdadm --create "$device" --level=0 --run --raid-devices="${#disks[@]}" "${disks[@]}" || return
    fi
    mkfs.ext4 -q -L scratch -E nodiscard "$device" || return
  fi
  mount -o noatime LABEL=scratch /scratch
}

empty_volume() {  # the first EBS disk without partitions and without a file system
  local disk
  for disk in $(devices_of "Amazon Elastic Block Store"); do
    [ "$(lsblk --noheadings --output NAME "$disk" | wc -l)" -eq 1 ] && ! blkid "$disk" >/dev/null && echo "$disk" && return
  done
  return 1
}

data_is_there() { blkid --label data >/dev/null || empty_volume >/dev/null; }

mount_data() {
  mkdir -p /data
  mountpoint --quiet /data && return
  attempt 60 data_is_there || { echo "no data volume after five minutes" >&2; return 1; }  # attached after the machine has started
  blkid --label data >/dev/null || mkfs.ext4 -q -L data "$(empty_volume)" || return  # never over an existing file system
  grep -q '^LABEL=data ' /etc/fstab || echo 'LABEL=data /data ext4 defaults,noatime,nofail 0 2' >>/etc/fstab
  mount /data
}

[ "$0" -ef "$AGAIN" ] || install -D -m 755 "$0" "$AGAIN"
mount_scratch || echo "no local disks at /scratch" >&2  # no reason to go without /data
mount_data
failed=$?
chown ubuntu:ubuntu /data /scratch
exit "$failed"
