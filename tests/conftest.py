"""One hypothesis profile for every property, and the tests that `make test-fast` leaves out."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The first draw in a fresh checkout builds tables and is slow, which is no property of the code.
settings.register_profile("rackwright", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("rackwright")

SWEEPS = (
    "accuracy",
    "catalog/test_architecture.py",
    "cli/test_commands.py",
    "cli/test_economics.py",
    "cli/test_new.py",
    "cli/test_terminal.py",
    "compile/test_box_setup.py",
    "compile/test_capacity.py",
    "compile/test_contracts.py",
    "compile/test_file_systems_agree.py",
    "components/aws/test_guest.py",
    "components/aws/test_layers.py",
    "components/aws/test_order.py",
    "components/test_aws_blueprints.py",
    "components/test_aws_safety.py",
    "components/test_eks_fleet.py",
    "deployer",
    "lookup",
    "matrix",
    "package/test_construct.py",
    "policies/test_graphs.py",
    "program",
    "report",
    "simulator/test_data.py",
    "sizing/test_economics.py",
    "sizing/test_laws.py",
    "sizing/test_layouts.py",
    "sizing/test_price_performance.py",
    "sizing/test_refusals.py",
    "sizing/test_replicas.py",
    "sizing/test_search.py",
    "sizing/test_serving_agrees.py",
    "spec/test_mutations.py",
    "testing",
    "workflow/test_agreement.py",
)
"""Files and folders below tests/ that run whole commands, programs or searches many times; marked `sweep`."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folder = Path(__file__).parent
    for item in items:
        path = Path(item.path).relative_to(folder).as_posix()
        if path.startswith(SWEEPS):
            item.add_marker(pytest.mark.sweep)
