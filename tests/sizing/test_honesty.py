"""Intervals that are wide enough, and notes about idle hours, ineffective remedies and assumptions."""

import pytest
from rackwright.sizing.assumptions import DEFAULT
from rackwright.sizing.note import NoteKind
from rackwright.sizing.plan import SizingPlan
from rackwright.sizing.rejection import Limit, Reason
from rackwright.wording.plan_text import fit_warnings, with_text
from rackwright.wording.rationale import rationale
from rackwright.wording.rejections import candidate_remedy, remedy

from tests.sizing.helpers import AWS, BOTH, GCP, block, finetune, plan, serve


def images(base: str, adapter: str = "lora", size: int = 4) -> str:
    job = f"name: pictures, kind: finetune, model: {{base: {base}}}, adapter: {{type: {adapter}}}"
    return f"{{{job}, global_batch_size: {size}, data: {{samples: 1000}}}}"


def pretrain(base: str) -> str:
    return f"{{name: job, kind: pretrain, model: {{base: {base}}}, sequence_length: 4096, global_batch_size: 64, data: {{tokens: 1e9}}}}"


def batch() -> str:
    lengths = "input_tokens: {mean: 800}, output_tokens: {mean: 200}"
    return f"{{name: job, kind: batch, model: {{base: llama-3.1-8b}}, requests: 1e7, {lengths}}}"


def remedies(p: SizingPlan, limit: Limit = Limit.DEVICE_MEMORY) -> set[str]:
    return {remedy(x) for r in p.rejected for x in r.rejections if x.limit is limit}


def test_without_runs_a_small_job_spans_a_factor_of_two_as_well():
    """Its time is mostly the start of the machines, which is as uncertain as the run."""
    tiny = plan(finetune(base="mixtral-8x7b", adapter="qlora").replace("samples: 20000", "samples: 100"), AWS).chosen
    assert tiny.evidence == "prior only"
    assert tiny.duration_s.p90 / tiny.duration_s.p50 == pytest.approx(2, rel=0.01)


def test_reclaims_widen_the_interval_of_spot():
    by_label = {f.candidate.label: f.duration_s for f in plan(finetune(), BOTH).fits}
    firm, spot = (by_label[f"8 x p5.48xlarge us-east-1 {mode}"] for mode in ("on-demand", "spot"))
    assert spot.p90 / spot.p50 > firm.p90 / firm.p50
    assert spot.p10 / spot.p50 < firm.p10 / firm.p50


def test_a_mostly_idle_block_has_a_note_with_its_cost():
    chosen = plan(finetune(), block(48)).chosen
    said = next(w for w in fit_warnings(chosen) if "idle" in w)
    assert said.startswith("The capacity block is paid for 48 h and the run takes about")
    assert f"{chosen.usd_per_hour * (48 - chosen.duration_s.p50 / 3600):,.0f} USD idle" in said


def test_the_rationale_names_the_capacity_block():
    assert rationale(plan(finetune(), block(48))).startswith("Horizontal: cr-0123456789abcdef0 holds 4 machines")
    long = plan(finetune(base="llama-3.1-70b", adapter="none").replace("samples: 20000", "samples: 3000000"), block(24))
    assert remedies(long, Limit.RUN_LIMIT) == {"a longer block, or one with more machines"}


def test_flex_start_has_a_note_with_the_assumed_queue_time():
    p = plan(finetune(), GCP.replace("on-demand", "flex-start"))
    assert all(any("not published; 2.0 h are assumed (0.3 to 12.0)" in w for w in fit_warnings(f)) for f in p.fits)
    assert all(f.finish_s.p50 == f.duration_s.p50 + 7200 for f in p.fits)


def test_half_empty_servers_have_a_note():
    few = next(f for f in plan(serve(rate=0.1), AWS).fits if f.candidate.machine == "p5.48xlarge")
    assert fit_warnings(few) == ("7 of 8 accelerators are paid for but idle",)


