"""Stacks that stand on others: layers, clusters, networks, roles and keys that exist already. AWS."""

import re
from collections.abc import Iterator

from rackwright.clouds import AWS, supports
from rackwright.clouds.aws import MANAGED_POLICY_ACCOUNT
from rackwright.compile.network.addresses import MACHINES
from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import LAYERS, StackPlan, layers_below, used_layers
from rackwright.validation.stack.registry import rule

ARN = re.compile(r"arn:aws[a-z-]*:(?P<service>[a-z0-9]+):(?P<region>[a-z0-9-]*):(?P<account>[0-9]*|aws):(?P<kind>[a-z-]+)/\S+")
SUBNETS = At() / "network" / "subnets"


@rule("R-20", Level.ERROR, "https://www.pulumi.com/docs/iac/concepts/stacks/")
def layers_stand_on_something(plan: StackPlan) -> Iterator[Violation]:
    """A stack builds layers that follow one another, and names the stack that has those below them."""
    at, used = At() / "layers", used_layers(plan)
    own = tuple(layer for layer in used if layer in plan.layers)
    if not supports(plan.place.cloud, "layers"):
        if plan.layers != LAYERS or plan.below:
            yield Violation(at, "leave rackwright:layers and rackwright:below out: only stacks on AWS are split")
    elif not own:
        yield Violation(at, f"a {plan.kind} has {', '.join(used)}", detail=f"there is {', '.join(plan.layers) or 'none'}")
    else:
        whole = used[used.index(own[0]) : used.index(own[-1]) + 1]
        gaps = [layer for layer in whole if layer not in own]
        if gaps and not (plan.cluster and plan.cluster.existing and gaps == ["operators"]):
            yield Violation(at, f"rackwright:layers: {','.join(whole)}", detail=f"{', '.join(gaps)} is left out between")
        yield from _stands(plan, own[0])


def _stands(plan: StackPlan, lowest: str) -> Iterator[Violation]:
    lower = layers_below(plan)
    if lower and not plan.below:
        yield Violation(At() / "below", f"rackwright:below: the stack with {', '.join(lower)}", detail=f"{lowest} stands on {lower[-1]}")
    if plan.below and not lower:
        yield Violation(At() / "below", "leave rackwright:below out", detail="nothing is below base")


