"""Run one simulated provider as a plugin of the engine: ``python -m rackwright_pulumi.simulator.provider.server --cloud aws``."""

import argparse
import os
from collections.abc import Sequence
from concurrent import futures
from pathlib import Path

import grpc
from pulumi.runtime.proto import provider_pb2_grpc

from rackwright_pulumi.simulator.provider.protobuf import MAX_MESSAGE_BYTES
from rackwright_pulumi.simulator.provider.provider import SimulatedProvider
from rackwright_pulumi.simulator.schema.facts import CLOUDS
from rackwright_pulumi.simulator.store import Store

STATE_VARIABLE = "RACKWRIGHT_SIMULATED_CLOUD"
"""Environment variable with the path of the cloud file; overrides the path in the plugin."""
WORKERS = 16


def serve(provider: SimulatedProvider, port: int = 0) -> tuple[grpc.Server, int]:
    """Start a server on 127.0.0.1, the address that the engine dials. Returns it and its port; RuntimeError if the port is in use."""
    limits = [("grpc.max_receive_message_length", MAX_MESSAGE_BYTES), ("grpc.max_send_message_length", MAX_MESSAGE_BYTES)]
    limits.append(("grpc.so_reuseport", 0))  # otherwise two servers on one port share the calls at random
    server = grpc.server(futures.ThreadPoolExecutor(WORKERS), options=limits)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(provider, server)
    bound = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    return server, bound


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="A simulated Pulumi provider.")
    parser.add_argument("--cloud", choices=CLOUDS, required=True)
    parser.add_argument("--state", type=Path, required=True, help=f"cloud file; {STATE_VARIABLE} overrides it")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--permissive", action="store_true", help="accept unsupported resource types without checks")
    parser.add_argument("engine", nargs="?", help="address of the engine, passed by the engine")
    args, _ = parser.parse_known_args(argv)
    store = Store(Path(os.environ.get(STATE_VARIABLE) or args.state))
    server, port = serve(SimulatedProvider(args.cloud, store, args.permissive), args.port)
    print(port, flush=True)  # the engine reads the port from the first line
    server.wait_for_termination()


if __name__ == "__main__":
    main()
