"""Existing resources that a stack uses: layers of other stacks, clusters, networks, roles and keys. AWS."""

import re
from collections.abc import Iterator

from rackwright.clouds import AWS, EKS, profile, supports
from rackwright.clouds.aws import MANAGED_POLICY_ACCOUNT
from rackwright.clouds.base import GKE
from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import LAYERS, StackPlan, upstream_layers, used_layers
from rackwright.stackplan.addresses import MACHINE_PURPOSES
from rackwright.stackplan.refs import Existing
from rackwright.validation.stack.registry import StackContext, context_rule, rule

ARN = re.compile(r"arn:aws[a-z-]*:(?P<service>[a-z0-9]+):(?P<region>[a-z0-9-]*):(?P<account>[0-9]*|aws):(?P<kind>[a-z-]+)/\S+")
SUBNETS = At() / "network" / "subnets"
KEY_USERS = {
    "cluster": "the deploying role to CreateGrant for EKS",
    "logs": "logs.REGION.amazonaws.com to use it for the account's log groups",
    "filesystem": "AWSServiceRoleForFSxS3Access_* to use it",
    "alarms": "budgets.amazonaws.com and cloudwatch.amazonaws.com to GenerateDataKey and Decrypt",
}
"""Service of a KeyPlan -> what the key's policy must allow for it; V-42 covers disks."""
CLUSTER_NEEDS = {
    EKS: ["eks-pod-identity-agent", "a pod network"],
    GKE: ["Dataplane V2", "workload identity", "the GCS FUSE CSI driver", "the NCCL plugin of its GPU fabric"],
}
"""Parts of an existing cluster that rackwright does not install."""
KEY_AGENTS = {
    service: f"{agent} to use it (roles/cloudkms.cryptoKeyEncrypterDecrypter)"
    for service, agent in {
        "disks": "service-NUMBER@compute-system.iam.gserviceaccount.com",
        "cluster": "service-NUMBER@container-engine-robot.iam.gserviceaccount.com",
        "buckets": "service-NUMBER@gs-project-accounts.iam.gserviceaccount.com",
    }.items()
}
"""The same on Google Cloud, with the number of the stack's project (https://cloud.google.com/iam/docs/service-agents)."""


@rule("R-20", Level.ERROR, "https://www.pulumi.com/docs/iac/concepts/stacks/")
def layers_are_contiguous(plan: StackPlan) -> Iterator[Violation]:
    """A stack builds consecutive layers and names the upstream stack that has the layers below."""
    at, used = At() / "layers", used_layers(plan)
    own = tuple(layer for layer in used if layer in plan.layers)
    if not supports(plan.place.cloud, "layers"):
        if plan.layers != LAYERS or plan.below:
            message = "Stacks on this cloud cannot be split into layers"
            yield Violation(at, "remove rackwright:layers and rackwright:below", message)
    elif not own:
        message = f"No layer of a {plan.kind} is selected: rackwright:layers is {', '.join(plan.layers) or 'empty'}"
        yield Violation(at, f"select from {', '.join(used)}", message)
    else:
        whole = used[used.index(own[0]) : used.index(own[-1]) + 1]
        gaps = [layer for layer in whole if layer not in own]
        if gaps and not (plan.cluster and plan.cluster.existing and gaps == ["operators"]):
            message = f"The selected layers are not consecutive: {', '.join(gaps)} is missing between {own[0]} and {own[-1]}"
            yield Violation(at, f"set rackwright:layers to {','.join(whole)}", message)
        yield from _upstream(plan, own[0])


def _upstream(plan: StackPlan, lowest: str) -> Iterator[Violation]:
    lower = upstream_layers(plan)
    if lower and not plan.below:
        message = f"Layer {lowest} requires {', '.join(lower)}, and no upstream stack is set"
        yield Violation(At() / "below", f"set rackwright:below to the stack with {', '.join(lower)}", message)
    if plan.below and not lower:
        message = f"rackwright:below is {plan.below}, but layer {lowest} requires no other layer"
        yield Violation(At() / "below", "remove rackwright:below", message)