def test_remedies_are_for_the_workload_and_the_machine():
    assert not any("adapter" in r for r in remedies(plan(pretrain("llama-3.1-70b"), AWS, GCP)))
    slices = [remedy(x) for r in plan(finetune("llama-3.1-70b", "none"), GCP).rejected if r.candidate.topology for x in r.rejections]
    assert any("a larger slice" in r for r in slices)
    assert not any("adapter" in r for r in slices)


@pytest.mark.parametrize(
    ("model", "more", "machine", "remedies"),
    [
        ("qwen2.5-32b", "", "g6e.xlarge", "quantization: fp8, or an accelerator with more memory"),
        ("llama-3.1-405b", "", "p4de.24xlarge", "quantization: int8, or an accelerator with more memory"),
        ("llama-3.1-405b", "", "p3dn.24xlarge", "an accelerator with more memory"),
        ("llama-3.1-405b", "", "g6e.48xlarge", "an accelerator with more memory"),  # half of the weights do not fit either
        ("llama-3.1-405b", "quantization: fp8", "g6e.48xlarge", "an accelerator with more memory"),
    ],
)
def test_a_format_is_a_remedy_only_where_it_is_supported_new_and_enough(model, more, machine, remedies):
    refused = {r.candidate.machine: candidate_remedy(r) for r in plan(serve(model, more=more), AWS).rejected}
    assert refused[machine] == remedies


def test_a_model_in_8_bit_is_not_told_to_use_8_bit_for_its_latency():
    """Just beyond the goal: with 16-bit weights half the bytes would be enough."""
    texts = {}
    for format in ("auto", "fp8"):
        p = plan(serve("llama-3.1-8b", more=f"quantization: {format}, tpot: {{target: 12 ms}}"), AWS)
        near = [r for r in p.rejected if r.rejections[0].reason is Reason.IDLE_LATENCY and r.distance < 2]
        texts[format] = " ".join(map(candidate_remedy, near))
        assert near
    assert "or quantization: fp8" in texts["auto"]
    assert "fp8" not in texts["fp8"]


def test_a_tpu_that_the_spec_does_not_name_has_a_note():
    both, alone = (plan(finetune(adapter="none"), AWS, GCP, more=more) for more in ("", "blueprint: {kind: tpu-pod}"))
    assert both.chosen.candidate.topology
    assert NoteKind.TPU_CHOSEN in {note.kind for note in both.notes}
    assert not alone.notes


def test_requests_of_a_batch_need_no_network_between_machines():
    p = plan(batch(), AWS, goals="{max_duration: 12h}")
    several = [f.candidate for f in p.fits if f.candidate.machine == "g6e.xlarge"]
    assert several
    assert all(c.nodes > 1 for c in several)


def test_a_batch_fills_the_cache():
    fit = next(f for f in plan(batch(), AWS).fits if f.candidate.machine == "p5en.48xlarge")
    assert fit.memory.fill == pytest.approx(DEFAULT.serving_max_fill)
    assert fit.speed.concurrency > DEFAULT.max_sequences
    assert fit.duration_s.p90 / fit.duration_s.p50 > 1.1


def test_models_published_in_few_bits_are_served_in_them():
    """gpt-oss-120b (MXFP4) fits one 80 GB device; DeepSeek-V3 (FP8, 671 GB) eight of 141 GB."""
    open_weights = {f.candidate.machine: f.candidate for f in plan(serve("gpt-oss-120b", rate=1), AWS).fits}
    assert open_weights["p5.4xlarge"].precision == "fp4"
    v3 = {f.candidate.machine: f.candidate for f in plan(serve("deepseek-v3", rate=1), AWS).fits}
    assert v3["p5en.48xlarge"].precision == "fp8"


def test_four_bit_weights_need_four_bit_arithmetic_only_when_the_spec_sets_it():
    def machines(more: str) -> set[str]:
        return {f.candidate.machine for f in plan(serve(rate=1, more=more), AWS).fits}

    assert "p5.4xlarge" in machines("quantization: fp4")
    assert "p5.4xlarge" not in machines("precision: fp4")
    assert "g4dn.xlarge" not in machines("quantization: fp4")
    assert "p4d.24xlarge" not in machines("quantization: fp8")


def test_mixture_of_experts_serving_has_a_note():
    assert any("measure one replica first" in w for w in with_text(plan(serve("mixtral-8x7b"), AWS)).warnings)


