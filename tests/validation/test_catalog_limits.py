"""Limits that rules and the compiler read from the caller's catalog."""

from dataclasses import replace

from rackwright import check
from rackwright.catalog import Catalog
from rackwright.catalog.release.pinned_versions import pinned_versions
from rackwright.clouds import profiles
from rackwright.compile.storage.lustre import with_lustre_interfaces
from rackwright.stackplan.images import box_image

from tests import plans


def problems(plan, catalog: Catalog) -> set[str]:
    return {problem.code for problem in check(plan, catalog=catalog)}


def test_the_oldest_pod_network_for_efa_only_interfaces():
    given, plan = Catalog.default(), plans.training_plan()
    rows = (replace(r, first_release="9.0.0") if r.component == "efa-only-interfaces" else r for r in given.supported_versions)
    assert "V-26" not in problems(plan, given)
    assert "V-26" in problems(plan, replace(given, supported_versions=tuple(rows)))


def test_the_largest_compact_placement():
    given, plan = Catalog.default(), plans.tpu_plan()
    rows = (replace(row, value=2.0) if row.rule == "most_adjacent_nodes" else row for row in given.capacity_rules)
    assert "V-73" not in problems(plan, given)
    assert "V-73" in problems(plan, replace(given, capacity_rules=tuple(rows)))


def test_the_efa_connections_of_a_file_system():
    given = Catalog.default()
    plan = plans.compiled(plans.training_case(blueprint={"ttl": "14d", "storage": {"lustre": {"efa": True}}}))
    rows = (replace(row, values=(8,)) if row.limit == "client_interfaces" else row for row in given.storage_limits)
    few = with_lustre_interfaces(replace(given, storage_limits=tuple(rows)), plan.lustre, plan.pools)
    nodes = plan.pool("gpu").nodes_max
    assert plan.pool("gpu").lustre_interfaces == 8
    assert {pool.lustre_interfaces for pool in few if pool.nics} == {8 // nodes}


def test_images_of_boxes_are_pinned_versions():
    rows = pinned_versions("box-image")
    split = [(f"{prefix}-" if prefix else "", kind, arch) for *_, prefix, kind, arch in (("", *name.split("-")) for name in rows)]
    assert {box_image(kind, arch, prefix) for prefix, kind, arch in split} == {row.version for row in rows.values()}
    clouds = [cloud for cloud in profiles() if "box" in cloud.blueprints and not cloud.is_owned]
    assert {prefix for prefix, *_ in split} == {cloud.box_images for cloud in clouds}
    assert box_image("neuron", "arm64") == ""
