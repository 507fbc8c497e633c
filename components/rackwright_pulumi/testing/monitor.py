"""A resource monitor that records requests. The mocks API only has type, name and inputs; the request has the options too."""

import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from google.protobuf.message import Message
from pulumi.runtime import mocks, rpc, settings
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.sync_await import _ensure_event_loop, _sync_await

from rackwright_pulumi.resource_graph import STACK_TYPE, Node, Secret, from_wire, unwrap_secrets
from rackwright_pulumi.simulator.computed import Context, computed
from rackwright_pulumi.simulator.provider.preview import preview_state, with_cloud_fields
from rackwright_pulumi.simulator.provider.values import decode_provider_inputs

Invokes = Mapping[str, dict[str, Any] | Callable[[dict[str, Any]], dict[str, Any]]]
StackOutputs = Mapping[str, Mapping[str, Any]]
REFERENCE = "pulumi:pulumi:StackReference"


class DuplicateResource(Exception):
    """Two resources of one type, parent and name. The engine rejects them as well; Pulumi's mocks do not."""


class UnknownStack(LookupError):
    """A StackReference to a stack without configured outputs; the engine fails with `unknown stack` as well."""


class _NoMocks(mocks.Mocks):
    """Required by the base class; all methods that call it are overridden."""

    def new_resource(self, args):  # pragma: no cover
        raise NotImplementedError

    def call(self, args):  # pragma: no cover
        raise NotImplementedError


class GraphMonitor(mocks.MockMonitor):
    """Returns the outputs of the simulated cloud for every registration, and records the request."""

    def __init__(self, context: Context, invokes: Invokes, preview: bool, stack_outputs: StackOutputs = MappingProxyType({})):
        super().__init__(_NoMocks())
        self.context, self.known_invokes, self.preview, self.stack_outputs = context, invokes, preview, stack_outputs
        self.nodes: dict[str, Node] = {}
        self.invoked: list[tuple[str, dict[str, Any]]] = []
        self._lock = threading.Lock()  # a program may declare resources in threads

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        """The engine's URN: types of all parents except the stack (pulumi: resource/urn/urn.go)."""
        chain = parent.split("::")[2] if parent else STACK_TYPE
        qualified = type_ if chain == STACK_TYPE else f"{chain}${type_}"
        return f"urn:pulumi:{settings.get_stack()}::{settings.get_project()}::{qualified}::{name}"

    def RegisterResource(self, request):
        node = self._node(request)
        if request.type != STACK_TYPE:
            node.id, node.state = self._create(node)
        with self._lock:
            if node.urn in self.nodes:
                raise DuplicateResource(f"duplicate resource: {node.urn}")
            self.nodes[node.urn] = node
        self.resources[node.urn] = mocks.MockMonitor.ResourceRegistration(node.urn, node.id, node.state)
        return resource_pb2.RegisterResourceResponse(urn=node.urn, id=node.id, object=_struct(node.state))

    def ReadResource(self, request):
        urn = self.make_urn(request.parent, request.type, request.name)
        inputs = from_wire(rpc.deserialize_properties(request.properties, keep_unknowns=True))
        node = Node(urn, request.type, request.name, request.parent, True, inputs, request.provider, options={"read": True}, id=request.id)
        if node.type == REFERENCE:
            node.state = self._stack(inputs["name"])
        else:
            node.state = computed(node.type, node.name, urn, unwrap_secrets(inputs), self._context(node))[1] | inputs
        with self._lock:
            self.nodes[urn] = node
        return resource_pb2.ReadResourceResponse(urn=urn, properties=_struct(node.state))

    def _stack(self, name: str) -> dict[str, Any]:
        """State of a StackReference (pulumi: pkg/resource/deploy/builtins.go, readStackReference)."""
        if name not in self.stack_outputs:
            known = ", ".join(sorted(self.stack_outputs)) or "none"
            raise UnknownStack(f"stack {name!r} has no configured outputs (configured: {known}); pass stack_outputs={{{name!r}: {{...}}}}")
        outputs = dict(self.stack_outputs[name])
        secret = sorted(key for key, value in outputs.items() if isinstance(value, Secret))
        return {"name": name, "outputs": outputs, "secretOutputNames": secret}

    def RegisterResourceOutputs(self, request):
        outputs = from_wire(rpc.deserialize_properties(request.outputs, keep_unknowns=True))
        with self._lock:
            node = self.nodes[request.urn]
            node.outputs = outputs
            node.options["registered"] = True
        return super().RegisterResourceOutputs(request)

    def Invoke(self, request):
        _ensure_event_loop()
        args = unwrap_secrets(from_wire(rpc.deserialize_properties(request.args, keep_unknowns=True)))
        with self._lock:
            self.invoked.append((request.tok, args))
        result = self.known_invokes.get(request.tok)
        if result is None:
            raise KeyError(f"function {request.tok}({args}) has no configured result; pass invokes={{{request.tok!r}: ...}}")
        values: Any = result(args) if callable(result) else result
        response = resource_pb2.ResourceInvokeResponse()
        getattr(response, "return").CopyFrom(_sync_await(rpc.serialize_properties(values, {})))
        return response

    def _node(self, request) -> Node:
        raw = rpc.deserialize_properties(request.object, keep_unknowns=True)
        return Node(
            urn=self.make_urn(request.parent, request.type, request.name),
            type=request.type,
            name=request.name,
            parent=request.parent,
            custom=request.custom,
            inputs={key: from_wire(value) for key, value in raw.items()},
            provider=request.provider,
            depends_on=sorted(request.dependencies),
            property_dependencies={key: sorted(value.urns) for key, value in request.propertyDependencies.items()},
            protect=request.protect,
            options=_options(request),
            unknown_inputs=frozenset(key for key, value in raw.items() if _holds_unknown(value)),
        )

    def _create(self, node: Node) -> tuple[str, dict[str, Any]]:
        if not node.custom:
            return "", {}
        if self.preview:
            return "", preview_state(node.type, node.inputs)
        resource_id, outputs = computed(node.type, node.name, node.urn, unwrap_secrets(node.inputs), self._context(node))
        return resource_id, with_cloud_fields(node.inputs, outputs)

    def _context(self, node: Node) -> Context:
        provider = self.nodes.get(node.provider.rpartition("::")[0])
        return self.context.for_provider(decode_provider_inputs(unwrap_secrets(provider.inputs))) if provider else self.context


