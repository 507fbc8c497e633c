"""Everything inside a cluster that the plan asks for, on any cloud: namespaces, operators, then objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi import Input, Resource, ResourceOptions
from rackwright.compile.wants import ManifestWant, ReleaseWant

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
        releases = part(tuple[ReleaseWant, ...], args["releases"])
        manifests = part(tuple[ManifestWant, ...], args["manifests"])
        site = _Site(self, name, args["refs"], args["protect"], args.get("draining", not args["protect"]))
        spaces = dict(part(tuple[tuple[str, str], ...], args["namespaces"]))
        operators = {want.namespace for want in releases}
        ordered = _in_order([*releases, *manifests])
        site.namespaces({space: level for space, level in spaces.items() if space in operators})
        for want in ordered:
            if isinstance(want, ReleaseWant):
                site.made[want.name] = site.release(want)
        site.namespaces({space: level for space, level in spaces.items() if space not in operators}, keep=True)
        for want in ordered:
            if isinstance(want, ManifestWant):
                site.made[want.key] = site.object(want)
        self._objects = {key: made for key, made in site.made.items() if isinstance(made, KubernetesObject)}
        self.register_outputs({"releases": [want.name for want in releases], "objects": [want.key for want in manifests]})

    @property
    def objects(self) -> Mapping[str, KubernetesObject]:
        """By key of the ManifestWant. No output of the component: it has no one type to give another language."""
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

    def release(self, want: ReleaseWant) -> Resource:
        opts = ResourceOptions(parent=self.layer, depends_on=self._waits(want.after, want.namespace))
        return helm_release(child(self.name, want.name), want, resolve(want.values, self.refs), opts)

    def object(self, want: ManifestWant) -> Resource:
        waits = self._waits(want.after, namespace_of(want.body))
        opts = ResourceOptions(parent=self.layer, depends_on=waits, protect=(self.protect and want.data) or None)
        body = resolve(want.body, self.refs)
        return KubernetesObject(child(self.name, want.key), unawaited(draining(body) if self.draining else body), opts)

    def _waits(self, after: Sequence[str], namespace: str) -> list[Resource]:
        return [self.made[key] for key in after] + ([self.spaces[namespace]] if namespace in self.spaces else [])


def _key(want: ReleaseWant | ManifestWant) -> str:
    return want.name if isinstance(want, ReleaseWant) else want.key


def _in_order(wants: Sequence[ReleaseWant | ManifestWant]) -> list[ReleaseWant | ManifestWant]:
    """Each after what it waits for."""
    by_key = {_key(want): want for want in wants}
    if len(by_key) < len(wants):
        raise ValueError("two releases or manifests share a key")
    return [by_key[key] for key in TopologicalSorter({key: want.after for key, want in by_key.items()}).static_order()]
