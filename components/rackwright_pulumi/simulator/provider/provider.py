"""The simulated providers: pulumirpc.ResourceProvider over one store. ``server.py`` runs them as the plugins the engine launches."""

import hashlib
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import grpc
from pulumi.runtime.proto import plugin_pb2, provider_pb2_grpc
from pulumi.runtime.proto import provider_pb2 as pb

from rackwright_pulumi.simulator.clusters import api_server
from rackwright_pulumi.simulator.computed import Context, ResourceRequest
from rackwright_pulumi.simulator.lookups.invokes import invokes
from rackwright_pulumi.simulator.provider.operations import Cloud, HalfMade, Refused
from rackwright_pulumi.simulator.provider.preview import foreseen
from rackwright_pulumi.simulator.provider.protobuf import EMPTY, abort, abort_half_made, to_dict, to_struct, urn_parts
from rackwright_pulumi.simulator.provider.values import opened
from rackwright_pulumi.simulator.schema import facts as catalog
from rackwright_pulumi.simulator.schema.check import check
from rackwright_pulumi.simulator.schema.difference import AUTONAMED, Differences, InputChange, differences
from rackwright_pulumi.simulator.schema.names import NAMES, physical_name
from rackwright_pulumi.simulator.store import Store

KINDS = {
    "add": (pb.PropertyDiff.ADD, pb.PropertyDiff.ADD_REPLACE),
    "update": (pb.PropertyDiff.UPDATE, pb.PropertyDiff.UPDATE_REPLACE),
    "delete": (pb.PropertyDiff.DELETE, pb.PropertyDiff.DELETE_REPLACE),
}


