"""Valid inputs of every kind that `rackwright` reads. The fuzz mutates copies of them."""

import csv
import io
import json
import tempfile
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from rackwright.estimator.calibration.calibrate import calibrate
from rackwright.estimator.dataset.columns.cells import read_file
from rackwright.estimator.dataset.runs import DATA as MEASURED
from rackwright.workflow.decision import decision_path
from rackwright.workflow.pipeline import Pipeline
from rackwright_pulumi.simulator import SimulatedCloud

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 21)
EXAMPLES = (
    *("mistral-7b-qlora", "chat-eks", "llama-70b-sft", "chat-serve", "gemma-pretrain"),
    *("llama-70b-gke", "assistant-eks", "llama-70b-onprem", "chat-onprem"),
)
CASES = (
    *("fine-design", "fine-serving", "fine-media", "block-hours", "reservations-of-aws"),
    *("reservations-of-google", "sharing-servers", "adapters-and-own-servers", "receivers-of-alerts", "purchase"),
)
SPEC_FILES = {
    **{name: ROOT / f"stacks/{name}.yaml" for name in EXAMPLES},
    **{name: ROOT / f"tests/cases/spec/{name}/spec.yaml" for name in CASES},
}
INVENTORIES = {"llama-70b-onprem": ROOT / "stacks/inventories/xe9680.yaml", "chat-onprem": ROOT / "stacks/inventories/l40s.yaml"}
"""Inventories of the examples on own servers. In SPECS they are beside the spec."""
DECIDED = ("mistral-7b-qlora", "chat-eks", "llama-70b-sft", "llama-70b-gke", "assistant-eks", "shared", "chat-onprem")
"""Specs with a decision."""
PLACE_OF_AWS = {"cloud": "aws", "account": "123456789012", "regions": ["us-east-1"]}
SERVED = {"kind": "serve", "requests_per_second": 1, "min_replicas": 1}
WRITTEN: dict[str, dict[str, Any]] = {
    "shared": {
        "api_version": "rackwright/v1",
        "name": "shared",
        "workloads": [
            SERVED
            | {"name": "chat", "model": {"base": "qwen2.5-7b", "weights": {"uri": "hf://Qwen/Qwen2.5-7B-Instruct"}}}
            | {"input_tokens": {"mean": 400}, "output_tokens": {"mean": 100}, "max_context": 2048, "max_replicas": 2},
            SERVED
            | {"name": "embed", "model": {"base": "bert-large", "weights": {"uri": "hf://acme/bert"}}}
            | {"sequence_length": 256, "max_replicas": 1},
        ],
        "infra": {"any_of": [PLACE_OF_AWS | {"pin": {"instance": "g6e.xlarge"}}]},
        "blueprint": {"sharing": {"strategy": "mps", "replicas_per_accelerator": 2}},
    },
    "bought": {
        "api_version": "rackwright/v1",
        "name": "bought",
        "workloads": [
            {"name": "sft", "kind": "finetune", "model": {"base": "llama-3.1-8b"}, "adapter": {"type": "lora", "rank": 16}}
            | {"data": {"samples": 1000, "tokens_per_sample": 500, "epochs": 1}, "sequence_length": 2048, "global_batch_size": 16}
        ],
        "goals": {"max_duration": "2h"},
        "infra": {"any_of": [PLACE_OF_AWS]},
        "purchase": {"servers": ["xe9680-h100", "dgx-h100"], "switch": "qm9700", "rack_units": 42, "rack_kw": 44}
        | {"prices": {"servers": {"dgx-h100": "300000 USD"}}},
    },
}
"""Specs of what no example has: workloads that share accelerators, and servers to buy."""
SPECS = {name: yaml.safe_load(path.read_text(encoding="utf-8")) for name, path in SPEC_FILES.items()} | WRITTEN
for _name in INVENTORIES:
    SPECS[_name]["infra"]["any_of"][0]["inventory"] = "inventory.yaml"
