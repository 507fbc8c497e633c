"""Hypothesis profiles, and tests that `make test-fast` skips."""

import gc
import os
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# The first draw in a fresh checkout builds tables and is slow, so a slow draw is no failure.
SLOW_DRAWS = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("rackwright", **SLOW_DRAWS)
settings.register_profile("fast", max_examples=25, **SLOW_DRAWS)
gc.disable()  # until tests are collected: imported modules stay until the end

TESTS = Path(__file__).parent
SWEEPS = (
    "accuracy",
    "catalog/test_architecture.py",
    "cli/test_commands.py",
    "cli/test_control_characters.py",
    "cli/test_doctor.py",
    "cli/test_economics.py",
    "cli/test_estimate.py",
    "cli/test_examples_agree.py",
    "cli/test_layers.py",
    "cli/test_manifests.py",
    "cli/test_named_files.py",
    "cli/test_new.py",
    "cli/test_policy.py",
    "cli/test_registry.py",
    "cli/test_several_workloads.py",
    "cli/test_stack_outputs.py",
    "cli/test_terminal.py",
    "cluster",
    "compile/test_box_setup.py",
    "compile/test_boxes.py",
    "compile/test_capacity.py",
    "compile/test_contracts.py",
    "compile/test_eks_fleet.py",
    "compile/test_file_systems_agree.py",
    "compile/test_mirror.py",
    "components/aws/test_examples.py",
    "components/aws/test_existing_cluster.py",
    "components/aws/test_layers.py",
    "components/aws/test_order.py",
    "components/test_api_access.py",
    "components/test_aws_blueprints.py",
    "components/test_aws_boxes.py",
    "components/test_aws_safety.py",
    "components/test_cluster_access.py",
    "components/test_eks_fleet.py",
    "components/test_gke_blueprints.py",
    "components/test_own_servers.py",
    "components/test_services.py",
    "components/test_zone_ids.py",
    "deployer/test_every_plan.py",
    "engine",
    "estimator/test_adapter_memory.py",
    "estimator/test_estimate.py",
    "estimator/test_inputs.py",
    "estimator/test_serving_inputs.py",
    "golden/test_graphs.py",
    "jobs/test_job_set.py",
    "matrix",
    "package/test_construct.py",
    "package/test_engine.py",
    "package/test_sdk_names.py",
    "package/test_typed.py",
    "policies/test_graphs.py",
    "preflight/test_check_cluster.py",
    "program/test_decision.py",
    "program/test_deletion_lock.py",
    "program/test_program.py",
    "program/test_teardown.py",
    "properties",
    "render",
    "report/test_alternatives.py",
    "report/test_report.py",
    "report/test_screen.py",
    "report/test_serving_page.py",
    "simulator/test_data.py",
    "simulator/test_demo.py",
    "sizing/test_cards.py",
    "sizing/test_economics.py",
    "sizing/test_explanations_agree.py",
    "sizing/test_goals.py",
    "sizing/test_honesty.py",
    "sizing/test_host_rate.py",
    "sizing/test_laws.py",
    "sizing/test_layouts.py",
    "sizing/test_machine.py",
    "sizing/test_media_plans.py",
    "sizing/test_objectives.py",
    "sizing/test_price_performance.py",
    "sizing/test_replicas.py",
    "sizing/test_search.py",
    "sizing/test_server_options.py",
    "sizing/test_serving_agrees.py",
    "sizing/test_serving_plans.py",
    "sizing/test_sharing.py",
    "sizing/test_together.py",
    "spec/test_mutations.py",
    "spec/test_secrets.py",
    "testing/test_diff.py",
    "testing/test_previews.py",
    "testing/test_scale.py",
    "testing/test_stack_export.py",
    "workflow/test_agreement.py",
    "workflow/test_before_you_build.py",
    "workflow/test_budget.py",
    "workflow/test_calibration.py",
    "workflow/test_hand_edits.py",
    "workflow/test_next_command.py",
    "workflow/test_running_file_system.py",
    "workflow/test_several_workloads.py",
    "workflow/test_spec_mistakes.py",
    "workflow/test_version_age.py",
)
"""Below tests/: sweeps over whole commands and programs, over dozens of sized specs, over every machine, accelerator, example, written
plan, resource type, measured run, line or field. `make test-fast` does not import them; every other package has files that it runs."""
LONG = ("wheel", "tests/accuracy/test_fit.py", "tests/accuracy/test_regret.py")
"""Files and groups that start first: each has few tests and takes long, and the last one would keep one process waiting."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="leave out the sweeps, and draw fewer examples of each property")


def pytest_configure(config: pytest.Config) -> None:
    # A number that changes with each run of a workflow or each day; workers of xdist inherit it.
    os.environ.setdefault("RACKWRIGHT_SEED", os.environ.get("GITHUB_RUN_ID") or f"{date.today():%Y%m%d}")
    os.environ.setdefault("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")  # moto makes 1,300 images whenever an account starts or ends
    settings.load_profile("fast" if config.getoption("--fast") else "rackwright")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    below = collection_path.relative_to(TESTS).as_posix() if collection_path.is_relative_to(TESTS) else ""
    return True if config.getoption("--fast") and below.startswith(SWEEPS) else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The tests of a file, or of an xdist_group, run in one process, which computes what they share once."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class ByFile(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            group = super()._split_scope(nodeid)
            return group.partition("::")[0] if group == nodeid else group

        def _assign_work_unit(self, node: Any) -> None:
            if first := next((scope for scope in LONG if scope in self.workqueue), None):
                self.workqueue.move_to_end(first, last=False)
            super()._assign_work_unit(node)

    return ByFile(config, log)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)  # the default of 700 objects takes 7 % of the time of commands
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The seed and the number of the mutated inputs of tests/properties, also when every test passed."""
    tests = [report for reports in terminalreporter.stats.values() for report in reports if getattr(report, "when", "") == "call"]
    counts = [value for report in tests for name, value in report.user_properties if name == "mutated_inputs"]
    if any("tests/properties/" in report.nodeid for report in tests):
        shown = ", ".join(f"{kind} {number}" for kind, number in counts)
        line = f"{sum(number for _, number in counts)} mutated inputs without a fault ({shown})"
        terminalreporter.write_line(f"{line}. RACKWRIGHT_SEED={os.environ['RACKWRIGHT_SEED']} repeats them")