class SimulatedProvider(provider_pb2_grpc.ResourceProviderServicer):
    """One provider process. cloud: ``aws``, ``gcp`` or ``kubernetes``; store: the file that the three share.

    permissive: types the simulator does not know are taken, without checks, with an id and no outputs.
    """

    def __init__(self, cloud: str, store: Store, permissive: bool = False):
        self.cloud, self.store = cloud, store
        self.permissive = permissive
        self.cancelled = threading.Event()
        self.config: dict[str, Any] = {}

    # ---- the provider itself

    def Handshake(self, request, context):
        return pb.ProviderHandshakeResponse(
            accept_secrets=True, accept_resources=True, accept_outputs=False, supports_autonaming_configuration=True
        )

    def Attach(self, request, context):
        return EMPTY

    def GetPluginInfo(self, request, context):
        return plugin_pb2.PluginInfo(version=catalog.sdk_version(self.cloud))

    def GetSchema(self, request, context):
        abort(context, "the simulated providers carry no schema; read it from the SDK", grpc.StatusCode.UNIMPLEMENTED)

    def CheckConfig(self, request, context):
        return pb.CheckResponse(inputs=request.news)

    def DiffConfig(self, request, context):
        old, new = opened(to_dict(request.old_inputs or request.olds)), opened(to_dict(request.news))
        changed = sorted(k for k in old.keys() | new.keys() if old.get(k) != new.get(k))
        replaces = [k for k in changed if k in _replacing_config(self.cloud, old, new)]
        some = pb.DiffResponse.DIFF_SOME if changed else pb.DiffResponse.DIFF_NONE
        return pb.DiffResponse(changes=some, diffs=changed, replaces=replaces)

    def Configure(self, request, context):
        self.config = opened(to_dict(request.args))
        return pb.ConfigureResponse(
            acceptSecrets=True, supportsPreview=True, acceptResources=True, acceptOutputs=False, supports_autonaming_configuration=True
        )

    def Cancel(self, request, context):
        self.cancelled.set()
        return EMPTY

    def Parameterize(self, request, context):
        abort(context, "the simulated providers take no parameters", grpc.StatusCode.UNIMPLEMENTED)

    def GetMapping(self, request, context):
        return pb.GetMappingResponse()

    def GetMappings(self, request, context):
        return pb.GetMappingsResponse()

    def Construct(self, request, context):
        abort(
            context,
            f"{request.type} is a component of the real {self.cloud} provider, which is not simulated",
            grpc.StatusCode.UNIMPLEMENTED,
        )

    # ---- resources

    def Check(self, request, context):
        token, _ = urn_parts(request.urn)
        inputs = to_dict(request.news)
        if not self._knows(token):
            reason = f"{token} is not a type the simulated {self.cloud} knows; set permissive to take it unchecked"
            return pb.CheckResponse(inputs=request.news, failures=[pb.CheckFailure(property="", reason=reason)])
        self._name(request, token, inputs)
        failures = check(token, inputs) if self._covered(token) else []
        return pb.CheckResponse(
            inputs=to_struct(inputs), failures=[pb.CheckFailure(property=f.property, reason=f.reason) for f in failures]
        )

    def _covered(self, token: str) -> bool:
        return catalog.find(token) is not None or catalog.custom(token)

    def _knows(self, token: str) -> bool:
        return self._covered(token) or self.permissive or bool(self.store.knob("permissive"))

    def _name(self, request, token: str, inputs: dict[str, Any]) -> None:
        """Fill in the name the program leaves to the provider, and keep the one of the first creation."""
        olds = to_dict(request.olds)
        if token.startswith("kubernetes:"):
            _name_object(request, token, inputs, olds)
            return
        rule = NAMES.get(token)
        if rule is None or not rule.property or inputs.get(rule.property) is not None or _given_prefix(rule.property, inputs):
            return
        if rule.property in olds.get("__defaults", ()):
            inputs[rule.property] = olds[rule.property]
        else:
            name = urn_parts(request.urn)[1]
            asked = ResourceRequest(token, name, request.urn, {}, Context())
            inputs[rule.property] = _proposed(request, rule.limit) or physical_name(asked, _suffix(request, 7))
        inputs["__defaults"] = [rule.property]

    def Diff(self, request, context):
        token, _ = urn_parts(request.urn)
        found = differences(token, to_dict(request.old_inputs), to_dict(request.news), list(request.ignoreChanges))
        follows = catalog.TRAITS[self.cloud]["moves_with_provider"]
        moved = _moved(token, to_dict(request.olds), to_dict(request.news), self._cloud().context) if follows else ()
        return _diff_response(replace(found, changes=(*found.changes, *moved)))

    def Create(self, request, context):
        token, name = urn_parts(request.urn)
        inputs = to_dict(request.properties)
        if request.preview:
            return pb.CreateResponse(id="", properties=to_struct(foreseen(token, inputs)))
        try:
            resource_id, state = self._cloud().create(token, name, request.urn, inputs)
        except HalfMade as half:
            abort_half_made(context, str(half), half.id, half.state, inputs)
        except Refused as refused:
            abort(context, str(refused))
        return pb.CreateResponse(id=resource_id, properties=to_struct(state))

    def Read(self, request, context):
        token, name = urn_parts(request.urn)
        try:
            record = self._cloud().read(token, name, request.id)
        except Refused as refused:
            abort(context, str(refused))
        if record is None:
            return pb.ReadResponse()  # an empty id says that it is gone
        return pb.ReadResponse(id=record.id, properties=to_struct(record.state), inputs=to_struct(record.inputs))

    def Update(self, request, context):
        token, name = urn_parts(request.urn)
        inputs = to_dict(request.news)
        if request.preview:
            return pb.UpdateResponse(properties=to_struct(foreseen(token, inputs, to_dict(request.olds))))
        try:
            state = self._cloud().update(token, name, request.urn, request.id, inputs)
        except HalfMade as half:
            abort_half_made(context, str(half), half.id, half.state, inputs)
        except Refused as refused:
            abort(context, str(refused))
        return pb.UpdateResponse(properties=to_struct(state))

    def Delete(self, request, context):
        token, name = urn_parts(request.urn)
        try:
            self._cloud().delete(token, name, request.id)
        except Refused as refused:
            abort(context, str(refused))
        return EMPTY

    def Invoke(self, request, context):
        answer = invokes(self._cloud().context, self.store).get(request.tok)
        if answer is None:
            abort(context, f"the simulated {self.cloud} does not answer {request.tok}", grpc.StatusCode.NOT_FOUND)
        try:
            values = {"return": to_struct(answer(opened(to_dict(request.args))))}  # a keyword of Python, hence no keyword argument
        except LookupError as error:
            abort(context, str(error), grpc.StatusCode.NOT_FOUND)
        return pb.InvokeResponse(**values)

    def _cloud(self) -> Cloud:
        base = Context(account=self.store.knob("account", Context.account), project=self.store.knob("project", Context.project))
        return Cloud(self.cloud, self.store, base.narrowed(self.config), self.config, self.cancelled)


