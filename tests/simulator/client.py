"""A gRPC client that calls a simulated provider in the engine's order, in this process."""

import json
from dataclasses import dataclass

import grpc
from pulumi.runtime.proto import plugin_pb2, provider_pb2_grpc, status_pb2
from pulumi.runtime.proto import provider_pb2 as pb
from rackwright_pulumi.simulator import SimulatedCloud
from rackwright_pulumi.simulator.provider.protobuf import MAX_MESSAGE_BYTES, to_dict, to_struct
from rackwright_pulumi.simulator.provider.server import serve


@dataclass
class Made:
    """A resource as the engine stores it."""

    token: str
    name: str
    id: str
    inputs: dict
    state: dict


class Refusal(Exception):
    """An error of the provider: its message, and the check failures if any."""

    def __init__(self, message: str, failures: dict | None = None, half: pb.ErrorResourceInitFailed | None = None):
        super().__init__(message)
        self.failures, self.half = failures or {}, half


class Client:
    """The engine's calls to one provider."""

    def __init__(self, cloud: SimulatedCloud, package: str, **config):
        provider = cloud.provider(package)
        self.server, port = serve(provider)
        limits = [("grpc.max_receive_message_length", MAX_MESSAGE_BYTES), ("grpc.max_send_message_length", MAX_MESSAGE_BYTES)]
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=limits)
        self.stub = provider_pb2_grpc.ResourceProviderStub(self.channel)
        self.stub.Handshake(pb.ProviderHandshakeRequest(engine_address="127.0.0.1:1", configure_with_urn=True))
        self.stub.Attach(plugin_pb2.PluginAttach(address="127.0.0.1:1"))
        wire = {key: value if isinstance(value, str) else json.dumps(value) for key, value in config.items()}  # as the SDKs send it
        checked = self.stub.CheckConfig(pb.CheckRequest(urn="u", news=to_struct(wire)))
        self.stub.Configure(pb.ConfigureRequest(args=checked.inputs, acceptSecrets=True, acceptResources=True, urn="u"))

    def close(self):
        self.channel.close()
        self.server.stop(0)

    def urn(self, token: str, name: str) -> str:
        return f"urn:pulumi:dev::p::rackwright:index:Parent${token}::{name}"

    def check(self, token: str, name: str, inputs: dict, olds: dict | None = None, seed: bytes = b"1234", **more) -> dict:
        request = pb.CheckRequest(urn=self.urn(token, name), news=to_struct(inputs), olds=to_struct(olds or {}), randomSeed=seed, **more)
        answer = self.stub.Check(request)
        if answer.failures:
            found = {f.property: f.reason for f in answer.failures}
            raise Refusal("; ".join(found.values()), found)
        return to_dict(answer.inputs)

    def create(self, token: str, name: str, inputs: dict | None = None, **more) -> Made:
        checked = self.check(token, name, inputs or {}, **more)
        answer = self._call(self.stub.Create, pb.CreateRequest(urn=self.urn(token, name), properties=to_struct(checked)))
        return Made(token, name, answer.id, checked, to_dict(answer.properties))

    def preview(self, token: str, name: str, inputs: dict | None = None) -> dict:
        checked = self.check(token, name, inputs or {})
        answer = self._call(self.stub.Create, pb.CreateRequest(urn=self.urn(token, name), properties=to_struct(checked), preview=True))
        assert answer.id == ""
        return to_dict(answer.properties)

    def diff(self, made: Made, inputs: dict, ignore: tuple[str, ...] = ()) -> pb.DiffResponse:
        checked = self.check(made.token, made.name, inputs, made.inputs)
        olds = {"olds": to_struct(made.state), "old_inputs": to_struct(made.inputs)}
        urn = self.urn(made.token, made.name)
        return self.stub.Diff(pb.DiffRequest(id=made.id, urn=urn, news=to_struct(checked), ignoreChanges=list(ignore), **olds))

    def update(self, made: Made, inputs: dict, preview: bool = False) -> Made:
        checked = self.check(made.token, made.name, inputs, made.inputs)
        request = pb.UpdateRequest(
            id=made.id,
            urn=self.urn(made.token, made.name),
            olds=to_struct(made.state),
            old_inputs=to_struct(made.inputs),
            news=to_struct(checked),
            preview=preview,
        )
        return Made(made.token, made.name, made.id, checked, to_dict(self._call(self.stub.Update, request).properties))

    def read(self, made: Made) -> dict | None:
        answer = self._call(self.stub.Read, pb.ReadRequest(id=made.id, urn=self.urn(made.token, made.name)))
        return to_dict(answer.properties) if answer.id else None

    def delete(self, made: Made) -> None:
        self._call(self.stub.Delete, pb.DeleteRequest(id=made.id, urn=self.urn(made.token, made.name), properties=to_struct(made.state)))

    def invoke(self, function: str, **args) -> dict:
        return to_dict(getattr(self._call(self.stub.Invoke, pb.InvokeRequest(tok=function, args=to_struct(args))), "return"))

    def _call(self, method, request):
        try:
            return method(request)
        except grpc.RpcError as error:
            raise Refusal(error.details(), half=_half_made(error)) from error


def _half_made(error: grpc.RpcError) -> pb.ErrorResourceInitFailed | None:
    raw = dict(error.trailing_metadata()).get("grpc-status-details-bin")
    if raw is None:
        return None
    detail = pb.ErrorResourceInitFailed()
    status_pb2.Status.FromString(raw).details[0].Unpack(detail)
    return detail


def kubeconfig(server: str) -> str:
    """A kubeconfig that identifies its cluster."""
    return json.dumps({"clusters": [{"name": "c", "cluster": {"server": server}}]})
