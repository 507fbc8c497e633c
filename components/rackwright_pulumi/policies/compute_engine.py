"""Machines, firewalls and labels of Compute Engine: capacity modes, attached accelerators, open ports, and the charset of labels."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rackwright.diagnostics.problem import Level
from rackwright.diagnostics.rule import Violation

from rackwright_pulumi.policies.graph_view import GraphView
from rackwright_pulumi.policies.registry import rule, violation
from rackwright_pulumi.resource_graph import Node

GCE_INSTANCE = "gcp:compute/instance:Instance"
GCE_TEMPLATE = "gcp:compute/instanceTemplate:InstanceTemplate"
FIREWALL = "gcp:compute/firewall:Firewall"
HAS_GPUS = re.compile(r"^[^-]+-[a-z]+gpu-")
"""Machine types that have GPUs by their names; the series for inference are not recognised."""
FLEX_RUN_S = (600, 604_800)
"""https://docs.cloud.google.com/ai-hypercomputer/docs/create/create-mig"""
EVERYONE = ("0.0.0.0/0", "::/0")
LABEL_KEY, LABEL_VALUE = re.compile(r"[a-z][a-z0-9_-]{0,62}"), re.compile(r"[a-z0-9_-]{0,63}")
RESERVATIONS = "https://docs.cloud.google.com/compute/docs/instances/reservations-consume"


@rule("V-67", Level.ERROR, RESERVATIONS)
def specific_reservation_is_one(view: GraphView) -> Iterator[Violation]:
    """A machine with the affinity SPECIFIC_RESERVATION names exactly one reservation."""
    for node, inputs in _machines(view):
        affinity = inputs.get("reservationAffinity") or {}
        named = (affinity.get("specificReservation") or {}).get("values") or []
        if affinity.get("type") == "SPECIFIC_RESERVATION" and len(named) != 1:
            message = f"The affinity SPECIFIC_RESERVATION names {len(named)} reservations"
            yield violation(node, ("reservationAffinity", "specificReservation", "values"), message, "name one reservation")


@rule("V-71", Level.ERROR, RESERVATIONS)
def market_machines_use_no_reservation(view: GraphView) -> Iterator[Violation]:
    """Spot and flex-start machines use no reservation."""
    for node, inputs in _machines(view):
        model, kind = _model(inputs), (inputs.get("reservationAffinity") or {}).get("type")
        if model in ("SPOT", "FLEX_START") and kind not in ("NO_RESERVATION", None):
            message = f"A machine of provisioning model {model} has the reservation affinity {kind}"
            yield violation(node, ("reservationAffinity", "type"), message, "set it to NO_RESERVATION")


@rule("V-69", Level.ERROR, "https://docs.cloud.google.com/compute/docs/instances/about-flex-start-vms")
def flex_start_has_an_end(view: GraphView) -> Iterator[Violation]:
    """A flex-start machine has a maximum run time of 10 minutes to 7 days, and does not restart."""
    low, high = FLEX_RUN_S
    for node, inputs in _machines(view):
        scheduling = inputs.get("scheduling") or {}
        if _model(inputs) != "FLEX_START":
            continue
        run_s = (scheduling.get("maxRunDuration") or {}).get("seconds")
        if run_s is None or not low <= run_s <= high:
            found = "not set" if run_s is None else f"{run_s} s"
            message = f"The maximum run time is {found}; the range is {low} to {high} s"
            yield violation(node, ("scheduling", "maxRunDuration"), message, f"set it to {min(max(run_s or high, low), high)}")
        if scheduling.get("automaticRestart"):
            message = "automaticRestart is true on a flex-start machine"
            yield violation(node, ("scheduling", "automaticRestart"), message, "set it to false")


@rule("V-79", Level.ERROR, "https://docs.cloud.google.com/compute/docs/gpus#host-maintenance")
def accelerator_machines_terminate(view: GraphView) -> Iterator[Violation]:
    """Machines with GPUs are terminated at host maintenance, and machine types that have GPUs take no attached ones."""
    for node, inputs in _machines(view):
        name, attached = str(inputs.get("machineType", "")).rpartition("/")[2], inputs.get("guestAccelerators") or []
        maintenance, has_own = (inputs.get("scheduling") or {}).get("onHostMaintenance"), bool(HAS_GPUS.match(name))
        if (attached or has_own) and maintenance != "TERMINATE":
            message = f"{name} has GPUs, and onHostMaintenance is {maintenance or 'not set'}"
            yield violation(node, ("scheduling", "onHostMaintenance"), message, "set it to TERMINATE")
        if attached and has_own:
            message = f"{attached[0].get('type')} is attached to {name}, which has its own GPUs"
            yield violation(node, ("guestAccelerators",), message, "remove it, or use a general-purpose machine type")


@rule("V-80", Level.ERROR, "https://docs.cloud.google.com/firewall/docs/firewalls")
def ssh_is_not_open_to_everyone(view: GraphView) -> Iterator[Violation]:
    """No firewall rule opens SSH to every address of a network with a machine that has a public one."""
    public = {
        reference
        for _, inputs in _machines(view)
        for nic in inputs.get("networkInterfaces") or ()
        if nic.get("accessConfigs")
        for reference in (nic.get("network"), nic.get("subnetwork"))
    }
    for node in view.of(FIREWALL) if public else ():
        inputs = view.inputs(node)
        ports = {port for allow in inputs.get("allows") or () for port in allow.get("ports") or ("22",)}
        if inputs.get("direction", "INGRESS") == "INGRESS" and "22" in ports and {*EVERYONE} & {*(inputs.get("sourceRanges") or ())}:
            message = "SSH is open to every address, and a machine has a public one"
            yield violation(node, ("sourceRanges",), message, "use 35.235.240.0/20 (Identity-Aware Proxy), or remove the public address")


@rule("V-12", Level.ERROR, "https://docs.cloud.google.com/compute/docs/labeling-resources#requirements")
def labels_are_valid(view: GraphView) -> Iterator[Violation]:
    """Labels of machines and disks have lower-case keys and values of at most 63 characters, 64 at most."""
    for node in view.of(GCE_INSTANCE, GCE_TEMPLATE, "gcp:compute/disk:Disk"):
        labels = view.inputs(node).get("labels") or {}
        if len(labels) > 64:
            yield violation(node, ("labels",), f"There are {len(labels)} labels; the limit is 64", "keep 64")
        for key, value in labels.items():
            if not LABEL_KEY.fullmatch(key) or (isinstance(value, str) and not LABEL_VALUE.fullmatch(value)):
                message = f"Label {key}={value} has characters other than lower-case letters, digits, - and _, or more than 63"
                yield violation(node, ("labels", key), message, "shorten it, and replace the others with -")


def _machines(view: GraphView) -> Iterator[tuple[Node, Mapping[str, Any]]]:
    return ((node, view.inputs(node)) for node in view.of(GCE_INSTANCE, GCE_TEMPLATE))


def _model(inputs: Mapping[str, Any]) -> str:
    return str((inputs.get("scheduling") or {}).get("provisioningModel") or "STANDARD")
