"""A minimal engine over gRPC that starts the component package and lets it construct, with the recorder as monitor.

It creates no resources, stores no state and compares nothing. The tests check the values that cross the wire.
"""

import contextvars
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import empty_pb2, json_format, struct_pb2
from pulumi.runtime import mocks
from pulumi.runtime.proto import (
    engine_pb2,
    engine_pb2_grpc,
    errors_pb2,
    provider_pb2,
    provider_pb2_grpc,
    resource_pb2,
    resource_pb2_grpc,
    status_pb2,
)
from rackwright_pulumi.resource_graph import STACK_TYPE, Graph
from rackwright_pulumi.simulator.computed import Context
from rackwright_pulumi.simulator.lookups.invokes import invokes
from rackwright_pulumi.testing.monitor import GraphMonitor

ROOT = Path(__file__).parents[2]
PROJECT, STACK = "rackwright", "test"
LIMITS = [("grpc.max_receive_message_length", 400 * 1024 * 1024)]  # the engine's own
FEATURES = [
    resource_pb2.RESOURCE_MONITOR_FEATURE_SECRETS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_RESOURCE_REFERENCES,
    resource_pb2.RESOURCE_MONITOR_FEATURE_OUTPUT_VALUES,
    resource_pb2.RESOURCE_MONITOR_FEATURE_ALIAS_SPECS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_DELETED_WITH,
]
SIGNATURE = "4dabf18193072939515e22adb298388d"
OUTPUT = "d0e6a833031e9bbcd3f4e8bde6ca49a4"  # both: pulumi.runtime.rpc


def output(value: Any, *dependencies: str) -> dict[str, Any]:
    """An output as the engine sends it to a component: its value and its dependencies."""
    return {SIGNATURE: OUTPUT, "value": value, "dependencies": list(dependencies)}


UNKNOWN = {SIGNATURE: OUTPUT}
UNKNOWN_ID = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"  # of a provider in a first preview


class Refused(Exception):
    """An error of the plugin. problems: property path to reason."""

    def __init__(self, error: grpc.RpcError):
        self.problems, message = {}, error.details()
        for key, value in error.trailing_metadata() or ():
            if key == "grpc-status-details-bin":
                for detail in status_pb2.Status.FromString(value).details:
                    found = errors_pb2.InputPropertiesError()
                    if detail.Unpack(found):
                        self.problems |= {each.property_path: each.reason for each in found.errors}
        super().__init__(f"{message} {self.problems}")


class Logs(engine_pb2_grpc.EngineServicer):
    """The engine's service that receives logs of plugins."""

    def __init__(self):
        self.errors: list[str] = []

    def Log(self, request, context):
        if request.severity >= engine_pb2.WARNING:
            self.errors.append(request.message)
        return empty_pb2.Empty()


class Monitor(resource_pb2_grpc.ResourceMonitorServicer):
    """The recorder's monitor over gRPC; each call has a context with project and stack."""

    def __init__(self, preview: bool):
        self.graph = GraphMonitor(Context(), invokes(Context()), preview)
        self.context = contextvars.copy_context()
        self.context.run(mocks.MockSettings, project=PROJECT, stack=STACK)  # its fields are context variables

    def RegisterResource(self, request, context):
        return self._run(self.graph.RegisterResource, request)

    def RegisterResourceOutputs(self, request, context):
        return self._run(self.graph.RegisterResourceOutputs, request)

    def ReadResource(self, request, context):
        return self._run(self.graph.ReadResource, request)

    def Invoke(self, request, context):
        if request.tok == "pulumi:pulumi:getResource":  # a plugin looks up the provider it was given
            urn = request.args["urn"]
            known = self.graph.nodes[urn]
            return resource_pb2.ResourceInvokeResponse(**{"return": struct({"urn": urn, "id": known.id, "state": known.inputs})})
        return self._run(self.graph.Invoke, request)

    def GetDeploymentInfo(self, request, context):
        return resource_pb2.DeploymentInfo(supportedFeatures=FEATURES)

    def SupportsFeature(self, request, context):
        return resource_pb2.SupportsFeatureResponse(hasSupport=True)

    def RegisterPackage(self, request, context):
        return resource_pb2.RegisterPackageResponse(ref=request.name)

    def _run(self, method, request):
        return self.context.copy().run(method, request)


class Deployment:
    """One update or first preview of one stack: its resources and its constructed components."""

    def __init__(self, plugin: provider_pb2_grpc.ResourceProviderStub, preview: bool = False):
        self.plugin, self.preview, self.monitor = plugin, preview, Monitor(preview)
        self.server, self.address = served(resource_pb2_grpc.add_ResourceMonitorServicer_to_server, self.monitor)
        self.root = self.register(STACK_TYPE, f"{PROJECT}-{STACK}", {}).urn

    def __enter__(self) -> "Deployment":
        return self

    def __exit__(self, *_) -> None:
        self.server.stop(None)

    def register(self, type_: str, name: str, inputs: Mapping[str, Any], parent: str = "") -> resource_pb2.RegisterResourceResponse:
        request = resource_pb2.RegisterResourceRequest(type=type_, name=name, parent=parent, custom=True, object=struct(inputs))
        return self.monitor.RegisterResource(request, None)

    def provider(self, cloud: str, inputs: Mapping[str, Any]) -> dict[str, str]:
        """An explicit provider, as `construct` takes them."""
        made = self.register(f"pulumi:providers:{cloud}", cloud, inputs, self.root)
        return {cloud: f"{made.urn}::{made.id or UNKNOWN_ID}"}

    def construct(self, kind: str, name: str, inputs: Mapping[str, Any], providers: Mapping[str, str] = {}, **more) -> dict[str, Any]:
        """The outputs of a component. Raises Refused."""
        request = provider_pb2.ConstructRequest(
            project=PROJECT,
            stack=STACK,
            organization="organization",
            dryRun=self.preview,
            parallel=8,
            monitorEndpoint=self.address,
            type=f"rackwright:index:{kind}",
            name=name,
            parent=self.root,
            inputs=struct(inputs),
            providers=providers,
            accepts_output_values=True,
            **more,
        )
        try:
            answer = self.plugin.Construct(request, timeout=60)
        except grpc.RpcError as error:
            raise Refused(error) from None
        return json_format.MessageToDict(answer.state)

    def recorded(self) -> Graph:
        nodes = {urn: node for urn, node in sorted(self.monitor.graph.nodes.items()) if urn != self.root}
        for node in nodes.values():
            node.parent = "" if node.parent == self.root else node.parent
        return Graph(nodes, {})


def struct(values: Mapping[str, Any]) -> struct_pb2.Struct:
    message = struct_pb2.Struct()
    message.update(values)
    return message


def served(add: Callable[[Any, grpc.Server], None], service: Any) -> tuple[grpc.Server, str]:
    """The running server of one service, and its address."""
    server = grpc.server(ThreadPoolExecutor(16), options=LIMITS)
    add(service, server)
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    return server, address


def start(engine_address: str) -> subprocess.Popen:
    """The plugin as the engine starts it: its folder, then the engine's address; the port is the first line it prints."""
    command = [sys.executable, str(ROOT / "components"), engine_address]
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean)


def connect(process: subprocess.Popen) -> provider_pb2_grpc.ResourceProviderStub:
    port = process.stdout.readline().strip() if process.stdout else ""
    assert port.isdigit(), f"the plugin printed {port!r} in place of its port"
    return provider_pb2_grpc.ResourceProviderStub(grpc.insecure_channel(f"127.0.0.1:{port}", options=LIMITS))
