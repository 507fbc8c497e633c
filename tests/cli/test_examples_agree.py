"""`plan`, `explain`, `economics`, `compare` and `estimate` print the same numbers for the choice of every example, as a user runs them."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rackwright.report.terminal.explain import _speed_rows
from rackwright.sizing.assumptions import DEFAULT
from rackwright.sizing.evaluation.evaluate import p80
from rackwright.sizing.inputs.training_recipe import ADAPTERS, FULL
from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.spec.workload import Serve
from rackwright.wording.formatting import span, usd
from rackwright.workflow.load import load

from tests.sizing.helpers import TODAY

STACKS = sorted(path.stem for path in (Path(__file__).parents[2] / "stacks").glob("[a-z]*.yaml"))
SEVERAL = ("assistant-eks",)
"""Examples with several workloads; tests/cli/test_several_workloads.py compares their combinations."""
NOT_COMPARED = dict.fromkeys(("chat-onprem", "chat-tpu", "gemma-multislice", "llama-70b-onprem"), "C-candidate")
"""Examples without a second candidate to compare -> the code of the refusal."""
SHARDS = ("none", "zero1", "zero2", "zero3")
SERVICES = [name for name in STACKS if isinstance(load(f"stacks/{name}.yaml").workload, Serve)]


@pytest.fixture
def run(rackwright):
    def printed(*arguments: str) -> str:
        result = rackwright(*arguments, *(() if arguments[0] == "estimate" else ("--today", str(TODAY))))
        assert result.status == 0, result.err
        return result.out

    return printed


@cache
def known() -> dict[str, SizingPlan]:
    return {}


def chosen(run, name: str) -> tuple[SizingPlan, Fit]:
    if name not in known():
        known()[name] = SizingPlan.from_json(run("plan", f"stacks/{name}.yaml", "--json"))
    plan = known()[name]
    assert plan.chosen
    return plan, plan.chosen


def flat(text: str) -> str:
    return " ".join(text.split())


def configuration(name: str, fit: Fit) -> dict[str, Any]:
    """The chosen layout as a line of `rackwright estimate`."""
    w, c, p = load(f"stacks/{name}.yaml").workload, fit.candidate, fit.candidate.parallelism
    hardware = {"accelerator": c.accelerator, "count": c.accelerators, "per_node": c.accelerators_per_node}
    if isinstance(w, Serve):
        longest = w.max_context or 2 * round((w.input_tokens.p95 or w.input_tokens.mean) + (w.output_tokens.p95 or w.output_tokens.mean))
        return {
            "kind": "serving", "model": w.model.base, "engine": {"name": "vllm"},
            "hardware": hardware | {"count": c.replicas * p.accelerators},
            "layout": {"tensor": p.tensor, "pipeline": p.pipeline, "replicas": c.replicas}, "weight_numbers": c.precision,
            "input_tokens": w.input_tokens.mean, "output_tokens": w.output_tokens.mean, "requests_per_s": fit.speed.requests_per_s,
            "max_context": longest, "max_sequences": DEFAULT.max_sequences,
        }  # fmt: skip
    layout = {"tensor": p.tensor, "pipeline": p.pipeline, "virtual": p.virtual, "context": p.context, "expert": p.expert, "data": p.data}
    adapter = getattr(w, "adapter", None)
    method = adapter.type if adapter and adapter.type != "none" else ""
    engine = "maxtext" if c.topology else ADAPTERS if method else FULL
    found = {
        "kind": "training", "model": w.model.base, "sequence": w.sequence_length or DEFAULT.default_sequence_length,
        "micro_batch": p.micro_batch, "global_batch": w.global_batch_size, "recompute": p.recompute, "hardware": hardware,
        "layout": layout | {"shard": SHARDS[p.zero_stage]}, "engine": {"name": engine},
    }  # fmt: skip
    if not w.data.packed:
        found |= {"packed": False, "mean_length": w.data.tokens_per_sample}
    if method:
        found["adapter"] = {"type": method, "rank": adapter.rank, "targets": adapter.targets}
    return found


@pytest.mark.parametrize("name", STACKS)
def test_plan_and_explain_print_the_same_choice(run, name):
    plan, fit = chosen(run, name)
    explained = json.loads(run("explain", f"stacks/{name}.yaml", "1", "--json"))["fits"][0]
    planned = json.loads(run("plan", f"stacks/{name}.yaml", "--json"))["fits"][0]
    for key in ("candidate", "speed", "memory", "cost_usd", "usd_per_hour", "duration_s", "evidence", "binding", "why"):
        assert explained[key] == planned[key], key
    table, text = flat(run("plan", f"stacks/{name}.yaml")), flat(run("explain", f"stacks/{name}.yaml", "1"))
    for label, value in _speed_rows(fit.speed, plan.facts):
        assert f"{label} {value}" in text
    assert str(fit.candidate.parallelism) in text
    for interval, shown in ((fit.finish_s, span), (fit.cost_usd, usd)):
        if interval and p80(interval) > interval.p50:
            assert shown(p80(interval)) in text
    if fit.speed.ttft_s:
        assert span(fit.speed.ttft_s) in table


@pytest.mark.parametrize("name", STACKS)
def test_the_tightest_goal_has_the_p80_beside_the_p50(run, name):
    """The deadline was printed with p10 and p90, and a latency goal without its median."""
    _, fit = chosen(run, name)
    (line,) = (line for line in run("plan", f"stacks/{name}.yaml").splitlines() if line.startswith("tightest"))
    assert "(p80 " in line or "memory" in line
    if "duration" in line:
        assert f"{span(fit.finish_s.p50)} (p80 {span(p80(fit.finish_s))}) of " in line
    if "each token" in line:
        assert f"{span(fit.speed.tpot_p50_s)} (p80 {span(fit.speed.tpot_s)}) of " in line


@pytest.mark.parametrize("name", SERVICES)
def test_economics_print_the_replicas_the_layout_and_the_price_of_the_plan(run, name):
    _, fit = chosen(run, name)
    made, c = json.loads(run("economics", f"stacks/{name}.yaml", "--json")), fit.candidate
    assert made["machine"] == c.label
    assert made["p95_requests_per_s"] == fit.speed.requests_per_s
    assert made["p95_point"]["replicas"] == c.replicas
    assert made["p95_point"]["usd_per_hour"] == pytest.approx(fit.usd_per_hour)
    (row,) = (row for row in made["comparison"] if row["rank"] == 1)
    assert (row["machine"], row["replica"]["layout"]["tensor"]) == (c.machine, c.parallelism.tensor)
    assert f"p95 {fit.speed.requests_per_s:,.3g}/s: {c.replicas} replica" in flat(run("economics", f"stacks/{name}.yaml"))


@pytest.mark.parametrize("name", [name for name in STACKS if name not in (*NOT_COMPARED, *SEVERAL)])
def test_compare_prints_the_numbers_of_the_plan(run, name):
    plan, fit = chosen(run, name)
    found = json.loads(run("compare", f"stacks/{name}.yaml", "1", "2", "--json"))
    values = {(term["group"], term["term"]): term["values"][0] for term in found["terms"]}
    first = "first token" if plan.facts.unit == "token" else "answer under load"
    expected = {
        ("time", "step"): fit.speed.step_s, ("rate", "tokens/s"): fit.speed.tokens_per_s,
        ("time", f"{first}, p80"): fit.speed.ttft_s, ("time", f"{first}, p50"): fit.speed.ttft_p50_s,
        ("time", "each later token, p80"): fit.speed.tpot_s, ("time", "run"): fit.finish_s and fit.finish_s.p50,
        ("time", "run, p80"): fit.finish_s and p80(fit.finish_s), ("price, USD", "all machines, per hour"): fit.usd_per_hour,
    }  # fmt: skip
    assert {key: values[key] for key, value in expected.items() if value} == {key: value for key, value in expected.items() if value}


@pytest.mark.parametrize(("name", "code"), NOT_COMPARED.items())
def test_compare_refuses_what_it_does_not_compare(rackwright, name, code):
    answer = rackwright("compare", f"stacks/{name}.yaml", "1", "2", "--json", "--today", str(TODAY))
    assert (answer.status, [problem["code"] for problem in json.loads(answer.out)["problems"]]) == (2, [code])


@pytest.mark.parametrize("name", STACKS)
def test_the_estimate_of_the_chosen_layout_has_the_rate_of_the_plan(run, name, tmp_path):
    """Of several machines the plan has the links of the catalog, and the estimate those of the vendor's server."""
    _, fit = chosen(run, name)
    file = tmp_path / "chosen.jsonl"
    file.write_text(json.dumps(configuration(name, fit)) + "\n", encoding="utf-8")
    found = json.loads(run("estimate", str(file), "--json"))
    if name in SERVICES:
        assert found["memory"]["weights"] == pytest.approx(fit.memory.weights_bytes)
        for key, median, slow in (("ttft_s", fit.speed.ttft_p50_s, fit.speed.ttft_s), ("tpot_s", fit.speed.tpot_p50_s, fit.speed.tpot_s)):
            assert found[key]["p50"] <= median * (1 + 1e-9) <= slow
        return
    assert found["tokens_per_s"]["p50"] == pytest.approx(fit.speed.tokens_per_s, rel=0.05 if fit.candidate.nodes > 1 else 1e-3)
    assert found["step_s"]["p50"] == pytest.approx(fit.speed.step_s, rel=0.05 if fit.candidate.nodes > 1 else 1e-3)