OUTPUTS = {
    "endpoint": "https://ABC.gr7.us-east-1.eks.amazonaws.com",
    "clusterName": "demo",
    "bucketNames": {"checkpoints": "demo-checkpoints-1a2b"},
    "keyId": "arn:aws:kms:us-east-1:123456789012:key/1",
    "lustre": {"dnsName": "fs-0abc.fsx.us-east-1.amazonaws.com", "mountName": "fsx"},
    "parts": {
        "cluster": {"securityGroupId": "sg-0abc"},
        "karpenter": {"nodeRoleName": "nodes", "queueName": "queue"},
        "network": {"subnets": {"nodes": ["subnet-0abc"]}},
    },
}
"""Some outputs of a stack, as `pulumi stack output --json` prints them."""
FIRST_FORMAT = ROOT / "tests/states/0.1.0/stacks"
"""Specs and decisions of release 0.1.0."""
ARCHITECTURE = {"layers": 12, "hidden": 768, "heads": 12, "kv_heads": 4, "ffn": 3072, "vocab": 50257, "max_context": 8192}
ARCHITECTURE |= {"experts": 8, "experts_per_token": 2, "expert_ffn": 3072, "sliding_window": 1024, "global_every": 4}
QUOTAS = (
    {"regions": {"us-east-1": {"L-417A185B": {"value": 384, "used": 0}}}},
    {"Quotas": [{"QuotaArn": "arn:aws:servicequotas:us-east-1::ec2/L-1", "QuotaCode": "L-1", "Value": 4}]},
    [{"Quotas": [{"QuotaArn": "arn:aws:servicequotas:us-east-1::ec2/L-2", "QuotaCode": "L-2", "Value": 8}]}, {"Quotas": []}],
)
CONFIGURATIONS: tuple[dict[str, Any], ...] = (
    {"kind": "training", "model": "llama-3.1-8b", "hardware": {"accelerator": "H100", "count": 8}, "engine": {"name": "torchtitan"}}
    | {"sequence": 8192},
    {"kind": "serving", "model": "llama-3.1-8b", "hardware": {"accelerator": "H100"}, "engine": {"name": "vLLM"}, "concurrency": 8}
    | {"input_tokens": 1000, "output_tokens": 200},
)
CONFIGS = tuple(json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "tests/catalog/configs").glob("*.json")))
GRAPH = json.loads((ROOT / "tests/golden/mistral-7b-qlora.json").read_text(encoding="utf-8"))
CATALOG = ROOT / "blueprints/rackwright/catalog/data"
TABLES = tuple(sorted(path.name for path in CATALOG.glob("*.csv") if path.name not in ("versions.csv", "support.csv")))
"""Tables of a catalog that `Catalog.load` reads. The other two belong to the release."""


@cache
def inventory(name: str) -> dict[str, Any]:
    """The inventory of an example on own servers."""
    return yaml.safe_load(INVENTORIES[name].read_text(encoding="utf-8"))


@cache
def decision(name: str) -> dict[str, Any]:
    """The content of the decision for rank 1 of an example."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.yaml"
        path.write_text(yaml.safe_dump(SPECS[name], sort_keys=False), encoding="utf-8")
        if name in INVENTORIES:
            (Path(folder) / "inventory.yaml").write_text(yaml.safe_dump(inventory(name)), encoding="utf-8")
        return json.loads(Pipeline(path, TODAY).choose(1).decision.to_json())


@cache
def first_format(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Spec and decision of release 0.1.0."""
    spec = FIRST_FORMAT / f"{name}.yaml"
    return yaml.safe_load(spec.read_text(encoding="utf-8")), json.loads(decision_path(spec).read_text(encoding="utf-8"))


@cache
def runs() -> list[list[str]]:
    """Header and four measured runs, as a file for `calibrate` has them."""
    rows = read_file(MEASURED / "training_throughput.csv")[:4]
    return [list(rows[0].cells), *(list(row.cells.values()) for row in rows)]


@cache
def calibration() -> dict[str, Any]:
    """The file that `calibrate` writes for `runs()`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.csv"
        path.write_text(csv_text(runs()), encoding="utf-8")
        return json.loads(calibrate(path).to_text())


@cache
def table(name: str) -> list[list[str]]:
    """Header and rows of a table of the catalog."""
    return list(csv.reader((CATALOG / name).read_text(encoding="utf-8").splitlines()))


def csv_text(rows: Any) -> str:
    """CSV text of any value; a list of lists is a table."""
    text = io.StringIO()
    writer = csv.writer(text)
    for row in rows if isinstance(rows, list) else [rows]:
        writer.writerow(row if isinstance(row, list) else [row])
    return text.getvalue()


def export() -> dict[str, Any]:
    """`pulumi stack export` of the resources of GRAPH."""
    resources = [
        {"urn": node["urn"], "type": node["type"], "custom": not node["type"].startswith("rackwright:"), "parent": node["parent"]}
        | {"inputs": node["inputs"] | {"__defaults": []}, "outputs": node["inputs"] | {"id": f"id-{number}"}, "id": f"id-{number}"}
        | {"dependencies": node["dependsOn"], "propertyDependencies": node["propertyDependencies"], "protect": node["protect"]}
        for number, node in enumerate(GRAPH["resources"])
    ]
    return {"version": 3, "deployment": {"manifest": {}, "resources": resources}}


def simulated_cloud(path: Path) -> Path:
    """A file of the simulated cloud with one key alias and one network of the stack mistral-7b-qlora."""
    cloud = SimulatedCloud(path)
    cloud.exists("aws:kms/alias:Alias", "alias/mistral-7b-qlora-key", name="alias/mistral-7b-qlora-key")
    cloud.exists("aws:ec2/vpc:Vpc", "vpc-1", tags={"rackwright-stack": "mistral-7b-qlora", "Name": "old"})
    return path
