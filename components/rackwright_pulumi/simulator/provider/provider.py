"""Simulated providers: pulumirpc.ResourceProvider over one store. ``server.py`` runs them as plugins of the engine."""

import hashlib
import os
import threading
from dataclasses import replace
from typing import Any

import grpc
from pulumi.runtime.proto import plugin_pb2, provider_pb2_grpc
from pulumi.runtime.proto import provider_pb2 as pb

from rackwright_pulumi.simulator.computed import Context, ResourceRequest
from rackwright_pulumi.simulator.computed.names import NAMES, physical_name
from rackwright_pulumi.simulator.lookups.invokes import invokes
from rackwright_pulumi.simulator.provider.operations import Cloud, CloudError, InitializationFailed
from rackwright_pulumi.simulator.provider.preview import preview_state
from rackwright_pulumi.simulator.provider.protobuf import EMPTY, abort, abort_initialization, to_dict, to_struct, urn_parts
from rackwright_pulumi.simulator.provider.values import decode_provider_inputs, unwrap_secrets
from rackwright_pulumi.simulator.schema import facts as catalog
from rackwright_pulumi.simulator.schema.check import check
from rackwright_pulumi.simulator.schema.difference import AUTONAMED, differences
from rackwright_pulumi.simulator.schema.provider_difference import location_changes, provider_differences
from rackwright_pulumi.simulator.store import Store

KINDS = {
    "add": (pb.PropertyDiff.ADD, pb.PropertyDiff.ADD_REPLACE),
    "update": (pb.PropertyDiff.UPDATE, pb.PropertyDiff.UPDATE_REPLACE),
    "delete": (pb.PropertyDiff.DELETE, pb.PropertyDiff.DELETE_REPLACE),
}


