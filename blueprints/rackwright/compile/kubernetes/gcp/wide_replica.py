"""Replicas over several machines of GKE: RDMA interfaces by claims and NCCL's gIB plugin, else plain TCP."""

from dataclasses import replace

from rackwright.catalog.release.fabric_environment import fabric_variables
from rackwright.catalog.rows import FabricLayout
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.kubernetes.gcp.fabric import NODE_FOLDERS
from rackwright.compile.kubernetes.gcp.fabric_pod import ROCE_MOUNTS, ROCE_SCRIPT
from rackwright.compile.serving.model_server import ModelServer
from rackwright.compile.serving.replica import hosts_per_replica
from rackwright.stackplan import PoolPlan
from rackwright.stackplan.labels import MANAGED_NETWORKS_LABEL, RDMA_CLAIM


def rdma_layout(context: CompileContext) -> FabricLayout | None:
    """Interfaces that GKE gives to the machines of a replica; None for a replica on one machine, and for machines on TCP."""
    layout = context.catalog.layout_by_machine.get(context.machine.name)
    return layout if layout and layout.managed_networks_from and hosts_per_replica(context) > 1 else None


def with_interfaces(pool: PoolPlan, layout: FabricLayout | None) -> PoolPlan:
    """`pool` with the networks that GKE makes for its interfaces; without them its replicas use no fabric."""
    if layout is None:
        return replace(pool, fabric="none")
    return replace(pool, devices="dra", labels=(*pool.labels, (MANAGED_NETWORKS_LABEL, "true")))


def with_rdma(server: ModelServer, layout: FabricLayout) -> ModelServer:
    """`server` with every RDMA interface of its machine, and the plugin that the node's installer provides.

    Source: GoogleCloudPlatform/container-engine-accelerators@992db812 gpudirect-rdma/nccl-test-managed-rdma.yaml (2026-06-09).
    """
    folders = NODE_FOLDERS[layout.fabric]
    return replace(
        server,
        env=tuple(({row.variable: row.value for row in fabric_variables(layout.fabric)} | dict(server.env)).items()),
        claim=RDMA_CLAIM,
        pins_memory=True,
        node_folders=tuple((volume, folders[volume], path) for volume, path in ROCE_MOUNTS.items()),
        script=ROCE_SCRIPT,
    )
