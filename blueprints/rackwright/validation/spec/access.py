"""R-100, S-115, V-135: access of people, logs of the cluster, and certificates of its load balancer."""

import re
from collections.abc import Iterator

from rackwright.clouds import profile
from rackwright.diagnostics.problem import At
from rackwright.diagnostics.rule import Violation
from rackwright.spec.base import quote
from rackwright.spec.blueprint import Blueprint
from rackwright.spec.workload import Serve
from rackwright.validation.spec.registry import SpecContext, rule


@rule("R-100", link="https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html")
def cluster_access_is_for_principals_of_its_cloud(context: SpecContext) -> Iterator[Violation]:
    """Administrators and viewers are principals of a cloud in the spec, and of a cluster that the stack creates."""
    blueprint, clouds = context.spec.blueprint, _clouds(context)
    prefixes = tuple(prefix for cloud in clouds for prefix in profile(cloud).principals)
    for key, names in (("admins", blueprint.admins), ("viewers", blueprint.viewers)):
        at = At() / "blueprint" / key
        if names and (found := _without_new_cluster(blueprint)):
            yield Violation(at, "leave it out", f"{found}, so `{key}` would have no effect")
        for index, name in enumerate(names):
            if not name.startswith(prefixes):
                fix = f"use a principal that starts with {' or '.join(prefixes)}" if prefixes else "leave it out"
                yield Violation(at / index, fix, f"{quote(name)} is not a principal of {' or '.join(clouds)}")
            for reason, fix in filter(None, (profile(cloud).principal_error(name) for cloud in clouds)):
                yield Violation(at / index, fix, f"{quote(name)} {reason}")


@rule("S-115")
def pod_logs_are_of_a_new_cluster(context: SpecContext) -> Iterator[Violation]:
    """`pod_logs` applies to a cluster that the stack creates."""
    if context.spec.blueprint.pod_logs != "none" and (found := _without_new_cluster(context.spec.blueprint)):
        yield Violation(At() / "blueprint" / "pod_logs", "leave it out", f"{found}, so `pod_logs` would have no effect")


def _without_new_cluster(blueprint: Blueprint) -> str:
    """Why the stack creates no cluster with any candidate; empty where it can."""
    if blueprint.kind == "box":
        return "A box has no cluster"
    return "" if blueprint.cluster == "new" else "The stack does not create its cluster"


@rule("V-135")
def certificates_suit_the_places(context: SpecContext) -> Iterator[Violation]:
    """Certificates are for the load balancer of a fleet, in an account or project of the spec, one per region."""
    clouds, serves, first = _clouds(context), any(context.each(Serve)), {}
    for index, text in enumerate(context.spec.blueprint.certificates):
        at = At() / "blueprint" / "certificates" / index
        if not serves:
            yield Violation(at, "leave it out", "Only a serving workload has a load balancer")
            continue
        suited = {cloud: found for cloud in clouds if (found := re.fullmatch(profile(cloud).certificate, text))}
        if not suited:
            forms = " or ".join(form for cloud in clouds if (form := profile(cloud).certificate_form))
            yield Violation(at, f"write {forms}" if forms else "leave it out", f"It is not a certificate of {' or '.join(clouds)}")
        for cloud, found in suited.items():
            field, owner, region = profile(cloud).owner_field, found["owner"], found["region"]
            known = {getattr(place, field) for _, place in context.places if place.cloud == cloud}
            if owner not in known and None not in known:
                message = f"The certificate is of {field} {owner}; the load balancer is in {' or '.join(sorted(known))}"
                yield Violation(at, f"use a certificate of {' or '.join(sorted(known))}", message)
            if first.setdefault((cloud, region), index) != index:
                yield Violation(at, "leave one of them out", f"`certificates[{first[cloud, region]}]` is for {region} too")


def _clouds(context: SpecContext) -> list[str]:
    return sorted({place.cloud for _, place in context.places})