def _replacing_config(cloud: str, old: dict[str, Any], new: dict[str, Any]) -> tuple[str, ...]:
    """Provider inputs whose change replaces the provider, and everything made through it. Google's replaces none: its resources move.

    Sources: pulumi-aws and pulumi-gcp provider/resources.go (ForcesProviderReplace); pulumi-kubernetes provider.go (DiffConfig).
    """
    if cloud == "kubernetes":
        same_server = api_server.server(old.get("kubeconfig")) == api_server.server(new.get("kubeconfig"))
        return ("clusterIdentifier",) if same_server or new.get("clusterIdentifier") else ("kubeconfig",)
    return tuple(catalog.TRAITS[cloud]["replaces_provider"])


def _moved(token: str, state: dict[str, Any], inputs: dict[str, Any], context: Context) -> Iterator[InputChange]:
    """Resources that leave project, region or zone to the provider are replaced when the provider changes them."""
    facts = catalog.find(token)
    fixed = facts.replace if facts else frozenset()
    for key in ("project", "region", "zone"):
        where = getattr(context, key)
        if key in fixed and inputs.get(key) is None and where and state.get(key) not in (None, where):
            yield InputChange(key, "update", True)


def _diff_response(found: Differences) -> pb.DiffResponse:
    return pb.DiffResponse(
        changes=pb.DiffResponse.DIFF_SOME if found else pb.DiffResponse.DIFF_NONE,
        diffs=sorted({c.property for c in found.changes}),
        replaces=list(found.replaces),
        deleteBeforeReplace=found.delete_before_replace,
        hasDetailedDiff=True,
        detailedDiff={c.path: _detail(c) for c in found.changes},
    )


def _detail(change: InputChange) -> pb.PropertyDiff:
    return pb.PropertyDiff(kind=KINDS[change.kind][change.replaces], inputDiff=True)


def _name_object(request, token: str, inputs: dict[str, Any], olds: dict[str, Any]) -> None:
    """Objects are named in their metadata, which says whether the name was made; releases at the top."""
    release = token.endswith(":Release")
    home = inputs if release else inputs.setdefault("metadata", {})
    if not isinstance(home, dict) or home.get("name") is not None or home.get("generateName") is not None:
        return
    before = olds if release else olds.get("metadata") or {}
    made = "name" in olds.get("__defaults", ()) if release else (before.get("annotations") or {}).get(AUTONAMED) == "true"
    limit = 53 if release else 63
    fresh = _proposed(request, limit) or f"{urn_parts(request.urn)[1].lower()[: limit - 9]}-{_suffix(request, 8)}"
    home["name"] = before["name"] if made and before.get("name") else fresh
    if release:
        inputs["__defaults"] = ["name"]
    elif isinstance(home.get("annotations", {}), dict):
        home["annotations"] = {**home.get("annotations", {}), AUTONAMED: "true"}


def _given_prefix(prop: str, inputs: dict[str, Any]) -> bool:
    """``namePrefix`` or ``bucketPrefix``: the provider then makes the name at creation, not in Check."""
    return inputs.get(f"{prop}Prefix") is not None


def _proposed(request, limit: int) -> str:
    return request.autonaming.proposed_name[:limit] if request.HasField("autonaming") else ""


def _suffix(request, length: int) -> str:
    """randomSeed makes retries agree; without it the name is new each time, as with the real providers."""
    return hashlib.sha256(request.randomSeed or os.urandom(16)).hexdigest()[:length]
