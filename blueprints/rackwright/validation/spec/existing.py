"""S-270 to S-276: existing networks, service accounts and keys of Google Cloud, and switches that it does not have."""

import re
from collections.abc import Iterator

from rackwright.clouds import GCP, profile
from rackwright.diagnostics.problem import At
from rackwright.diagnostics.rule import Violation
from rackwright.spec.base import quote
from rackwright.spec.infra import ExistingSubnet, Place
from rackwright.stackplan.addresses import MACHINE_PURPOSES
from rackwright.validation.spec.places import modes
from rackwright.validation.spec.registry import SpecContext, rule

SHARED_VPC = "https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-shared-vpc"
PROXY_ONLY = "https://cloud.google.com/load-balancing/docs/proxy-only-subnets"
ACCOUNTS = "https://cloud.google.com/iam/docs/service-accounts-create"
CALENDAR = "https://cloud.google.com/ai-hypercomputer/docs/request-capacity"
AUDIT = "https://cloud.google.com/kubernetes-engine/docs/how-to/audit-logging"
BOX, FLEET = "box", "inference-fleet"
ALWAYS_ON = {
    "audit_logs": "GKE always logs administrative requests",
    "private_endpoints": "subnets always reach Google's services privately",
}
"""Switches of `safety` that Google Cloud does not have -> what holds instead."""


def subnets(context: SpecContext) -> Iterator[tuple[At, Place, ExistingSubnet]]:
    """Every existing subnet with its path and place; one that is given by its ID alone has the defaults of a described one."""
    for at, place in context.places:
        network = place.network.existing
        for i, entry in enumerate(network.subnets if network else ()):
            where = at / "network" / "existing" / "subnets" / i
            yield where, place, entry if isinstance(entry, ExistingSubnet) else ExistingSubnet(id=entry)


@rule("S-270", link=SHARED_VPC, on=GCP)
def network_has_google_ids(context: SpecContext) -> Iterator[Violation]:
    """An existing network is given by its name or path, and each subnet once by its path, in a region of the place and in the project of
    the network."""
    for at, place in context.places:
        network, cloud, seen = place.network.existing, profile(place.cloud), set[str]()
        if network is None:
            continue
        named = re.fullmatch(cloud.network_id, network.vpc) if isinstance(network.vpc, str) else None
        where = at / "network" / "existing"
        if isinstance(network.vpc, str) and not named:
            yield Violation(
                where / "vpc", f"write {cloud.network_form}; `gcloud compute networks list` lists them", _not(network.vpc, "network")
            )
        host = (named["owner"] if named else None) or place.project
        for subnet_at, other, entry in subnets(context):
            if other is place and isinstance(entry.id, str):
                yield from _subnet(subnet_at, place, entry.id, host, seen)


def _subnet(at: At, place: Place, subnet_id: str, host: str | None, seen: set[str]) -> Iterator[Violation]:
    """host: project of the network; None where it is not known."""
    found, region = re.fullmatch(profile(place.cloud).subnet_id, subnet_id), place.regions[0] if place.regions else "REGION"
    name = re.sub("[^-a-z0-9]", "-", subnet_id.rpartition("/")[2].lower())
    near = f"projects/{host or 'PROJECT'}/regions/{region}/subnetworks/{name}"
    if not found:
        yield Violation(at, f"such as {near}; `gcloud compute networks subnets list` lists them", _not(subnet_id, "subnet"))
    elif place.regions and found["region"] not in place.regions:
        message = f"Subnet {subnet_id} is in {found['region']}; this place has {', '.join(place.regions)}"
        yield Violation(at, f"use a subnet such as {near}", message)
    elif host and found["owner"] != host:
        message = f"Subnet {subnet_id} is in project {found['owner']}, its network in {host}"
        yield Violation(at, f"use a subnet of the network, such as {near}", message)
    elif subnet_id in seen:
        yield Violation(at, "remove one", f"{quote(subnet_id)} is listed twice")
    seen.add(subnet_id)


def _not(text: str, what: str) -> str:
    return f"{quote(text)} is not the path of a {what}"


@rule("S-271", link=ACCOUNTS, of_candidate=True)
def identities_have_the_form_of_the_cloud(context: SpecContext) -> Iterator[Violation]:
    """Google Cloud has service accounts and no roles of clusters or permissions boundaries; AWS has roles with ARNs."""
    for at, place in context.places:
        cloud, roles = profile(place.cloud), place.roles
        has_accounts = bool(cloud.service_account)
        lacking = {"permissions_boundary": place.permissions_boundary, "roles/cluster": roles.cluster if roles else None}
        for key, value in lacking.items() if has_accounts else ():
            if value is not None:
                fix = "remove it; organization policies and the roles of the deployer limit what a stack can grant"
                message = f"{cloud.name} has no {key.replace('/', '.')}"
                yield Violation(at / "permissions_boundary" if "/" not in key else at / "roles" / "cluster", fix, message, about_key=True)
        given = [(at / "role", place.role), *((at / "roles" / k, getattr(roles, k, None)) for k in ("nodes", "workload"))]
        form = f"name@{place.project or 'PROJECT'}.iam.gserviceaccount.com"
        for where, value in given:
            if has_accounts and isinstance(value, str) and not re.fullmatch(cloud.service_account, value):
                message = f"{quote(value)} is not the email address of a service account, whose name has 6 to 30 characters"
                yield Violation(where, f"write {form}; `gcloud iam service-accounts list` lists them", message)
        if cloud.key_id and isinstance(place.key, str):
            yield from _key(at / "key", place, place.key)
        if place.role and place.role.endswith(".gserviceaccount.com") and not has_accounts:
            yield Violation(at / "role", "write the ARN of a role", f"{place.role} is a service account, and this place is on {cloud.name}")


