"""The plugin folders that the engine starts, without the engine."""

import os
import subprocess
import sys

import grpc
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import provider_pb2_grpc
from rackwright_pulumi.simulator import SimulatedCloud, write_plugins
from rackwright_pulumi.simulator.provider.server import STATE_VARIABLE, serve
from rackwright_pulumi.simulator.schema.facts import CLOUDS, sdk_version


def test_each_plugin_prints_only_its_port(tmp_path):
    folders = write_plugins(tmp_path / "plugins", tmp_path / "cloud.sqlite")
    assert sorted(folders) == sorted(CLOUDS)
    plugin = folders["aws"] / "pulumi-resource-aws"
    assert sys.executable in plugin.read_text()
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", STATE_VARIABLE)}
    process = subprocess.Popen([plugin, "127.0.0.1:1"], stdout=subprocess.PIPE, text=True, env=environment, cwd=tmp_path)
    try:
        stub = provider_pb2_grpc.ResourceProviderStub(grpc.insecure_channel(f"127.0.0.1:{int(process.stdout.readline())}"))
        assert stub.GetPluginInfo(empty_pb2.Empty()).version == sdk_version("aws")
    finally:
        process.terminate()
        process.wait()
    assert (tmp_path / "cloud.sqlite").exists()


def test_writing_twice_changes_nothing(tmp_path):
    plugin = write_plugins(tmp_path / "plugins", tmp_path / "cloud.sqlite")["gcp"] / "pulumi-resource-gcp"
    before = plugin.stat().st_mtime_ns
    write_plugins(tmp_path / "plugins", tmp_path / "cloud.sqlite")
    assert plugin.stat().st_mtime_ns == before
    assert os.access(plugin, os.X_OK)


def test_the_environment_isolates_the_engine(tmp_path):
    environment = SimulatedCloud(tmp_path / "cloud.sqlite").environment(tmp_path / "state", base={})
    assert environment["PULUMI_BACKEND_URL"] == f"file://{tmp_path}/state/backend"
    assert environment["PULUMI_CONFIG_PASSPHRASE"] == ""
    assert environment["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] == "1"
    assert (tmp_path / "state" / "backend").is_dir()


def test_a_port_in_use_is_an_error(cloud):
    server, port = serve(cloud.provider("aws"))
    try:
        with pytest.raises(RuntimeError):
            serve(cloud.provider("gcp"), port)
    finally:
        server.stop(0)
