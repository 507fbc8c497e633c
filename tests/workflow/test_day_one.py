"""`rackwright next` and the stack's output `commands`: commands that exist, with the names of the stack."""

import shlex
from datetime import date
from pathlib import Path

import pytest
from rackwright.cli.main import app, run
from rackwright.workflow.day_one import day_one
from rackwright.workflow.pipeline import Pipeline
from typer.main import get_command

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 21)
CLUSTER = ["choose", "build", "kubeconfig", "nodes"]
STEPS = {
    "llama-70b-sft": [*CLUSTER, "preflight", "job", "status", "logs", "stop", "dashboard", "teardown"],
    "gemma-pretrain": [*CLUSTER, "job", "status", "logs", "stop", "teardown"],
    "chat-eks": [*CLUSTER, "preflight", "status", "logs", "dashboard", "teardown"],
    "llama-70b-onprem": [*CLUSTER, "preflight", "job", "status", "logs", "stop", "dashboard", "teardown"],
    "chat-onprem": [*CLUSTER, "preflight", "status", "logs", "dashboard", "teardown"],
    "mistral-7b-qlora": ["choose", "build", "connect", "teardown"],
}


@pytest.fixture(scope="module", params=STEPS)
def stack(request):
    """(name, decided, steps) of an example."""
    path = ROOT / "stacks" / f"{request.param}.yaml"
    decided = Pipeline(path, TODAY).choose()
    return request.param, decided, {step.name: step.command for step in day_one(decided, str(path))}


def test_steps_are_in_the_order_of_use(stack):
    name, _, commands = stack
    assert list(commands) == STEPS[name]


def test_own_commands_and_options_exist(stack):
    known = get_command(app).commands
    for command in stack[2].values():
        words = shlex.split(command.rpartition("&& rackwright ")[2] if "&& rackwright" in command else command.removeprefix("rackwright "))
        if "rackwright " in command and words[0] != "pulumi":
            options = {option for parameter in known[words[0]].params for option in parameter.opts}
            assert {word for word in words if word.startswith("--")} <= options, command


def test_commands_name_objects_of_the_stack(stack):
    name, decided, commands = stack
    if "logs" not in commands:
        return
    spaces = {space for space, _ in decided.plan.namespaces}
    words = [word for command in commands.values() for word in command.split()]
    assert {words[n + 1] for n, word in enumerate(words) if word == "-n"} <= spaces
    pool = next(pool for pool in decided.plan.pools if pool.does_the_work)
    assert f"rackwright/role={dict(pool.labels)['rackwright/role']}" in commands["nodes"]
    assert ("--outputs" in commands.get("job", "")) == (name == "gemma-pretrain"), "its bucket has no name before the stack"


@pytest.mark.parametrize("options", ["", "    run: {image: a/b:1, command: [python, train.py]}\n", "  preflight: {image: a/b:1}\n"])
def test_the_check_of_nodes_names_the_image_that_the_spec_lacks(options, tmp_path):
    text, path = (ROOT / "stacks/llama-70b-sft.yaml").read_text(), tmp_path / "llama-70b-sft.yaml"
    before = "blueprint:\n" if "preflight" in options else "    kind: finetune\n"
    path.write_text(text.replace(before, before + options, 1))
    steps = {step.name: step.command for step in day_one(Pipeline(path, TODAY).choose(), "x.yaml")}
    assert steps["preflight"] == "rackwright preflight x.yaml --submit" + ("" if options else " --image IMAGE")


@pytest.mark.parametrize(("stack", "context"), [("llama-70b-onprem", "lab-admin"), ("chat-onprem", "serving-admin")], indirect=["stack"])
def test_own_servers_need_no_command_of_a_cloud(stack, context):
    """Their kubeconfig exists; its context is that of the inventory."""
    commands = stack[2]
    assert commands["kubeconfig"] == f"kubectl config use-context {context}"
    assert not any(word in command for command in commands.values() for word in ("aws ", "gcloud", "kubeconfigCommand"))


def test_the_container_of_a_box_is_started_on_the_machine(tmp_path):
    text = (
        (ROOT / "stacks/mistral-7b-qlora.yaml")
        .read_text()
        .replace("    kind: finetune\n", "    kind: finetune\n    run: {image: a/b:1, command: [python, 'my train.py']}\n", 1)
    )
    path = tmp_path / "mistral-7b-qlora.yaml"
    path.write_text(text)
    steps = {step.name: step.command for step in day_one(Pipeline(path, TODAY).decide(), "x.yaml")}
    assert steps["job"] == "sudo docker run --rm --gpus all --ipc host a/b:1 python 'my train.py'"


OWN_BOX = """
api_version: rackwright/v1
name: boxy
workloads:
  - name: qlora
    kind: finetune
    model: {base: llama-3.1-8b}
    adapter: {type: qlora}
    data: {samples: 10000, tokens_per_sample: 512}
    sequence_length: 1024
    team: nlp
    run: {image: "reg.example/t@sha256:aaaa", command: [python, train.py]}
infra: {any_of: [{cloud: kubernetes, inventory: l40s.yaml}]}
"""


@pytest.mark.parametrize("kind", ["auto", "box"])
def test_a_box_on_own_servers_has_no_job_to_submit(tmp_path, capsys, kind):
    (tmp_path / "l40s.yaml").write_text((ROOT / "stacks/inventories/l40s.yaml").read_text())
    path = tmp_path / "auto box.yaml"
    path.write_text(f"{OWN_BOX}blueprint: {{kind: {kind}}}\n")
    steps = {step.name: step.command for step in day_one(Pipeline(path, TODAY).choose(), str(path))}
    assert [name for name in steps if name not in ("kubeconfig", "dashboard")] == [
        "choose",
        "build",
        "nodes",
        "preflight",
        "status",
        "logs",
        "teardown",
    ]
    assert steps["logs"] == "kubectl logs -n boxy-team-nlp -l app=box -f --tail=100"
    assert run(["job", str(path), "--today", "2026-11-21"]) != 0
    assert "which starts the container of `run` itself" in " ".join(capsys.readouterr().err.split())


def test_the_command_prints_one_command_per_step(capsys):
    assert run(["next", str(ROOT / "stacks/llama-70b-sft.yaml"), "--today", "2026-11-21"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("# ")] == lines[::2]
    assert len(lines) == 2 * len(STEPS["llama-70b-sft"])


@pytest.mark.parametrize(
    ("service", "command"),
    [
        ("", "kubectl port-forward -n observability svc/prometheus-operated 9090:9090"),
        (", service: kps", "kubectl port-forward -n observability svc/kps 9090:9090"),
    ],
)
def test_the_dashboard_is_that_of_the_clusters_prometheus(tmp_path, service, command):
    inventory = (ROOT / "stacks/inventories/l40s.yaml").read_text(encoding="utf-8")
    installed = f"installed:\n  - {{name: kube-prometheus-stack, version: 88.5.3, namespace: observability{service}}}\n"
    (tmp_path / "inventories").mkdir()
    (tmp_path / "inventories" / "l40s.yaml").write_text(inventory + installed, encoding="utf-8")
    (tmp_path / "chat.yaml").write_text((ROOT / "stacks/chat-onprem.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    steps = {step.name: step.command for step in day_one(Pipeline(tmp_path / "chat.yaml", TODAY).choose(), "chat.yaml")}
    assert steps["dashboard"] == command