@rule("R-21", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html")
def guests_live_in_the_clusters_network(plan: StackPlan) -> Iterator[Violation]:
    """Nodes join a cluster only from the network the cluster is in."""
    if plan.cluster and plan.cluster.existing and not plan.network.existing_id:
        fix = "name the cluster's own in infra network.existing: {vpc: vpc-..., subnets: [subnet-...]}"
        yield Violation(At() / "network" / "existing_id", fix, detail="the cluster exists, and the network would be new")


@rule("R-22", Level.WARNING, "https://docs.aws.amazon.com/eks/latest/userguide/eks-add-ons.html")
def guests_expect_operators(plan: StackPlan) -> Iterator[Violation]:
    """A cluster that exists keeps its own operators and add-ons, and nothing here installs or checks them."""
    if plan.cluster and plan.cluster.existing and "operators" not in plan.layers:
        addons = ["eks-pod-identity-agent", "a pod network"] + (["aws-fsx-csi-driver"] if plan.lustre else [])
        expected = ", ".join([*addons, *(f"{release.name} {release.version}" for release in plan.releases)])
        yield Violation(At() / "cluster" / "existing", "see that they are there, then acknowledge R-22", detail=f"expected are {expected}")


@rule("R-23", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html")
def existing_subnets_hold_the_machines(plan: StackPlan) -> Iterator[Violation]:
    """Machines live in private subnets in their own zone."""
    if not plan.network.existing_id or not plan.network.subnets:
        return
    private = [subnet for subnet in plan.network.subnets if subnet.purpose in MACHINES]
    if not private:
        yield Violation(
            SUBNETS, "describe a private one: {id: subnet-..., use: all}", detail="the existing network has none that is for machines"
        )
        return
    there, zones = {subnet.zone for subnet in private}, {plan.place.zone, *(zone for pool in plan.pools for zone in pool.zones)}
    wanted = {plan.place.zone} if not plan.pools else {z for pool in plan.pools if pool.role == "accelerator" for z in pool.zones} & zones
    for zone in sorted(wanted - there) if "" not in there else ():
        fix = f"describe one in {zone}, or have the machines in {' or '.join(sorted(there))}: infra zones: [{sorted(there)[0]}]"
        yield Violation(SUBNETS, fix, detail=f"no subnet for machines is in {zone}")


@rule("R-25", Level.WARNING, "https://www.pulumi.com/registry/packages/aws/installation-configuration/", Stage.BUILD, on=AWS)
def the_account_is_named(plan: StackPlan) -> Iterator[Violation]:
    """Without an account the stack is built in whichever the credentials of the day belong to."""
    if not plan.place.account:
        yield Violation(At() / "place" / "account", 'infra account: "123456789012" with your own; the provider then refuses every other')


@rule("R-26", Level.ERROR, "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html")
def what_exists_is_of_this_place(plan: StackPlan) -> Iterator[Violation]:
    """A role, boundary or key that exists is named by its ARN, and belongs to the account and region of the stack."""
    cluster, account, region = plan.cluster, plan.place.account, plan.place.region
    arns = [
        (At() / "place" / "role_arn", plan.place.role_arn, "role"),
        (At() / "place" / "boundary_arn", plan.place.boundary_arn, "policy"),
        (At() / "key" / "existing_arn", plan.key.existing_arn, "key"),
        (At() / "cluster" / "control_role_arn", cluster.control_role_arn if cluster else "", "role"),
        (At() / "cluster" / "node_role_arn", cluster.node_role_arn if cluster else "", "role"),
        *(
            (At() / "identities" / i / "existing_arn", want.existing_arn if cluster else "", "role")
            for i, want in enumerate(plan.identities)
        ),
    ]
    for at, arn, kind in arns:
        if isinstance(arn, str) and arn:
            yield from _belongs(at, arn, kind, account, region)


def _belongs(at: At, arn: str, kind: str, account: str, region: str) -> Iterator[Violation]:
    service, place = ("kms", region) if kind == "key" else ("iam", "")
    known, right = ARN.fullmatch(arn), f"arn:aws:{service}:{place}:{account or '123456789012'}:{kind}/..."
    if known is None or (known["service"], known["kind"]) != (service, kind):
        yield Violation(at, f"write {right}", detail=f"{arn} is the ARN of no {kind}")
    elif account and known["account"] not in (account, MANAGED_POLICY_ACCOUNT):
        yield Violation(at, f"name one of {account}, or set infra account to {known['account']}", detail=f"{arn} is of another account")
    elif kind == "key" and known["region"] != region:
        yield Violation(at, f"name one of {region}; a key serves its own region alone", detail=f"{arn} is in {known['region']}")


@rule("R-27", Level.ERROR, "https://karpenter.sh/docs/reference/settings/")
def karpenter_of_a_guest_is_not_ours(plan: StackPlan) -> Iterator[Violation]:
    """The Karpenter of a cluster that exists has a role and a queue of its own, which this stack does not know."""
    if plan.cluster and plan.cluster.existing and plan.karpenter:
        yield Violation(At() / "karpenter", "blueprint.nodes: {provisioner: managed}")


@rule("R-28", Level.WARNING, "https://docs.aws.amazon.com/kms/latest/developerguide/key-policy-services.html")
def a_key_of_ones_own_lets_services_in(plan: StackPlan) -> Iterator[Violation]:
    """The policy of a key that exists is its owner's, and what is encrypted fails where it does not let the services use it."""
    need = [words for service, words in KEY_USERS.items() if service in plan.key.serves and plan.key.existing_arn]
    if need:
        fix = "see that its policy allows them, as the one AwsKey writes does, then acknowledge R-28"
        yield Violation(At() / "key" / "existing_arn", fix, detail=f"it must allow {'; '.join(need)}")


KEY_USERS = {
    "cluster": "whoever builds the stack to CreateGrant for EKS",
    "logs": "logs.REGION.amazonaws.com to use it for the account's log groups",
    "filesystem": "AWSServiceRoleForFSxS3Access_* to use it",
    "alarms": "budgets.amazonaws.com and cloudwatch.amazonaws.com to GenerateDataKey and Decrypt",
}
"""Service of a KeyPlan to what a key's policy must say for it; disks are V-42's."""
