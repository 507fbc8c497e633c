"""Kubernetes objects of a plan on any cloud: namespaces, Helm releases, manifests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import NotRequired, TypedDict, cast

import pulumi
from pulumi import Resource, ResourceOptions
from rackwright.stackplan import ManifestPlan, ReleasePlan

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.kubernetes.direct import direct_dependencies
from rackwright_pulumi.kubernetes.objects import HelmRelease, KubernetesObject, draining, namespace_body, namespace_of, without_await
from rackwright_pulumi.naming import child
from rackwright_pulumi.refs import RefValue, RefValues, resolve


class KubernetesLayerArgs(TypedDict):
    """namespaces: pairs (name, pod security level). refs: values of the Refs in releases and manifests.

    protect: protect objects that hold data. draining: queues drain, and releases have their values of a teardown; default: not protect.
    label_queues: label the namespaces with queues, because Kueue selects them by label; default: true.
    """

    namespaces: Part[Sequence[tuple[str, str]]]
    releases: Part[Sequence[ReleasePlan]]
    manifests: Part[Sequence[ManifestPlan]]
    refs: Mapping[str, RefValue]
    protect: bool
    draining: NotRequired[bool]
    label_queues: NotRequired[bool]


class KubernetesLayer(pulumi.ComponentResource):
    """Namespaces, Helm releases and objects. Each depends on the parts in its `after` and on its namespace.

    Objects of the operators layer are created with the releases that wait for them.

    Namespaces without a release are created after all releases and deleted before them, so that operators can remove the finalizers of
    objects in them (Kueue's workloads) and a destroy does not hang. For the same reason, `draining` queues stop and drain. These
    namespaces belong to teams and are protected, because their jobs are not in the state.

    Pass the cluster's provider in `opts`. An object with a webhook lists the webhook's release in `after`; a release is complete when all
    its pods are ready.
    Raises KeyError for an unknown name in `after`, graphlib.CycleError for a cycle, ValueError for two parts with one key.
    """

    def __init__(self, name: str, args: KubernetesLayerArgs, opts: ResourceOptions | None = None):
        check_args(KubernetesLayerArgs, args)
        super().__init__("rackwright:index:KubernetesLayer", name, None, opts)
        releases = part(tuple[ReleasePlan, ...], args["releases"])
        manifests = part(tuple[ManifestPlan, ...], args["manifests"])
        builder = _LayerBuilder(self, name, args["refs"], args["protect"], args.get("draining", not args["protect"]))
        if args.get("label_queues", True):
            builder.queued = frozenset(namespace_of(plan.body) for plan in manifests if plan.body["kind"] == "LocalQueue")
        spaces = dict(part(tuple[tuple[str, str], ...], args["namespaces"]))
        operators = {plan.namespace for plan in releases}
        plans = {plan.name if isinstance(plan, ReleasePlan) else plan.key: plan for plan in (*releases, *manifests)}
        if len(plans) < len(releases) + len(manifests):
            raise ValueError("two releases or manifests share a key")
        ordered = [plans[key] for key in TopologicalSorter({key: plan.after for key, plan in plans.items()}).static_order()]
        builder.namespaces({space: level for space, level in spaces.items() if space in operators})
        for plan in ordered:
            if isinstance(plan, ReleasePlan):
                builder.built[plan.name] = builder.release(plan)
            elif plan.layer == "operators":
                builder.built[plan.key] = builder.object(plan)
        builder.namespaces({space: level for space, level in spaces.items() if space not in operators}, are_of_teams=True)
        for plan in ordered:
            if isinstance(plan, ManifestPlan) and plan.layer != "operators":
                builder.built[plan.key] = builder.object(plan)
        self._objects = {plan.key: cast(KubernetesObject, builder.built[plan.key]) for plan in manifests}
        self.register_outputs({"releases": [plan.name for plan in releases], "objects": [plan.key for plan in manifests]})

    @property
    def objects(self) -> Mapping[str, KubernetesObject]:
        """Objects by key of their ManifestPlan. Not an output of the component, because the type differs by object."""
        return self._objects


@dataclass
class _LayerBuilder:
    """Builds the parts of a layer, and keeps them as dependencies of later parts."""

    layer: KubernetesLayer
    name: str
    refs: RefValues
    protect: bool
    draining: bool
    queued: frozenset[str] = frozenset()
    """Namespaces with queues that get a label."""
    built: dict[str, Resource] = field(default_factory=dict)
    before: dict[str, list[str]] = field(default_factory=dict)
    """Direct dependencies by key. The key of a namespace is `ns-<name>`."""

    def namespaces(self, levels: Mapping[str, str], are_of_teams: bool = False) -> None:
        """Create namespaces that depend on all parts so far. Those of teams are protected."""
        parts = list(self.built)
        for space, level in levels.items():
            key, protect = _space(space), (are_of_teams and self.protect) or None
            opts = ResourceOptions(parent=self.layer, depends_on=self._waits(key, parts), protect=protect)
            self.built[key] = KubernetesObject(
                child(self.name, key), namespace_body(space, level, are_of_teams, space in self.queued), opts
            )

    def release(self, plan: ReleasePlan) -> Resource:
        opts = ResourceOptions(parent=self.layer, depends_on=self._waits(plan.name, plan.after, plan.namespace))
        values = plan.values | (plan.teardown_values if self.draining else {})
        return HelmRelease(child(self.name, plan.name), plan, resolve(values, self.refs), opts)

    def object(self, plan: ManifestPlan) -> Resource:
        waits = self._waits(plan.key, plan.after, namespace_of(plan.body))
        opts = ResourceOptions(parent=self.layer, depends_on=waits, protect=(self.protect and plan.data) or None)
        body = resolve(plan.body, self.refs)
        return KubernetesObject(child(self.name, plan.key), without_await(draining(body) if self.draining else body), opts)

    def _waits(self, key: str, after: Sequence[str], namespace: str = "") -> list[Resource]:
        """Direct dependencies of a part: those of `after` and of its namespace, if the layer creates it."""
        space = _space(namespace)
        self.before[key] = direct_dependencies([*after, *([space] if space in self.built else [])], self.before)
        return [self.built[other] for other in self.before[key]]


def _space(namespace: str) -> str:
    """The key of a namespace, which no release or manifest has."""
    return f"ns-{namespace}"