def _key(at: At, place: Place, key: str) -> Iterator[Violation]:
    """GKE and disks use keys of their own region (https://cloud.google.com/kms/docs/cmek)."""
    cloud = profile(place.cloud)
    found, link = re.fullmatch(cloud.key_id, key), cloud.links["keys"]
    if not found:
        yield Violation(at, f"write {cloud.key_form}", f"{quote(key)} is not the path of a key", link=link)
    elif place.regions and found["region"] not in place.regions:
        message = f"The key is in {found['region']}; this place has {', '.join(place.regions)}"
        yield Violation(at, f"use a key in {place.regions[0]}", message, link=link)


@rule("S-272", link=SHARED_VPC)
def subnets_have_their_ranges(context: SpecContext) -> Iterator[Violation]:
    """Subnets of nodes on Google Cloud name both secondary ranges or none, and both in a Shared VPC, where GKE adds none. Subnets of other
    clouds have no such ranges."""
    for at, place, entry in subnets(context):
        cloud = profile(place.cloud)
        ranges = [key for key in ("pods", "services") if getattr(entry, key) is not None]
        if not cloud.has_regional_subnets:
            own = [*ranges, *(["use"] if entry.use == "proxy" else [])]
            yield from (
                Violation(at / key, "remove it", f"Subnets on {cloud.name} have no {'proxies' if key == 'use' else key}") for key in own
            )
            continue
        if entry.use in ("control", "public"):
            yield Violation(
                at / "use", "write nodes, or remove the subnet", f"A stack on {cloud.name} uses no subnet of purpose {entry.use}"
            )
        if context.kinds == {BOX}:
            continue
        shared = _host_project(place) is not None
        missing = {"pods", "services"} - {*ranges}
        if entry.use in MACHINE_PURPOSES and (missing and (ranges or shared)):
            why = "GKE adds no range to a subnet of another project" if shared else f"it has {' and '.join(ranges)} alone"
            fix = (
                f"add {' and '.join(f'{key}: NAME' for key in sorted(missing))}; `gcloud compute networks subnets describe` shows the names"
            )
            yield Violation(at, fix, f"The subnet names no secondary range of {' and '.join(sorted(missing))}: {why}")


def _host_project(place: Place) -> str | None:
    """Project of an existing network that is not the project of the stack, as in a Shared VPC."""
    network = place.network.existing
    named = re.fullmatch(profile(place.cloud).network_id, network.vpc) if network and isinstance(network.vpc, str) else None
    return named["owner"] if named and named["owner"] != place.project else None


@rule("S-273", link=PROXY_ONLY, on=GCP, of_candidate=True)
def fleet_has_a_proxy_subnet(context: SpecContext) -> Iterator[Violation]:
    """The gateway of a fleet in an existing network needs the addresses of the region's proxy-only subnet, from which it sends requests."""
    for at, place in context.places if context.kinds == {FLEET} else ():
        proxies = [(where, entry) for where, other, entry in subnets(context) if other is place and entry.use == "proxy"]
        if place.network.existing and not proxies:
            fix = f"add {{id: {profile(place.cloud).subnet_form}, use: proxy, cidr: 10.129.0.0/23}} with its own range"
            message = "The gateway of a fleet needs a proxy-only subnet, and the existing network lists none"
            yield Violation(at / "network" / "existing" / "subnets", fix, message)
        for where, entry in proxies:
            if entry.cidr is None:
                message = "The proxy-only subnet has no `cidr`, so the servers would refuse the requests of the gateway"
                yield Violation(where, "add cidr: `gcloud compute networks subnets describe` shows it", message)


@rule("S-274", link=CALENDAR, on=GCP)
def calendar_names_its_reservation(context: SpecContext) -> Iterator[Violation]:
    """Capacity of calendar mode, and of an approved future reservation, is a reservation that the spec names."""
    for at, place in context.places:
        for where, mode in modes(at, place):
            if mode == "calendar":
                zone = place.zones[0] if place.zones else "ZONE"
                entry = f"{{reservation: {{id: NAME, instance: MACHINE, count: N, zone: {zone}}}}}"
                message = "`calendar` names no reservation; Google Cloud makes one for each approved request"
                yield Violation(where, f"write {entry}; `gcloud compute reservations list` shows it", message)


@rule("S-275", link=AUDIT, on=GCP)
def switches_have_an_effect(context: SpecContext) -> Iterator[Violation]:
    """Google Cloud always writes audit logs and reaches its services privately; neither can be switched off."""
    chosen = context.spec.blueprint.safety
    clouds = [place.cloud for _, place in context.places]
    for key, reason in ALWAYS_ON.items() if clouds else ():
        if not getattr(chosen, key):
            message = f"safety.{key} is false, and has no effect on {clouds[0]}: {reason}"
            yield Violation(At() / "blueprint" / "safety" / key, "remove it", message)


@rule("S-276", link=SHARED_VPC, on=GCP, of_candidate=True)
def box_has_its_own_account_and_firewall(context: SpecContext) -> Iterator[Violation]:
    """The stack of a box on Google Cloud creates its service account, and its firewall rule in the project of the stack."""
    for at, place in context.places if context.kinds == {BOX} else ():
        if place.roles:
            yield Violation(
                at / "roles", "remove it", "The stack creates the service account of a box, so `roles` has no effect", about_key=True
            )
        if host := _host_project(place):
            message = (
                f"The network is in project {host}, and the firewall rule of a box is made in {place.project or 'the project of the stack'}"
            )
            yield Violation(at / "network" / "existing" / "vpc", "use a network of the stack's project, or leave it out", message)
