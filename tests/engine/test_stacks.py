"""The product's program with the real engine: every example from its creation to its destroy."""

import time
from pathlib import Path

import pytest
from rackwright_pulumi.simulator import Engine, EngineFailure

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted(path.stem for path in (ROOT / "stacks").glob("*.yaml") if not path.name.startswith("Pulumi."))
UP_LIMIT_S = 60.0
"""Three times the 20 s an EKS stack may take on an idle machine of two cores: tests run beside one another."""
REFUSAL_LIMIT_S = 60.0
"""Six times the 10 s that a refused destroy may take on an idle machine."""


@pytest.mark.slow
@pytest.mark.parametrize("stack", EXAMPLES)
def test_a_stack_is_created_unchanged_protected_and_destroyed(stack, cloud, tmp_path):
    config = {"rackwright:simulated": "true", "rackwright:today": "2026-11-01", "pulumi:disable-default-providers": '["*"]'}
    config |= {"rackwright:chatApiKey": "simulated", "rackwright:embedApiKey": "simulated"}
    engine = Engine(ROOT, cloud, tmp_path / "work", stack=stack, project="rackwright", config=config)
    engine.prepare()
    start = time.perf_counter()
    made = engine.up()["create"]
    assert time.perf_counter() - start < UP_LIMIT_S
    assert engine.up(expect_no_changes=True) == {"same": made}
    standing = len(cloud.resources())
    for preview in ((), ("--skip-preview",)):  # without one, whatever is not protected would go first
        start = time.perf_counter()
        with pytest.raises(EngineFailure, match=r"rackwright:teardown true[^$]*protected"):
            engine.run("destroy", "--stack", stack, "--yes", *preview)
        assert time.perf_counter() - start < REFUSAL_LIMIT_S
        assert len(cloud.resources()) == standing
    engine.run("config", "set", "rackwright:teardown", "true")
    engine.up()
    engine.destroy()
    assert cloud.is_empty()
