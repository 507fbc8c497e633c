"""Boxes on Compute Engine: attached accelerators, interfaces, disks, startup script, and alerts."""

from collections.abc import Iterator

from rackwright.catalog.read import Catalog
from rackwright.clouds import GCP, supports
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import NicPlan, StackPlan
from rackwright.validation.stack.registry import StackContext, catalog_rule, context_rule, rule

BOX = At() / "box"
ATTACHED = "https://docs.cloud.google.com/compute/docs/gpus/create-gpu-vm-general-purpose"
RDMA_MACHINES = "https://docs.cloud.google.com/ai-hypercomputer/docs/create/create-vm"
METADATA = "https://docs.cloud.google.com/compute/docs/metadata/overview#limitations"
METADATA_VALUE_BYTES = 256 * 1024
BUDGETS = "https://docs.cloud.google.com/billing/docs/how-to/budgets"


@catalog_rule("V-79", Level.ERROR, ATTACHED, on=GCP)
def accelerators_are_attached_where_possible(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """GPUs are attached to machine types without any; other machine types have theirs, and accept no others."""
    box, at = plan.box, BOX / "attached_accelerator"
    machine = catalog.machine_by_name.get(box.machine) if box else None
    if box is None or machine is None:
        return
    takes_them = box.machine_type != box.machine
    if box.attached_accelerator and not takes_them:
        possible = sorted(row.name for row in catalog.machines if row.cloud == plan.place.cloud and "+" in row.name)
        message = f"{box.machine} has its own accelerators; {box.attached_accelerator} cannot be attached to it"
        yield Violation(at, f"remove it, or use {' or '.join(possible[:2]) or 'another machine'}", message)
    if takes_them and machine.gke_accelerator_label != box.attached_accelerator:
        found = box.attached_accelerator or "no accelerator"
        message = f"The plan attaches {found} to {box.machine_type}, and was sized with {machine.gke_accelerator_label}"
        yield Violation(at, f"set it to {machine.gke_accelerator_label}", message)


@catalog_rule("V-240", Level.ERROR, RDMA_MACHINES, on=GCP)
def rdma_machines_have_every_interface(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """A box with RDMA interfaces has all interfaces of its machine type, in a network with the RDMA profile of its zone."""
    box = plan.box
    layout = catalog.layout_by_machine.get(box.machine) if box else None
    if box is None or layout is None or not layout.rdma_subnets:
        return
    ip, fabric = (sum(nic.kind == kind for nic in box.nics or (NicPlan(0, 0, "ip"),)) for kind in ("ip", "fabric"))
    if (ip, fabric) != (1 + layout.gvnic_networks, layout.rdma_subnets):
        message = (
            f"The box has {ip} gVNIC and {fabric} RDMA interfaces; {box.machine} has {1 + layout.gvnic_networks} and {layout.rdma_subnets}"
        )
        yield Violation(BOX / "nics", f"set {1 + layout.gvnic_networks} of kind ip and {layout.rdma_subnets} of kind fabric", message)
    wanted = f"{box.zone}-{layout.network_profile}"
    for index, network in enumerate(plan.network.accelerator_networks):
        if network.profile and network.profile != wanted:
            message = f"Network {network.name} has profile {network.profile}; a profile is zonal, and the box is in {box.zone}"
            yield Violation(At() / "network" / "accelerator_networks" / index / "profile", f"set it to {wanted}", message)


@catalog_rule("V-241", Level.ERROR, "https://docs.cloud.google.com/compute/docs/disks/hyperdisks#machine-type-support", on=GCP)
def disks_fit_the_machine(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """Compute Engine attaches a kind of disk to the machine families that support it; newer families take Hyperdisk only."""
    box = plan.box
    machine = catalog.machine_by_name.get(box.machine) if box else None
    if box is None or machine is None:
        return
    for key, disk in (("root", box.root), ("data", box.data)):
        if disk and disk.kind != machine.boot_disk:
            message = f"The {key} disk is {disk.kind}, and the catalog has {machine.boot_disk} for {box.machine}"
            yield Violation(BOX / key / "kind", f"set it to {machine.boot_disk}", message)


@rule("V-242", Level.ERROR, METADATA, on=GCP)
def startup_script_fits(plan: StackPlan) -> Iterator[Violation]:
    """A value of Compute Engine's metadata has at most 256 KiB, and a startup script starts with #!."""
    script = plan.box.setup_script if plan.box else ""
    size, at = len(script.encode()), BOX / "setup_script"
    if size > METADATA_VALUE_BYTES:
        message = f"The setup script has {size:,} bytes; the limit of a metadata value is {METADATA_VALUE_BYTES:,} bytes"
        yield Violation(at, "download the rest from a bucket", message)
    if script and not script.startswith("#!"):
        message = f"The setup script starts with {script.splitlines()[0][:20]!r} instead of #!, so the machine does not run it"
        yield Violation(at, "start it with #!/bin/bash", message)


@catalog_rule("V-243", Level.ERROR, "https://docs.cloud.google.com/compute/docs/disks/local-ssd#choose_number_local_ssds", on=GCP)
def local_ssds_can_be_chosen(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """Local SSDs are added to machine types that let the user choose, in the numbers of the type; others have theirs."""
    box = plan.box
    machine = catalog.machine_by_name.get(box.machine) if box else None
    if box is None or machine is None or not box.local_ssd_count or box.local_ssd_count in machine.local_nvme_choices:
        return
    at, added = BOX / "local_ssd_count", box.local_ssd_count
    if machine.local_nvme_count:
        yield Violation(at, "set it to 0", f"{box.machine} has {machine.local_nvme_count} local SSDs; the plan adds {added}")
    else:
        choices = ", ".join(map(str, machine.local_nvme_choices))
        fix = f"set it to {min(machine.local_nvme_choices, key=lambda n: abs(n - added))}" if choices else "set it to 0"
        yield Violation(at, fix, f"{box.machine} takes {choices or 'no'} local SSDs; the plan adds {added}")


# A budget belongs to the billing account, which the spec does not have. Nothing sends a reminder at a date.
@context_rule("R-116", Level.WARNING, BUDGETS, on=GCP)
def box_has_a_budget(context: StackContext) -> Iterator[Violation]:
    """The cost goal of a box is watched by a budget, which this release does not create on Google Cloud."""
    spec, guard = context.spec, context.plan.guard
    if context.plan.box and spec and guard and spec.goals.max_cost is not None and guard.budget_usd_per_month is None:
        stack = dict(context.plan.tags).get("rackwright-stack", context.plan.name)
        message = f"The cost goal of {spec.goals.max_cost:g} USD has no budget: this release creates none for a box on Google Cloud"
        fix = f"create one in the billing account, for the label rackwright-stack={stack}, and acknowledge R-116"
        yield Violation(At() / "guard" / "budget_usd_per_month", fix, message)


@rule("R-117", Level.WARNING, "https://docs.cloud.google.com/monitoring/alerts", on=GCP)
def idle_alert_has_recipients(plan: StackPlan) -> Iterator[Violation]:
    """The alert on a box that is idle and has not stopped itself has at least one recipient."""
    if plan.box and plan.box.idle_stop_minutes and plan.guard and supports(plan.place.cloud, "project.alerts") and not plan.guard.emails:
        message = "The alert on an idle machine has no recipient"
        yield Violation(At() / "guard" / "emails", "set `blueprint.notify` to an email address", message)
