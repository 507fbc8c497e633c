"""Conversion between protobuf and plain values."""

from typing import Any, NoReturn

import grpc
from google.protobuf.empty_pb2 import Empty  # ty: ignore[missing-module-member] (protobuf makes its classes at import)
from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct  # ty: ignore[missing-module-member]
from pulumi.runtime.proto import provider_pb2 as pb
from pulumi.runtime.proto import status_pb2

EMPTY = Empty()
MAX_MESSAGE_BYTES = 400 * 1024 * 1024
"""The engine's limit (pulumi: sdk/go/common/util/rpcutil); gRPC's default of 4 MiB is too small for real states."""


def to_dict(message: Struct) -> dict[str, Any]:
    """Plain values; whole numbers as int, because protobuf has only floats."""
    return _whole(MessageToDict(message))


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _whole(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_whole(v) for v in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def to_struct(values: dict[str, Any]) -> Struct:
    """The protobuf form of plain values."""
    message = Struct()
    message.update(values)
    return message


def urn_parts(urn: str) -> tuple[str, str]:
    """Type token and logical name of a URN."""
    qualified, _, name = urn.split("::", 2)[2].partition("::")
    return qualified.rpartition("$")[2], name


def abort(context: grpc.ServicerContext, reason: str, code: grpc.StatusCode = grpc.StatusCode.UNKNOWN) -> NoReturn:
    """End the call with this error."""
    context.abort(code, reason)
    raise AssertionError("grpc's abort always raises")


def abort_initialization(
    context: grpc.ServicerContext, reason: str, resource_id: str, state: dict[str, Any], inputs: dict[str, Any]
) -> NoReturn:
    """End the call with ErrorResourceInitFailed: the engine keeps the resource in its state with this reason."""
    detail = pb.ErrorResourceInitFailed(id=resource_id, properties=to_struct(state), inputs=to_struct(inputs), reasons=[reason])
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=reason)
    status.details.add().Pack(detail)
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    abort(context, reason)
