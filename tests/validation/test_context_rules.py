"""Rules over the context of a plan: bill, quotas, configuration and clock. Without context they find no problem."""

from dataclasses import replace
from datetime import UTC, datetime

from rackwright.catalog import Catalog
from rackwright.cost import bill
from rackwright.diagnostics.problem import Level, Stage
from rackwright.spec.blueprint import Safety
from rackwright.spec.spec import ConfigRef
from rackwright.spec.workload_parts import Run, SecretRef
from rackwright.validation.stack import StackContext, check, stack_problems

from tests import plans
from tests.gce_plans import gce_box_case

SPEC, SIZING, FIT = plans.training_case()
STACK = plans.compiled((SPEC, SIZING, FIT))
CATALOG = Catalog.default()


def found(*acknowledged: str, **known) -> list[tuple[str, Level, Stage, bool]]:
    problems = stack_problems(StackContext(STACK, CATALOG, **known), acknowledged)
    return [(problem.code, problem.level, problem.stage, problem.blocks_update) for problem in problems]


def test_a_plan_alone_violates_none():
    assert found() == [] == check(STACK)


def test_a_quota_that_is_too_small_stops_an_update():
    assert found(quotas={"L-417A185B": 1}) == [("V-115", Level.ERROR, Stage.BUILD, True)]


def test_a_bill_over_the_goal_can_be_acknowledged():
    tight = SPEC.model_copy(update={"goals": SPEC.goals.model_copy(update={"max_cost": 200.0})})
    known = {"bill": bill(STACK, FIT, tight, CATALOG), "fit": FIT, "spec": tight}
    assert [code for code, *_ in found(**known)] == ["V-111"]
    assert found("V-111", **known) == []


def test_a_secret_stops_an_update_where_the_configuration_lacks_it():
    spec = SPEC.model_copy(update={"secrets": {"hf-token": ConfigRef(config="hfToken")}})
    assert found(spec=spec) == [("D-secret", Level.WARNING, Stage.BUILD, True)]
    assert found(spec=spec, is_configured=lambda _: False) == [("D-secret", Level.ERROR, Stage.BUILD, True)]
    assert found(spec=spec, is_configured=lambda key: key == "hfToken") == []


def test_a_stack_without_a_box_has_no_block_to_wait_for():
    assert found(now=datetime(2026, 11, 21, tzinfo=UTC)) == []


def of_case(case, **blueprint):
    spec, _, fit = case
    chosen = spec.model_copy(update={"blueprint": spec.blueprint.model_copy(update=blueprint)})
    context = StackContext(plans.compiled((chosen, case[1], fit)), CATALOG, fit=fit, spec=chosen)
    return [problem for problem in stack_problems(context) if problem.code in ("S-114", "S-116")]


ROLE, GROUP = "arn:aws:iam::123456789012:role/platform", "group:ml@example.com"


def test_options_of_a_cluster_are_reported_where_a_box_is_chosen():
    found = of_case(plans.box_case(), admins=(ROLE,), viewers=(ROLE,), pod_logs="cloud")
    assert [(problem.code, str(problem.at), problem.level) for problem in found] == [
        ("S-114", f"blueprint.{key}", Level.WARNING) for key in ("admins", "pod_logs", "viewers")
    ]
    assert "is a box (g6e.2xlarge) without a cluster, so `admins` has no effect" in found[0].reason
    assert of_case(plans.training_case(), admins=(ROLE,), pod_logs="cloud") == []


def test_a_job_is_reported_where_a_box_is_chosen():
    spec, plan, fit = plans.box_case()
    workload = spec.workload.model_copy(update={"run": Run(image="a/b:1")})
    spec = spec.model_copy(update={"workloads": [workload]})
    context = StackContext(plans.compiled((spec, plan, fit)), CATALOG, fit=fit, spec=spec)
    (found,) = [problem for problem in stack_problems(context) if problem.code == "S-201"]
    assert str(found.at) == "workloads[0].run"
    assert "is a box (g6e.2xlarge) without queues, so `run` (image) is not used" in found.reason


def test_operators_are_reported_where_a_box_is_chosen():
    spec, plan, fit = plans.box_case()
    spec = spec.model_copy(update={"blueprint": spec.blueprint.model_copy(update={"operators": ("kuberay",)})})
    context = StackContext(plans.compiled((spec, plan, fit)), CATALOG, fit=fit, spec=spec)
    (found,) = [problem for problem in stack_problems(context) if problem.code == "V-290"]
    assert (str(found.at), found.level) == ("blueprint.operators", Level.WARNING)
    assert "is a box (g6e.2xlarge) without queues, so kuberay is not installed" in found.reason


