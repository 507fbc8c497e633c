#!/bin/bash
# First boot of a box: the data volume at /data (kept), the machine's own NVMe at /scratch (fast, lost when the machine stops).
set -euo pipefail

devices_of() { lsblk --nodeps --noheadings --paths --output NAME,MODEL | awk -v model="$1" 'index($0, model) { print $1 }'; }

mount_scratch() {
  mkdir -p /scratch
  if mountpoint --quiet /opt/dlami/nvme; then  # the image has already joined the local disks
    mount --bind /opt/dlami/nvme /scratch
    return
  fi
  mapfile -t disks < <(devices_of "Amazon EC2 NVMe Instance Storage")
  [ "${#disks[@]}" -eq 0 ] && return
  local device="${disks[0]}"
  if [ "${#disks[@]}" -gt 1 ]; then
    device=/dev/md0
    mdadm --create "$device" --level=0 --run --raid-devices="${#disks[@]}" "${disks[@]}"
  fi
  mkfs.ext4 -q -E nodiscard "$device"
  mount -o noatime "$device" /scratch
}

data_device() {  # the one EBS disk without partitions, file system of ours or empty
  for disk in $(devices_of "Amazon Elastic Block Store"); do
    [ "$(lsblk --noheadings --output NAME "$disk" | wc -l)" -eq 1 ] && echo "$disk" && return
  done
  return 0  # none yet
}

mount_data() {
  for _ in $(seq 60); do  # the volume is attached after the machine has started
    local device
    device="$(data_device)"
    [ -n "$device" ] && break
    sleep 5
  done
  [ -z "$device" ] && { echo "no data volume after five minutes" >&2; return 1; }
  blkid "$device" >/dev/null || mkfs.ext4 -q -L data "$device"  # never over an existing file system
  mkdir -p /data
  grep -q '^LABEL=data ' /etc/fstab || echo 'LABEL=data /data ext4 defaults,noatime,nofail 0 2' >>/etc/fstab
  mount /data
}

mount_scratch
mount_data
chown ubuntu:ubuntu /data /scratch
