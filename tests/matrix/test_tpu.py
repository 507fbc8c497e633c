"""Every TPU slice of the catalog x capacity mode x zone: a plan with what GKE requires of it, or a rule's refusal."""

from math import prod

import pytest
from rackwright.catalog.read import Catalog
from rackwright.diagnostics.codes import CODES
from rackwright.validation.spec import RULES as SPEC_RULES
from rackwright.validation.stack import RULES

from tests.matrix import tpu

KNOWN = {rule.code for rule in RULES} | set(SPEC_RULES.rules) | set(CODES)
HOSTS = sorted({piece.gke_machine_type for piece in tpu.pieces()})


def test_there_are_190_slices():
    assert len(tpu.pieces()) == 190


@pytest.mark.parametrize("host", HOSTS)
def test_every_slice_is_a_plan_or_a_refusal_with_an_id(host):
    for piece in Catalog.default().slices_by_machine[host]:
        for cell in tpu.cells(piece):
            where = (piece.topology, cell.slices, cell.mode, cell.zone, cell.codes)
            assert set(cell.codes) <= KNOWN, where
            assert cell.plan or cell.codes, where
            expected = tpu.sold(host) >= {"flex-start" if cell.mode in ("flex-start", "queued") else cell.mode.partition(" ")[0]}
            several = cell.slices == 1 or (piece.multi_host and not piece.slice_interface)
            assert bool(cell.plan) == (expected and several), where
            if cell.plan:
                _is_what_gke_requires(cell)


def _is_what_gke_requires(cell: tpu.Cell) -> None:
    """One pool per slice, with the nodes, labels, placement and bounds of recipes 7.2 and 7.3."""
    piece, pools = cell.piece, [pool for pool in cell.plan.pools if pool.role == "accelerator"]
    assert [pool.name for pool in pools] == [f"slice-{index}" for index in range(cell.slices)]
    chips = prod(map(int, piece.topology.split("x")))
    for pool in pools:
        assert pool.nodes_max * pool.accelerator_count == chips == piece.chips
        assert {pool.nodes_min, pool.nodes_start} <= {0, pool.nodes_max}
        assert (pool.nodes_min == 0) == (pool.capacity.mode == "flex-start")
        assert (pool.resource, pool.topology, pool.accelerator_label) == ("google.com/tpu", piece.topology, piece.gke_accelerator_label)
        assert (pool.multi_host, pool.adjacent) == (piece.multi_host, piece.multi_host)
        assert pool.workload_policy == (piece.multi_host and piece.workload_policy)
        assert (pool.max_pods, pool.zones) == (15, (cell.zone,))
        assert pool.capacity.queued == (cell.mode == "queued") == (dict(pool.labels).get("cloud.google.com/gke-queued") == "true")
    _is_in_its_queue(cell)


def _is_in_its_queue(cell: tpu.Cell) -> None:
    bodies = {manifest.key: manifest.body for manifest in cell.plan.manifests}
    labels, queue = bodies["queue.flavor"]["spec"]["nodeLabels"], bodies["queue.cluster-queue"]["spec"]
    assert labels["cloud.google.com/gke-tpu-accelerator"] == cell.piece.gke_accelerator_label
    assert labels["cloud.google.com/gke-tpu-topology"] == cell.piece.topology
    quotas = {row["name"]: row["nominalQuota"] for row in queue["resourceGroups"][0]["flavors"][0]["resources"]}
    assert quotas["google.com/tpu"] == cell.slices * cell.piece.chips
    assert ("admissionChecksStrategy" in queue) == (cell.mode == "queued")
