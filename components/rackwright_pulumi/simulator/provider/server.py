"""Run one simulated provider as the plugin the engine launches: ``python -m rackwright_pulumi.simulator.provider.server --cloud aws``."""

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
"""Environment variable that names the cloud's file, over what the plugin was written with."""
WORKERS = 16


def serve(provider: SimulatedProvider, port: int = 0) -> tuple[grpc.Server, int]:
    """Start a server on 127.0.0.1, which is what the engine dials. Returns it with its port. Raises RuntimeError when the port is taken."""
    limits = [("grpc.max_receive_message_length", MAX_MESSAGE_BYTES), ("grpc.max_send_message_length", MAX_MESSAGE_BYTES)]
    limits.append(("grpc.so_reuseport", 0))  # two servers on one port would share the calls at random
    server = grpc.server(futures.ThreadPoolExecutor(WORKERS), options=limits)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(provider, server)
    bound = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    return server, bound


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="A simulated Pulumi provider.")
    parser.add_argument("--cloud", choices=CLOUDS, required=True)
    parser.add_argument("--state", type=Path, required=True, help=f"the cloud's file, unless {STATE_VARIABLE} names another")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--permissive", action="store_true", help="take types the simulator does not know, unchecked")
    parser.add_argument("engine", nargs="?", help="the engine's address, which it passes")
    args, _ = parser.parse_known_args(argv)
    store = Store(Path(os.environ.get(STATE_VARIABLE) or args.state))
    server, port = serve(SimulatedProvider(args.cloud, store, args.permissive), args.port)
    print(port, flush=True)  # the engine reads this line and nothing else
    server.wait_for_termination()


if __name__ == "__main__":
    main()
