"""Expected values of the checks, from the plan, the catalog and the inventory."""

import math
import re
from typing import Any

from rackwright.catalog.query import accelerator
from rackwright.catalog.release.preflight_limits import preflight_limits
from rackwright.catalog.rows import Fabric
from rackwright.compile.jobs.job_context import JobContext, Launch
from rackwright.compile.jobs.paths import SHARED, shared_claims
from rackwright.sizing.offers.own_servers import nic_bytes_per_s, rdma_nic, servers_named
from rackwright.spec.inventory import Nic
from rackwright.stackplan.nodes import MEMORY_LOCKING_FABRICS
from rackwright.units import GIB

LINKS = re.compile(r"\((\d+) links\)")
MESSAGES = "-b 1G -e 8G -f 2 -g 1 -w 5 -n 20 -c 1"
"""Options of nccl-tests: large messages, whose rate is the bandwidth, and a check of the values."""
TIMEOUT_S = 300
"""For one all-reduce; without a fabric NCCL may wait for ever."""
STORAGE_SECONDS = 20
"""Duration of writing at the planned rate."""
MIN_FILE_GIB, MAX_FILE_GIB = 1, 64


def node_limits(job: JobContext) -> dict[str, Any]:
    """Limits of check_node.py for the nodes of the sized pool."""
    machine, options, found = job.machine, job.spec.blueprint.preflight, preflight_limits()
    nic, uses_fabric = rdma_port(job), job.pool.fabric in MEMORY_LOCKING_FABRICS
    ports = job.pool.fabric_interfaces if job.pool.fabric == Fabric.EFA else nic.count if nic else 0
    return {
        "gpus": job.pool.accelerator_count,
        "products": sorted(row.product for row in job.catalog.gpu_products if row.accelerator == machine.accelerator),
        "nvlinks": nvlinks(job),
        "driver": options.driver or "",
        "uncorrected_ecc_errors": int(found["uncorrected_ecc_errors"]),
        "application_xids": [int(xid) for xid in found["application_xids"].split()],
        "fabric": job.pool.fabric,
        "ports": ports if uses_fabric else 0,
        "port_names": [port.device for port in nic.rails if port.device] if nic else [],
        "port_layer": {"infiniband": "InfiniBand", "roce": "Ethernet"}.get(job.pool.fabric, ""),
        "port_gbps": port_gbps(nic, job),
        "firmware": options.firmware or "",
        "local_disks": (machine.local_nvme_count or 0) if job.pool.local_nvme else 0,
        "locked_bytes": (machine.memory_bytes or 0) if uses_fabric else 0,
    }


def cluster_limits(job: JobContext) -> dict[str, Any]:
    """Limits of check_cluster.py for `job.nodes` nodes. A stack without a shared file system has no storage to measure."""
    need = job.sizing.storage.throughput_bytes_per_s
    size = math.ceil(need / job.nodes * STORAGE_SECONDS / GIB)
    return {
        "hosts": [job.host(rank) for rank in range(job.nodes)],
        "gpus": job.accelerators_per_node,
        "all_reduce": f"{job.spec.blueprint.preflight.all_reduce} {MESSAGES}",
        "pair_busbw_gb_s": busbw_floor(job, 2),
        "cluster_busbw_gb_s": busbw_floor(job, job.nodes),
        "timeout_s": TIMEOUT_S,
        "shared_folder": f"{SHARED}/.{job.name}" if shared_claims(job) else "",
        "storage_gb_s": float(f"{need / 1e9:.3g}"),
        "storage_bytes_per_node": min(MAX_FILE_GIB, max(MIN_FILE_GIB, size)) * GIB,
    }


def busbw_floor(job: JobContext, nodes: int) -> float | None:
    """GB/s of the all-reduce bus bandwidth between nodes. None where it is unknown.

    Between two nodes it is the published floor of the fabric, which NVLink within them raises, else a part of the line rate. More nodes
    have the lower of both.
    """
    expected, found = job.stack.expected_fabric, preflight_limits()
    rate = expected.node_bytes_per_s or job.machine.fabric_bytes_per_s or job.machine.sustained_network_bytes_per_s
    share = float(found.get(f"busbw_share_{job.machine.fabric}", found["busbw_share"]))
    part = None if not rate or job.machine.gpudirect is False else float(f"{rate / 1e9 * share:.3g}")
    floors = [expected.busbw_floor_gb_s, part] if nodes > 2 else [expected.busbw_floor_gb_s or part]
    return min((floor for floor in floors if floor is not None), default=None)


def nvlinks(job: Launch) -> int:
    """NVLinks of one GPU; 0 where the GPU has none or their number is not published."""
    card = accelerator(job.catalog, job.machine.accelerator) if job.machine.accelerator else None
    found = LINKS.search(card.scale_up_link) if card and job.accelerators_per_node > 1 else None
    return int(found[1]) if found else 0


def rdma_port(job: Launch) -> Nic | None:
    """RDMA ports of own servers that jobs use, with their names; None elsewhere."""
    servers = servers_named(job.spec, job.fit.candidate.place, job.fit.candidate.machine)
    return rdma_nic(servers.group, job.catalog) if servers else None


def port_gbps(nic: Nic | None, job: Launch) -> float:
    """Rate of one port in Gbit/s; 0 where the inventory has none."""
    rate = nic_bytes_per_s(nic, job.catalog) if nic else None
    return round(rate * 8 / 1e9 / nic.count, 1) if nic and rate else 0.0
