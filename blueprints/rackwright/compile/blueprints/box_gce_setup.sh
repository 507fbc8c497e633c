#!/bin/bash
# Every boot of a box: the data disk at /data (kept), the machine's local SSDs at /scratch (fast, empty after each stop), the stop of an idle
# machine, and a container runtime. Compute Engine runs a startup script at every boot.
set -uo pipefail

DATA=/dev/disk/by-id/google-data  # the device name of the attachment
METADATA=http://metadata.google.internal/computeMetadata/v1/instance/attributes

attempt() {  # up to this many times, five seconds apart, until the command succeeds
  for _ in $(seq "$1"); do "${@:2}" && return; sleep 5; done
  return 1
}

mount_scratch() {
  local disks=(/dev/disk/by-id/google-local-nvme-ssd-*) device
  mkdir -p /scratch
  mountpoint --quiet /scratch && return
  [ -e "${disks[0]}" ] || return 0  # the pattern itself: no local SSD
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

mount_data() {
  mkdir -p /data
  mountpoint --quiet /data && return
  attempt 60 test -e "$DATA" || { echo "no data disk after five minutes" >&2; return 1; }  # attached after the machine has started
  if ! blkid "$DATA" >/dev/null; then  # never over an existing file system
    [ "$(lsblk --noheadings --output NAME "$DATA" | wc -l)" -eq 1 ] || { echo "the data disk has partitions" >&2; return 1; }
    mkfs.ext4 -q -L data "$DATA" || return
  fi
  mount -o noatime "$DATA" /data
}

stop_when_idle() {  # Cloud Monitoring sends alerts and stops no machine, so the machine stops itself
  cat >/usr/local/sbin/rackwright-idle-stop <<'SCRIPT'
#!/bin/bash
attribute() { curl --silent --fail --header "Metadata-Flavor: Google" "$1/$2"; }
times() { awk '/^cpu / { for (i = 2; i <= 9; i++) all += $i; print all, $5 + $6 }' /proc/stat; }
read -r all rest < <(times)
idle=0
while sleep 60; do
  minutes="$(attribute "$1" idle-stop-minutes)" && percent="$(attribute "$1" idle-cpu-percent)" || { idle=0; continue; }
  read -r all_now rest_now < <(times)
  if awk -v a=$((all_now - all)) -v r=$((rest_now - rest)) -v p="$percent" 'BEGIN { exit !(a > 0 && 100 * (a - r) / a < p) }'; then
    idle=$((idle + 1))
  else
    idle=0
  fi
  all=$all_now rest=$rest_now
  if [ "$minutes" -gt 0 ] && [ "$idle" -ge "$minutes" ]; then
    echo "no work for $idle minutes: the machine stops"
    systemctl poweroff
  fi
done
SCRIPT
  chmod 755 /usr/local/sbin/rackwright-idle-stop
  systemctl is-active --quiet rackwright-idle-stop || systemd-run --unit=rackwright-idle-stop /usr/local/sbin/rackwright-idle-stop "$METADATA"
}

install_docker() {
  command -v docker >/dev/null && return
  apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy docker.io
}

install_gpu_runtime() {  # https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
  command -v nvidia-smi >/dev/null || return 0
  if ! command -v nvidia-ctk >/dev/null; then
    local key=/usr/share/keyrings/nvidia-container-toolkit-keyring.gpg url=https://nvidia.github.io/libnvidia-container
    curl -fsSL "$url/gpgkey" | gpg --dearmor --yes -o "$key" || return
    curl -fsSL "$url/stable/deb/nvidia-container-toolkit.list" | sed "s#deb https://#deb [signed-by=$key] https://#g" \
      >/etc/apt/sources.list.d/nvidia-container-toolkit.list || return
    apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy nvidia-container-toolkit || return
  fi
  grep -qs nvidia /etc/docker/daemon.json && return
  nvidia-ctk runtime configure --runtime=docker && systemctl restart docker
}

stop_when_idle
mount_scratch || echo "no local disks at /scratch" >&2  # no reason to go without /data
mount_data
failed=$?
chmod 1777 /data /scratch  # OS Login creates users at their first session
attempt 12 install_docker && attempt 12 install_gpu_runtime || failed=1
exit "$failed"
