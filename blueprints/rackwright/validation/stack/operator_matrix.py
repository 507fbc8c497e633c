"""Drivers, firmware and operators of own servers against the matrix of NVIDIA's releases."""

from collections.abc import Iterator

from rackwright.catalog.release.operator_matrix import OperatorRelease, operator_release, operator_releases, version_numbers
from rackwright.catalog.release.pinned_versions import pinned_versions
from rackwright.clouds import KUBERNETES
from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.spec.inventory import ServerGroup
from rackwright.stackplan.operators import GPU_OPERATOR, NETWORK_OPERATOR
from rackwright.validation.stack.registry import StackContext, context_rule

LIFE_CYCLE = "https://docs.nvidia.com/networking/display/kubernetes2670/platform-support.html"
HERE = At() / "place" / "account"
CONNECTX_7 = "28."
"""Start of the firmware versions of ConnectX-7, which the matrix has."""


@context_rule("V-220", Level.WARNING, LIFE_CYCLE, on=KUBERNETES)
def installed_operators_are_supported(context: StackContext) -> Iterator[Violation]:
    """Operators that the cluster has are of releases that NVIDIA supports."""
    for name, version in _installed(context).items():
        row, pinned = operator_release(name, version), pinned_versions("chart")[name].version
        fix = f"upgrade it to {pinned}, one release after the other"
        if row is None:
            known = ", ".join(each.release for each in operator_releases(name))
            message = f"The cluster has {name} {version}, which the matrix of drivers lacks; it has {known}"
            yield Violation(HERE, f"{fix}, or acknowledge V-220 after a test of GPUDirect", message)
        elif row.status == "ended":
            driver = f"; its default driver is {row.driver}" if row.driver else ""
            yield Violation(HERE, fix, f"The cluster has {name} {version}, whose support has ended{driver}")


@context_rule("V-221", Level.WARNING, LIFE_CYCLE, Stage.BUILD, on=KUBERNETES)
def operators_of_the_cluster_fit_each_other(context: StackContext) -> Iterator[Violation]:
    """GPU operator and Kubernetes are of versions that the network operator supports, also where the cluster has them already."""
    versions = {release.name: release.chart_version for release in context.plan.releases} | _installed(context)
    row = operator_release(NETWORK_OPERATOR, versions.get(NETWORK_OPERATOR, ""))
    if row is None:
        return
    operator, gpu = f"Network operator {versions[NETWORK_OPERATOR]}", versions.get(GPU_OPERATOR, "")
    if gpu and row.gpu_operator_first and version_numbers(gpu) < version_numbers(row.gpu_operator_first):
        message = f"{operator} needs GPU operator {row.gpu_operator_first} or newer for GPUDirect RDMA; the cluster has {gpu}"
        yield Violation(HERE, f"upgrade the GPU operator to {pinned_versions('chart')[GPU_OPERATOR].version}", message)
    cluster = context.inventory.cluster.kubernetes if context.inventory else ""
    first, last = row.kubernetes_first, row.kubernetes_last
    if cluster and first and last and not first <= version_numbers(cluster)[1] <= last:
        message = f"{operator} supports Kubernetes 1.{first} to 1.{last}; the cluster has {cluster}"
        yield Violation(HERE, "use a network operator that supports it, or acknowledge V-221", message)


@context_rule("V-222", Level.WARNING, LIFE_CYCLE, on=KUBERNETES)
def drivers_of_servers_are_in_the_matrix(context: StackContext) -> Iterator[Violation]:
    """Drivers and NIC firmware on the servers are of releases that NVIDIA tests together."""
    inventory = context.inventory
    for group in inventory.servers if inventory else ():
        yield from _gpu_driver(group)
        nic_row = _nic_row(group)
        if group.nic_driver and nic_row is None:
            known = ", ".join(row.driver for row in operator_releases(NETWORK_OPERATOR) if row.driver)
            message = f"NIC driver {group.nic_driver} of group {group.name} is in no release of the matrix: {known}"
            yield Violation(HERE, "install the driver of a release, or acknowledge V-222 after a test of GPUDirect", message)
        for nic in group.rdma_nics:
            wanted = nic_row.nic_firmware if nic_row else ""
            if nic.firmware and wanted and nic.firmware.startswith(CONNECTX_7) and version_numbers(nic.firmware) < version_numbers(wanted):
                message = f"NIC firmware {nic.firmware} of group {group.name} is older than {wanted} of driver {group.nic_driver}"
                yield Violation(HERE, f"update the firmware to {wanted}", message)


def _gpu_driver(group: ServerGroup) -> Iterator[Violation]:
    """A driver of an older branch than every release of the GPU operator in the matrix."""
    branches = sorted({version_numbers(row.driver)[0] for row in operator_releases(GPU_OPERATOR)})
    if group.gpu_driver and version_numbers(group.gpu_driver)[0] < branches[0]:
        message = f"GPU driver {group.gpu_driver} of group {group.name} is older than branch {branches[0]}, the oldest of the matrix"
        yield Violation(HERE, f"install a driver of branch {branches[0]} or newer, or acknowledge V-222", message)


def _nic_row(group: ServerGroup) -> OperatorRelease | None:
    """The release whose driver the servers have; `ofed_info` prints it with a prefix and without the last number."""
    driver = (group.nic_driver or "").removeprefix("OFED-internal-").removeprefix("MLNX_OFED_LINUX-").rstrip(":")
    return next((row for row in operator_releases(NETWORK_OPERATOR) if driver and row.driver and driver in row.driver), None)


def _installed(context: StackContext) -> dict[str, str]:
    """NVIDIA's operators of the cluster that the stack did not install."""
    inventory, recorded = context.inventory, dict(context.plan.pins.charts)
    found = inventory.installed if inventory else ()
    return {each.name: each.version for each in found if each.name in (GPU_OPERATOR, NETWORK_OPERATOR) and each.name not in recorded}