class SimulatedProvider(provider_pb2_grpc.ResourceProviderServicer):
    """One provider process. cloud: ``aws``, ``gcp`` or ``kubernetes``; store: the file shared by the three.

    permissive: unsupported types are accepted without checks, with an id and no outputs.
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
        abort(context, "simulated providers have no schema; use the schema of the SDK", grpc.StatusCode.UNIMPLEMENTED)

    def CheckConfig(self, request, context):
        return pb.CheckResponse(inputs=request.news)

    def DiffConfig(self, request, context):
        old, new = unwrap_secrets(to_dict(request.old_inputs or request.olds)), unwrap_secrets(to_dict(request.news))
        found = provider_differences(self.cloud, old, new)
        some = pb.DiffResponse.DIFF_SOME if found else pb.DiffResponse.DIFF_NONE
        return pb.DiffResponse(changes=some, diffs=[c.path for c in found.changes], replaces=found.replaces)

    def Configure(self, request, context):
        self.config = decode_provider_inputs(to_dict(request.args))
        return pb.ConfigureResponse(
            acceptSecrets=True, supportsPreview=True, acceptResources=True, acceptOutputs=False, supports_autonaming_configuration=True
        )

    def Cancel(self, request, context):
        self.cancelled.set()
        return EMPTY

    def Parameterize(self, request, context):
        abort(context, "simulated providers cannot be parameterized", grpc.StatusCode.UNIMPLEMENTED)

    def GetMapping(self, request, context):
        return pb.GetMappingResponse()

    def GetMappings(self, request, context):
        return pb.GetMappingsResponse()

    def Construct(self, request, context):
        abort(
            context,
            f"{request.type} is a component of the {self.cloud} provider, and components are not simulated",
            grpc.StatusCode.UNIMPLEMENTED,
        )

    # ---- resources

    def Check(self, request, context):
        token, _ = urn_parts(request.urn)
        inputs = to_dict(request.news)
        if not (self._is_covered(token) or self.permissive or self.store.setting("permissive")):
            reason = f"{token} is not a resource type of the simulated {self.cloud}; set permissive to accept it without checks"
            return pb.CheckResponse(inputs=request.news, failures=[pb.CheckFailure(property="", reason=reason)])
        self._fill_name(request, token, inputs)
        failures = check(token, inputs) if self._is_covered(token) else []
        return pb.CheckResponse(
            inputs=to_struct(inputs), failures=[pb.CheckFailure(property=f.property, reason=f.reason) for f in failures]
        )

    def _is_covered(self, token: str) -> bool:
        return catalog.find(token) is not None or catalog.custom(token)

    def _fill_name(self, request, token: str, inputs: dict[str, Any]) -> None:
        """Fill in the name if the program sets none, and keep the name of the first creation."""
        olds = to_dict(request.olds)
        if token.startswith("kubernetes:"):
            _fill_object_name(request, token, inputs, olds)
            return
        rule = NAMES.get(token)
        if rule is None or not rule.property or inputs.get(rule.property) is not None:
            return
        if inputs.get(f"{rule.property}Prefix") is not None:  # the provider then generates the name at creation, not in Check
            return
        if rule.property in olds.get("__defaults", ()):
            inputs[rule.property] = olds[rule.property]
        else:
            name = urn_parts(request.urn)[1]
            resource = ResourceRequest(token, name, request.urn, {}, Context())
            inputs[rule.property] = _proposed_name(request, rule.limit) or physical_name(resource, _suffix(request, 7))
        inputs["__defaults"] = [rule.property]

    def Diff(self, request, context):
        token, _ = urn_parts(request.urn)
        found = differences(token, to_dict(request.old_inputs), to_dict(request.news), list(request.ignoreChanges))
        moved = location_changes(token, to_dict(request.olds), to_dict(request.news), self._cloud().context)
        found = replace(found, changes=(*found.changes, *moved))
        return pb.DiffResponse(
            changes=pb.DiffResponse.DIFF_SOME if found else pb.DiffResponse.DIFF_NONE,
            diffs=sorted({c.property for c in found.changes}),
            replaces=list(found.replaces),
            deleteBeforeReplace=found.delete_before_replace,
            hasDetailedDiff=True,
            detailedDiff={c.path: pb.PropertyDiff(kind=KINDS[c.kind][c.replaces], inputDiff=True) for c in found.changes},
        )

    def Create(self, request, context):
        token, name = urn_parts(request.urn)
        inputs = to_dict(request.properties)
        if request.preview:
            return pb.CreateResponse(id="", properties=to_struct(preview_state(token, inputs)))
        try:
            resource_id, state = self._cloud().create(token, name, request.urn, inputs)
        except InitializationFailed as failure:
            abort_initialization(context, str(failure), failure.id, failure.state, inputs)
        except CloudError as error:
            abort(context, str(error))
        return pb.CreateResponse(id=resource_id, properties=to_struct(state))

    def Read(self, request, context):
        token, name = urn_parts(request.urn)
        try:
            record = self._cloud().read(token, name, request.id)
        except CloudError as error:
            abort(context, str(error))
        if record is None:
            return pb.ReadResponse()  # an empty id means that it does not exist
        return pb.ReadResponse(id=record.id, properties=to_struct(record.state), inputs=to_struct(record.inputs))

    def Update(self, request, context):
        token, name = urn_parts(request.urn)
        inputs = to_dict(request.news)
        if request.preview:
            return pb.UpdateResponse(properties=to_struct(preview_state(token, inputs, to_dict(request.olds))))
        try:
            state = self._cloud().update(token, name, request.urn, request.id, inputs)
        except InitializationFailed as failure:
            abort_initialization(context, str(failure), failure.id, failure.state, inputs)
        except CloudError as error:
            abort(context, str(error))
        return pb.UpdateResponse(properties=to_struct(state))

    def Delete(self, request, context):
        token, name = urn_parts(request.urn)
        try:
            self._cloud().delete(token, name, request.id)
        except CloudError as error:
            abort(context, str(error))
        return EMPTY

    def Invoke(self, request, context):
        function = invokes(self._cloud().context, self.store).get(request.tok)
        if function is None:
            abort(context, f"function {request.tok} is not supported by the simulated {self.cloud}", grpc.StatusCode.NOT_FOUND)
        try:
            values = {"return": to_struct(function(unwrap_secrets(to_dict(request.args))))}  # return is a keyword of Python
        except LookupError as error:
            abort(context, str(error), grpc.StatusCode.NOT_FOUND)
        return pb.InvokeResponse(**values)

    def _cloud(self) -> Cloud:
        base = Context(account=self.store.setting("account", Context.account), project=self.store.setting("project", Context.project))
        return Cloud(self.cloud, self.store, base.for_provider(self.config), self.config, self.cancelled)


def _fill_object_name(request, token: str, inputs: dict[str, Any], olds: dict[str, Any]) -> None:
    """Fill in metadata.name of an object, or name of a release. An annotation marks generated object names."""
    release = token.endswith(":Release")
    target = inputs if release else inputs.setdefault("metadata", {})
    if not isinstance(target, dict) or target.get("name") is not None or target.get("generateName") is not None:
        return
    before = olds if release else olds.get("metadata") or {}
    was_generated = "name" in olds.get("__defaults", ()) if release else (before.get("annotations") or {}).get(AUTONAMED) == "true"
    limit = 53 if release else 63
    generated = _proposed_name(request, limit) or f"{urn_parts(request.urn)[1].lower()[: limit - 9]}-{_suffix(request, 8)}"
    target["name"] = before["name"] if was_generated and before.get("name") else generated
    if release:
        inputs["__defaults"] = ["name"]
    elif isinstance(target.get("annotations", {}), dict):
        target["annotations"] = {**target.get("annotations", {}), AUTONAMED: "true"}


def _proposed_name(request, limit: int) -> str:
    return request.autonaming.proposed_name[:limit] if request.HasField("autonaming") else ""


def _suffix(request, length: int) -> str:
    """Digits from randomSeed, equal in retries; random without it, as with the real providers."""
    return hashlib.sha256(request.randomSeed or os.urandom(16)).hexdigest()[:length]