def _options(request) -> dict[str, Any]:
    found = {
        "deleteBeforeReplace": request.deleteBeforeReplace if request.deleteBeforeReplaceDefined else False,
        "retainOnDelete": request.retainOnDelete,
        "ignoreChanges": list(request.ignoreChanges),
        "replaceOnChanges": list(request.replaceOnChanges),
        "additionalSecretOutputs": list(request.additionalSecretOutputs),
        "aliases": [alias.urn or alias.spec.name or alias.spec.type for alias in request.aliases],
        "deletedWith": request.deletedWith,
        "version": request.version if request.type.startswith("pulumi:providers:") else "",
        "import": request.importId,
        "customTimeouts": {key: getattr(request.customTimeouts, key) for key in ("create", "update", "delete")},
    }
    found["customTimeouts"] = {key: value for key, value in found["customTimeouts"].items() if value}
    return {key: value for key, value in found.items() if value}


def _struct(state: dict[str, Any]) -> Message:
    """A state as pulumi sends it. It has plain values only, so that serializing it never waits and needs no event loop."""
    try:
        rpc.serialize_properties(_to_wire(state), {}).send(None)
    except StopIteration as serialized:
        return serialized.value
    raise TypeError(f"a state waits for a value: {state}")


def _to_wire(value: Any) -> Any:
    """Convert plain values to wire values: `Secret` becomes its envelope."""
    if isinstance(value, Secret):
        return {rpc._special_sig_key: rpc._special_secret_sig, "value": _to_wire(value.value)}
    if isinstance(value, dict):
        return {key: _to_wire(item) for key, item in value.items()}
    return [_to_wire(item) for item in value] if isinstance(value, list) else value


def _holds_unknown(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_unknown, value.values()))
    if isinstance(value, list):
        return any(map(_holds_unknown, value))
    return type(value).__name__ == "Unknown" or value == rpc.UNKNOWN