def test_a_missing_latency_goal_has_a_note():
    said = "No latency goal is set (ttft, tpot): slow machines are not rejected"
    assert said in with_text(plan(serve(), AWS)).warnings
    assert said not in with_text(plan(serve(more="tpot: {target: 50 ms}"), AWS)).warnings


def test_revenue_is_compared_with_the_cost_of_the_machines():
    p = plan(serve(more="tpot: {target: 50 ms}, revenue: 0.50 USD / 1M tokens"), AWS)
    month = 10 * 200 * 3600 * 730 * 0.5e-6
    assert with_text(p).warnings == (
        f"Revenue is at most {month:,.0f} USD a month at peak traffic; machines cost {p.chosen.cost_usd.p50:,.0f} USD a month",
    )


def test_the_longest_request_is_a_listed_assumption():
    p = plan(serve(), AWS)
    assert p.facts.sequence_length == 2 * (2000 + 500)
    assert next(x for x in p.assumptions if x.name == "max_context").value == "5000"
    assert plan(serve(more="max_context: 3000"), AWS).facts.sequence_length == 3000


def test_the_spec_may_set_the_size_of_the_weights():
    given = serve().replace("base: llama-3.1-8b", "base: llama-3.1-8b, weights: {uri: s3://team/weights, size: 5 GB}")
    assert plan(given, AWS).facts.weights_bytes == 5e9


def test_an_image_is_many_passes_of_the_network():
    """FLUX.1 at 1,024 x 1,024: 74 TFLOP per pass; 50 passes take 12 s on an H100 at 30 % of its peak."""
    p = plan(serve("flux.1-dev", rate=1), AWS)
    h100 = next(f for f in p.fits if f.candidate.machine == "p5.48xlarge")
    assert h100.candidate.replicas > 74e12 * 50 / (989e12 * 0.3)
    assert any("50 network passes" in w for w in with_text(p).warnings)


def test_a_large_diffusion_model_can_be_tuned_on_one_device():
    p = plan(images("flux.1-dev"), AWS, more="blueprint: {kind: box}")
    single = {f.candidate.machine: f for f in p.fits if f.candidate.accelerators == 1}
    assert single["p5.4xlarge"].candidate.parallelism.recompute == "full"
    assert single["p5.4xlarge"].memory.total_bytes < 76e9


def test_small_networks_use_large_micro_batches():
    assert plan(images("resnet-50", "none", 1024), AWS).chosen.candidate.parallelism.micro_batch >= 32


def test_experts_with_adapters_have_no_runs():
    assert {f.evidence for f in plan(finetune("mixtral-8x7b"), AWS).fits} == {"prior only"}


def test_single_precision_is_slower_and_larger():
    half, single = (plan(finetune(adapter="none", more=f"precision: {p}"), AWS).fits for p in ("bf16", "fp32"))
    label = "1 x p6-b300.48xlarge us-east-1 on-demand"
    times = [next(f.duration_s.p50 for f in fits if f.candidate.label == label) - DEFAULT.startup_s for fits in (half, single)]
    assert times[1] > 1.4 * times[0]


def test_the_rationale_names_cheaper_candidates_of_several_machines():
    """Vertical before horizontal is the rule, and its extra cost is shown."""
    from dataclasses import replace

    from rackwright.sizing.metrics import Interval

    p = plan(finetune(adapter="qlora"), AWS)
    one = p.fits[0]
    two = replace(one, candidate=replace(one.candidate, nodes=2), cost_usd=Interval(1.0, 2.0, 3.0))
    assert "rank 2, 2 x" in rationale(replace(p, fits=(one, two), rejected=()))
    dear = replace(two, cost_usd=Interval(900.0, 1000.0, 1100.0))
    assert "would only add a network" in rationale(replace(p, fits=(one, dear), rejected=()))


def test_a_place_with_its_own_price_ranks_before_one_with_a_borrowed_price():
    place = GCP.replace("us-central1", "europe-west4, us-central1")
    assert plan(finetune(adapter="qlora"), place).fits[0].candidate.region == "us-central1"