@rule("R-21", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html")
def existing_cluster_uses_its_network(plan: StackPlan) -> Iterator[Violation]:
    """Nodes join an existing cluster only from the network of that cluster."""
    if plan.cluster and plan.cluster.existing and not plan.network.existing_id:
        network = profile(plan.place.cloud).network_form or "vpc-..."
        subnet = profile(plan.place.cloud).subnet_form or "subnet-..."
        fix = f"set network.existing to the cluster's network: {{vpc: {network}, subnets: [{subnet}]}}"
        message = f"Cluster {plan.cluster.existing} exists, but the stack would create a new network"
        yield Violation(At() / "network" / "existing_id", fix, message)


@rule("R-22", Level.WARNING, "https://docs.aws.amazon.com/eks/latest/userguide/eks-add-ons.html")
def existing_cluster_has_operators(plan: StackPlan) -> Iterator[Violation]:
    """rackwright neither installs nor checks operators and add-ons of an existing cluster."""
    if plan.cluster and plan.cluster.existing and "operators" not in plan.layers:
        addons = CLUSTER_NEEDS[profile(plan.place.cloud).managed_kubernetes] + (["aws-fsx-csi-driver"] if plan.lustre else [])
        expected = ", ".join([*addons, *(f"{release.name} {release.chart_version}" for release in plan.releases)])
        queried = "".join(f"; Prometheus at {url}" for url in _queried_metrics(plan))
        message = f"Cluster {plan.cluster.existing} must already run {expected}{queried}"
        named = ", or set blueprint.cluster.prometheus to the service of its Prometheus" if queried else ""
        yield Violation(At() / "cluster" / "existing", f"check that they are installed, then acknowledge R-22{named}", message)


def _queried_metrics(plan: StackPlan) -> list[str]:
    """Address of the Prometheus that autoscalers of the stack query; one at most."""
    scaled = (manifest.body["spec"]["triggers"] for manifest in plan.manifests if manifest.body["kind"] == "ScaledObject")
    return sorted({trigger["metadata"]["serverAddress"] for triggers in scaled for trigger in triggers if trigger["type"] == "prometheus"})


@rule("R-23", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html")
def existing_network_has_node_subnets(plan: StackPlan) -> Iterator[Violation]:
    """An existing network has a private subnet in the zone of the machines."""
    if not plan.network.existing_id or not plan.network.subnets:
        return
    private = [subnet for subnet in plan.network.subnets if subnet.purpose in MACHINE_PURPOSES]
    if not private:
        message = f"The existing network {plan.network.existing_id} lists no private subnet for machines"
        yield Violation(SUBNETS, "add one: {id: subnet-..., use: all}", message)
        return
    zones = {subnet.zone for subnet in private}
    used = {zone for pool in plan.pools if pool.role == "accelerator" for zone in pool.zones} if plan.pools else {plan.place.zone}
    for zone in sorted(used - zones) if "" not in zones else ():
        fix = f"add a subnet in {zone}, or set zones: [{sorted(zones)[0]}] in infra"
        yield Violation(SUBNETS, fix, f"The machines are in {zone}, but the subnets for machines are in {', '.join(sorted(zones))}")


# EC2 rejects machines in another zone than their subnet, and builds nothing wrong, so that an update is not stopped.
@context_rule("V-140", Level.WARNING, "https://docs.aws.amazon.com/vpc/latest/userguide/configure-subnets.html", Stage.BUILD, on=AWS)
def existing_subnets_have_zones(context: StackContext) -> Iterator[Violation]:
    """If the spec or the capacity sets the zone of the machines, the existing subnets for machines have a zone in the spec."""
    plan, network = context.plan, context.plan.network
    if not network.existing_id or plan.box or context.spec is None or context.fit is None:  # a box requires its zone: C-zone
        return
    bought = [pool.capacity.zone for pool in plan.pools]
    named = context.spec.infra.places[context.fit.candidate.place].zones
    zone = next((each for each in (*bought, *named) if each), "")
    missing = [str(each) for each, known in subnet_zones(plan) if not known]
    if zone and missing:
        message = f"The machines are in {plan.place.zone}, and the spec has no zone of {', '.join(missing)}"
        lookup = f"`aws ec2 describe-subnets --subnet-ids {missing[0]}`"
        fix = f"write it as {{id: {missing[0]}, zone: {plan.place.zone}}}, if {lookup} shows that zone"
        yield Violation(SUBNETS, fix, message, blocks_update=False)


def subnet_zones(plan: StackPlan) -> list[tuple[Existing, str]]:
    """ID and zone of the existing subnets for machines; "" where the spec has no zone."""
    ids = plan.network.existing_subnet_ids
    if not plan.network.subnets:
        return [(each, "") for each in ids[:1]]  # machines use the first
    pairs = zip(ids, plan.network.subnets, strict=False)
    return [(each, subnet.zone) for each, subnet in pairs if subnet.purpose in MACHINE_PURPOSES]


# A warning that stops an update: the stack could be built in another account. It can be acknowledged.
@rule("R-25", Level.WARNING, "https://www.pulumi.com/registry/packages/aws/installation-configuration/", Stage.BUILD, on=AWS)
def account_is_set(plan: StackPlan) -> Iterator[Violation]:
    """The spec sets the AWS account, so that a stack cannot be built in another account by mistake."""
    if not plan.place.account:
        fix = 'set account: "123456789012" in infra; the provider then rejects other accounts'
        message = "No AWS account is set, so the stack is built in the account of the current credentials"
        yield Violation(At() / "place" / "account", fix, message)


@rule("R-26", Level.ERROR, "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html", on=AWS)
def existing_arns_match_the_stack(plan: StackPlan) -> Iterator[Violation]:
    """ARNs of existing roles, permissions boundaries and keys are valid and belong to the stack's account and region."""
    cluster, account, region = plan.cluster, plan.place.account, plan.place.region
    arns = [
        (At() / "place" / "role_arn", plan.place.role_arn, "role"),
        (At() / "place" / "boundary_arn", plan.place.boundary_arn, "policy"),
        (At() / "key" / "existing_arn", plan.key.existing_arn, "key"),
        (At() / "cluster" / "control_role_arn", cluster.control_role_arn if cluster else "", "role"),
        (At() / "cluster" / "node_role_arn", cluster.node_role_arn if cluster else "", "role"),
    ]
    if cluster:
        arns += [(At() / "identities" / i / "existing_arn", identity.existing_arn, "role") for i, identity in enumerate(plan.identities)]
    for at, arn, kind in ((at, arn, kind) for at, arn, kind in arns if isinstance(arn, str) and arn):
        service, place = ("kms", region) if kind == "key" else ("iam", "")
        match, form = ARN.fullmatch(arn), f"arn:aws:{service}:{place}:{account or '123456789012'}:{kind}/..."
        if match is None or (match["service"], match["kind"]) != (service, kind):
            yield Violation(at, f"write {form}", f"{arn} is not the ARN of a {kind}")
        elif account and match["account"] not in (account, MANAGED_POLICY_ACCOUNT):
            message = f"{arn} belongs to account {match['account']}, the stack to {account}"
            yield Violation(at, f"use a {kind} of {account}, or set account in infra to {match['account']}", message)
        elif kind == "key" and match["region"] != region:
            yield Violation(at, f"use a key in {region}", f"{arn} is in {match['region']}, the stack in {region}")


@rule("R-27", Level.ERROR, "https://karpenter.sh/docs/reference/settings/")
def existing_cluster_has_no_new_karpenter(plan: StackPlan) -> Iterator[Violation]:
    """A stack in an existing cluster uses managed node groups, because Karpenter there has a role and a queue that rackwright cannot
    read."""
    if plan.cluster and plan.cluster.existing and plan.karpenter:
        message = f"Karpenter cannot provision nodes for this stack in the existing cluster {plan.cluster.existing}"
        yield Violation(At() / "karpenter", "set blueprint.nodes to {provisioner: managed}", message)


@rule("R-28", Level.WARNING, "https://docs.aws.amazon.com/kms/latest/developerguide/key-policy-services.html")
def existing_key_allows_services(plan: StackPlan) -> Iterator[Violation]:
    """The policy of an existing key allows the services that encrypt with it; rackwright does not change that policy."""
    users = KEY_USERS if profile(plan.place.cloud).managed_kubernetes == EKS else KEY_AGENTS
    permissions = [text for service, text in users.items() if service in plan.key.serves and plan.key.existing_arn]
    if permissions:
        example = " (the one AwsKey writes is an example)" if users is KEY_USERS else ""
        fix = f"check the key's policy{example}, then acknowledge R-28"
        message = f"The policy of the existing key must allow {'; '.join(permissions)}"
        yield Violation(At() / "key" / "existing_arn", fix, message, link=profile(plan.place.cloud).links.get("keys", ""))
