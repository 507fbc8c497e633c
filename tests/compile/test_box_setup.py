"""The boot script of a box, run in a folder with fake tools that read and write files."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import plans

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
EBS, NVME = "Amazon Elastic Block Store", "Amazon EC2 NVMe Instance Storage"
PLACES = ("/scratch", "/data", "/etc/fstab", "/var/lib/cloud", "/opt/dlami")
TOOLS = {
    "lsblk": """case "$*" in
      *--nodeps*) cut -d: -f1,2 --output-delimiter=" " disks ;;
      *) grep "^${!#}:" disks | cut -d: -f3 | tr , "\\n" ;;
    esac""",
    "blkid": """case "$1" in
      --label) grep ":$2$" labels | cut -d: -f1 | grep . || exit 2 ;;
      *) grep -q "^$1:" labels || exit 2 ;;
    esac""",
    "mkfs.ext4": 'echo "${!#}:$(sed "s/.*-L \\([a-z]*\\).*/\\1/" <<<"$*")" >>labels',
    "mountpoint": 'grep -qx "${!#}" mounted',
    "mount": 'echo "${!#}" >>mounted',
    "systemctl": "test -e dlami",
    "sleep": 'test ! -e after_a_while || mv after_a_while disks',
    "mdadm": ":",
    "chown": ":",
}  # fmt: skip


class Machine:
    """disks: (device, model, names that lsblk lists with it). Fake tools append their calls to `calls`."""

    def __init__(self, folder: Path, *disks: tuple[str, str, str]):
        self.folder = folder
        (folder / "tools").mkdir()
        for name, body in TOOLS.items():
            tool = folder / "tools" / name
            tool.write_text(f'#!/bin/bash\ncd {folder}\necho "{name} $*" >>calls\n{body}\n')
            tool.chmod(0o755)
        for name in ("labels", "mounted", "fstab", "calls"):
            (folder / name).touch()
        self.write("disks", disks)

    def write(self, name: str, disks) -> None:
        (self.folder / name).write_text("".join(":".join(disk) + "\n" for disk in disks))

    def boot(self, script: Path | None = None) -> "Machine":
        """The first boot runs the user data, later ones the script in per-boot."""
        text = plans.box_plan().box.setup_script
        for place in PLACES:
            text = text.replace(place, f"{self.folder}{place.replace('/etc', '')}")
        first = self.folder / "part-001"
        first.write_text(text)
        path = os.pathsep.join([str(self.folder / "tools"), os.environ["PATH"]])
        self.ended = subprocess.run(["bash", str(script or first)], env={"PATH": path}, capture_output=True, text=True, check=False)
        return self

    def reboot(self, lost: bool) -> "Machine":
        """lost: the machine was stopped, so its local disks are new. Entries of fstab are mounted before scripts run."""
        (self.folder / "mounted").write_text(f"{self.folder}/data\n" if self.read("fstab") else "")
        if lost:
            kept = [line for line in self.read("labels").splitlines() if line.endswith(":data")]
            (self.folder / "labels").write_text("".join(f"{line}\n" for line in kept))
        (self.folder / "calls").write_text("")
        return self.boot(self.folder / "var/lib/cloud/scripts/per-boot/rackwright-disks")

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()

    def called(self, tool: str) -> list[str]:
        return [line for line in self.read("calls").splitlines() if line.startswith(f"{tool} ")]

    @property
    def mounted(self) -> set[str]:
        return {line.removeprefix(str(self.folder)) for line in self.read("mounted").splitlines()}


ROOT, DATA = ("/dev/nvme0n1", EBS, "nvme0n1,nvme0n1p1"), ("/dev/nvme1n1", EBS, "nvme1n1")
LOCAL = (("/dev/nvme2n1", NVME, "nvme2n1"), ("/dev/nvme3n1", NVME, "nvme3n1"))


def test_first_boot_creates_and_mounts_both_file_systems(tmp_path):
    machine = Machine(tmp_path, ROOT, DATA, *LOCAL).boot()
    assert machine.ended.returncode == 0, machine.ended.stderr
    assert machine.mounted == {"/data", "/scratch"}
    assert machine.read("labels").splitlines() == ["/dev/md0:scratch", "/dev/nvme1n1:data"]
    assert "--raid-devices=2" in machine.called("mdadm")[0]


def test_one_local_disk_needs_no_raid(tmp_path):
    machine = Machine(tmp_path, ROOT, DATA, LOCAL[0]).boot()
    assert machine.mounted == {"/data", "/scratch"}
    assert not machine.called("mdadm")


def test_after_a_stop_scratch_is_recreated_and_data_is_kept(tmp_path):
    """The idle alarm stops the machine; after a start /scratch was an empty folder of the root disk."""
    machine = Machine(tmp_path, ROOT, DATA, *LOCAL).boot().reboot(lost=True)
    assert machine.ended.returncode == 0, machine.ended.stderr
    assert machine.mounted == {"/data", "/scratch"}
    assert [call.split()[-1] for call in machine.called("mkfs.ext4")] == ["/dev/md0"]


def test_a_reboot_formats_nothing(tmp_path):
    machine = Machine(tmp_path, ROOT, DATA, *LOCAL).boot().reboot(lost=False)
    assert machine.mounted == {"/data", "/scratch"}
    assert not machine.called("mkfs.ext4")
    assert machine.read("fstab").count("LABEL=data") == 1


def test_raid_of_the_image_is_used(tmp_path):
    machine = Machine(tmp_path, ROOT, DATA, *LOCAL)
    (tmp_path / "dlami").touch()
    (tmp_path / "mounted").write_text(f"{tmp_path}/opt/dlami/nvme\n")
    machine.boot()
    assert {"/data", "/scratch"} <= machine.mounted
    assert [call.split()[-1] for call in machine.called("mkfs.ext4")] == ["/dev/nvme1n1"]


def test_boot_waits_for_the_data_volume(tmp_path):
    machine = Machine(tmp_path, ROOT)
    machine.write("after_a_while", (ROOT, DATA))
    assert "/data" in machine.boot().mounted
    assert machine.called("sleep")


def test_a_data_volume_of_an_earlier_machine_keeps_its_files(tmp_path):
    machine = Machine(tmp_path, ROOT, DATA)
    (tmp_path / "labels").write_text("/dev/nvme1n1:data\n")
    assert "/data" in machine.boot().mounted
    assert not machine.called("mkfs.ext4")


def test_a_volume_with_another_file_system_is_not_formatted(tmp_path):
    machine = Machine(tmp_path, ROOT, DATA)
    (tmp_path / "labels").write_text("/dev/nvme1n1:theirs\n")
    assert machine.boot().ended.returncode == 1
    assert not machine.called("mkfs.ext4")


def test_data_is_mounted_when_local_disks_fail(tmp_path):
    machine = Machine(tmp_path, ROOT, DATA, *LOCAL)
    (tmp_path / "tools" / "mdadm").write_text("#!/bin/bash\nexit 1\n")
    machine.boot()
    assert machine.mounted == {"/data"}
    assert machine.ended.returncode == 0


def test_boot_without_a_data_volume_reports_an_error(tmp_path):
    machine = Machine(tmp_path, ROOT).boot()
    assert machine.ended.returncode == 1
    assert "no data volume" in machine.ended.stderr
    assert not machine.called("mkfs.ext4")
