"""Everything inside a cluster that the plan asks for, on any cloud: namespaces, operators, then objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi import Input, Resource, ResourceOptions
from rackwright.stackplan import ManifestPlan, ReleasePlan

from rackwright_pulumi.args import PartInput, part
from rackwright_pulumi.kubernetes.objects import KubernetesObject, draining, namespace_body, namespace_of, unawaited
from rackwright_pulumi.kubernetes.releases import helm_release
from rackwright_pulumi.naming import child
from rackwright_pulumi.refs import Known, resolve


class KubernetesLayerArgs(TypedDict):
    """namespaces: pairs (name, pod security level). refs: values of the Refs in releases and manifests.

    protect: keep what holds data. draining: queues let their jobs go; left out, where nothing is protected.
    """

    namespaces: PartInput
    releases: PartInput
    manifests: PartInput
    refs: Mapping[str, Input[Any]]
    protect: bool
    draining: NotRequired[bool]


class KubernetesLayer(pulumi.ComponentResource):
    """Namespaces, Helm releases and objects, each waiting for exactly what its `after` names and for its namespace.

    A namespace no release lives in comes after all of them, and so goes before them: what teams put there is let go by the operators that
    hold it (Kueue's workloads have a finalizer), and a destroy does not hang. With `draining` queues stop and drain, for the same reason.

    Pass the cluster's provider in `opts`. An object whose webhook is served by a release names that release in `after`: a release counts
    as done when all its pods are ready, so no object meets a webhook that does not answer yet. A namespace without a release is a team's:
    it is protected, since the jobs in it are nowhere in the state, and another team's name would end them.
    Raises KeyError on an unknown name in `after`, graphlib.CycleError on a circle, ValueError when two parts share a key.
    """

    def __init__(self, name: str, args: KubernetesLayerArgs, opts: ResourceOptions | None = None):
        super().__init__("rackwright:index:KubernetesLayer", name, None, opts)
        releases = part(tuple[ReleasePlan, ...], args["releases"])
        manifests = part(tuple[ManifestPlan, ...], args["manifests"])
        site = _Site(self, name, args["refs"], args["protect"], args.get("draining", not args["protect"]))
        spaces = dict(part(tuple[tuple[str, str], ...], args["namespaces"]))
        operators = {plan.namespace for plan in releases}
        ordered = _in_order([*releases, *manifests])
        site.namespaces({space: level for space, level in spaces.items() if space in operators})
        for plan in ordered:
            if isinstance(plan, ReleasePlan):
                site.made[plan.name] = site.release(plan)
        site.namespaces({space: level for space, level in spaces.items() if space not in operators}, keep=True)
        for plan in ordered:
            if isinstance(plan, ManifestPlan):
                site.made[plan.key] = site.object(plan)
        self._objects = {key: made for key, made in site.made.items() if isinstance(made, KubernetesObject)}
        self.register_outputs({"releases": [plan.name for plan in releases], "objects": [plan.key for plan in manifests]})

    @property
    def objects(self) -> Mapping[str, KubernetesObject]:
        """By key of the ManifestPlan. No output of the component: it has no one type to give another language."""
        return self._objects


@dataclass
class _Site:
    """What is already built, so that the next part can wait for it."""

    layer: KubernetesLayer
    name: str
    refs: Known
    protect: bool
    draining: bool
    spaces: dict[str, Resource] = field(default_factory=dict)
    made: dict[str, Resource] = field(default_factory=dict)

    def namespaces(self, levels: Mapping[str, str], keep: bool = False) -> None:
        """After every release there is so far. keep: they hold what is in no state."""
        for space, level in levels.items():
            protect = (keep and self.protect) or None
            opts = ResourceOptions(parent=self.layer, depends_on=list(self.made.values()), protect=protect)
            self.spaces[space] = KubernetesObject(child(self.name, "ns", space), namespace_body(space, level), opts)

    def release(self, plan: ReleasePlan) -> Resource:
        opts = ResourceOptions(parent=self.layer, depends_on=self._waits(plan.after, plan.namespace))
        return helm_release(child(self.name, plan.name), plan, resolve(plan.values, self.refs), opts)

    def object(self, plan: ManifestPlan) -> Resource:
        waits = self._waits(plan.after, namespace_of(plan.body))
        opts = ResourceOptions(parent=self.layer, depends_on=waits, protect=(self.protect and plan.data) or None)
        body = resolve(plan.body, self.refs)
        return KubernetesObject(child(self.name, plan.key), unawaited(draining(body) if self.draining else body), opts)

    def _waits(self, after: Sequence[str], namespace: str) -> list[Resource]:
        return [self.made[key] for key in after] + ([self.spaces[namespace]] if namespace in self.spaces else [])


def _key(plan: ReleasePlan | ManifestPlan) -> str:
    return plan.name if isinstance(plan, ReleasePlan) else plan.key


def _in_order(wants: Sequence[ReleasePlan | ManifestPlan]) -> list[ReleasePlan | ManifestPlan]:
    """Each after what it waits for."""
    by_key = {_key(plan): plan for plan in wants}
    if len(by_key) < len(wants):
        raise ValueError("two releases or manifests share a key")
    return [by_key[key] for key in TopologicalSorter({key: plan.after for key, plan in by_key.items()}).static_order()]