def test_administrators_of_another_cloud_alone_are_reported():
    (found,) = of_case(plans.fleet_case(), admins=(ROLE,), viewers=(ROLE, GROUP))
    assert (found.code, str(found.at), found.level) == ("S-116", "blueprint.admins", Level.WARNING)
    assert "no entry of `admins` is a principal of gcp" in found.reason


CLIENTS = {"V-131", "V-132", "V-133"}
CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/1f0a2b3c-4d5e-4f60-8172-93a4b5c6d7e8"


def of_clients(api_key: bool = False, certificates: tuple[str, ...] = (), run=None, layers=None, **safety):
    """(code, level, text) of what the rules on clients find in a fleet on EKS."""
    spec, plan, fit = plans.eks_fleet_case()
    workload = spec.workload.model_copy(update={"api_key": SecretRef(secret="key") if api_key else None})
    workload = workload.model_copy(update={"run": workload.run.model_copy(update=run or {})})
    blueprint = spec.blueprint.model_copy(update={"certificates": certificates, "safety": Safety(**safety)})
    spec = spec.model_copy(update={"workloads": (workload,), "blueprint": blueprint})
    stack = plans.compiled((spec, plan, fit))
    stack = replace(stack, layers=layers) if layers else stack
    problems = stack_problems(StackContext(stack, Catalog.default(), spec=spec))
    return [(p.code, p.level, p.stage, p.reason) for p in problems if p.code in CLIENTS]


def test_a_fleet_without_key_and_certificate_is_planned_and_not_built():
    (key, tls) = of_clients()
    assert key == ("V-131", Level.ERROR, Stage.BUILD, "chat has no `api_key`, so every client in the network can use the model")
    reason = "The load balancer of chat would use plain HTTP: no certificate is listed for us-east-1"
    assert tls == ("V-132", Level.ERROR, Stage.BUILD, reason)


def test_a_certificate_of_another_region_does_not_count():
    elsewhere = CERTIFICATE.replace("us-east-1", "us-west-2")
    assert of_clients(True, (elsewhere,))[0][3].endswith("the certificate is not for us-east-1")
    assert of_clients(True, (elsewhere, CERTIFICATE)) == []


def test_each_switch_turns_its_open_item_into_a_warning():
    assert [(code, level) for code, level, _, _ in of_clients(require_api_key=False)] == [("V-132", Level.ERROR), ("V-133", Level.WARNING)]
    assert [(code, level) for code, level, _, _ in of_clients(require_tls=False)] == [("V-131", Level.ERROR), ("V-133", Level.WARNING)]
    assert of_clients(True, (CERTIFICATE,), require_api_key=False, require_tls=False) == of_clients(True, (CERTIFICATE,))


def test_paths_for_which_vllm_checks_no_key_are_reported_with_their_clients():
    """The network load balancer forwards every path, and images and arguments of the user may lack the middleware."""
    assert of_clients(True, (CERTIFICATE,)) == []
    assert of_clients(True, (CERTIFICATE,), run={"args": ("--port=8000",)}) == of_clients(True, (CERTIFICATE,), run={"image": "a/b:1"})
    ((code, level, _, text),) = of_clients(True, (CERTIFICATE,), run={"image": "a/b:1"})
    assert (code, level) == ("V-133", Level.WARNING)
    assert "chat checks its key for paths below /v1 only; 10.0.0.0/16 can use the model without it by /invocations" in text


def test_a_server_of_your_own_may_not_check_the_key():
    (found,) = of_clients(True, (CERTIFICATE,), run={"command": ("my-server",)})
    assert (found[0], found[1]) == ("V-133", Level.WARNING)
    assert "VLLM_API_KEY" in found[3]


def test_a_stack_without_the_servers_has_no_clients():
    assert of_clients(layers=("base", "cluster")) == []


def test_what_is_missing_names_the_outage_of_a_running_fleet():
    """One update closes port 80 and requires the key; clients have to know the order."""
    spec, plan, fit = plans.eks_fleet_case()
    problems = stack_problems(StackContext(plans.compiled((spec, plan, fit)), Catalog.default(), spec=spec))
    key, tls = (next(p.fix for p in problems if p.code == code) for code in ("V-131", "V-132"))
    assert "Clients of a running fleet must send the key before the update" in key
    assert "The update of a running fleet closes port 80 and opens 443" in tls
    assert "Move clients to https when it ends" in tls


def test_the_cost_goal_of_a_box_on_google_cloud_has_no_budget():
    spec, _, fit = case = gce_box_case()
    plan, goal = plans.compiled(case), spec.model_copy(update={"goals": spec.goals.model_copy(update={"max_cost": 60.0})})
    codes = {known: [p.code for p in stack_problems(StackContext(plan, CATALOG, spec=s, fit=fit))] for known, s in enumerate((spec, goal))}
    assert codes == {0: [], 1: ["R-116"]}
