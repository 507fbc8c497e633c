"""`make demo` without Pulumi."""

import json
import socket
from datetime import date

import pytest

from sim import demo


def test_an_engine_that_is_missing_is_not_downloaded(monkeypatch, capsys):
    def connected(*_: object, **__: object) -> None:
        pytest.fail("the demo opened a connection")

    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(socket.socket, "connect", connected)
    monkeypatch.setattr(demo, "live", lambda name: pytest.fail(f"{name} needs the engine"))
    monkeypatch.setattr(demo, "plan_stack", lambda *_: None)
    assert demo.main() == 0
    assert "pulumi is not on PATH: this part is left out; install it (https://www.pulumi.com/docs/install)" in capsys.readouterr().out


def test_a_fleet_with_an_api_key_is_compiled_without_its_value(capsys):
    demo.plan_stack("chat-serve", date(2026, 11, 21))
    assert "resources, " in capsys.readouterr().out
    graph = json.loads((demo.OUT / "chat-serve" / "graph.json").read_text(encoding="utf-8"))
    assert "rackwright:index:DeletionLock" in {node["type"] for node in graph["resources"]}
