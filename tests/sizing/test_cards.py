"""Every accelerator that a cloud sells: a QLoRA of a 7B model and an 8B chat are sized on it, or refused for a named reason."""

import io
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from rackwright.catalog import Catalog
from rackwright.catalog.query import missing_facts
from rackwright.catalog.rows import Availability, CapacityMode
from rackwright.report.alternatives import rejection_rows
from rackwright.report.reference.accelerators_page import page
from rackwright.report.terminal.explain import show_explanation
from rackwright.sizing.plan import SizingPlan
from rackwright.sizing.rejection import Limit, Reason, Rejection
from rackwright.wording.plan_text import fit_warnings
from rackwright.wording.rejections import rejection_text, remedy
from rich.console import Console

from tests.sizing.helpers import AWS, GCP, finetune, plan, rejection, serve, spec_of

UNPUBLISHED = ("Intel Gaudi (HL-205)", "AMD Radeon Pro V520")
"""Accelerators on sale without public FLOP/s or bandwidth. No blueprint supports them, which is the reason that a plan shows."""
CATALOG = Catalog.default()
QLORA = finetune("llama-2-7b", "qlora").replace("4096", "512").replace("global_batch_size: 64", "global_batch_size: 16")
CHAT = serve("llama-3.1-8b", rate=1)


def smallest_machines() -> dict[tuple[str, float], str]:
    """(accelerator, fraction) -> the machine with the fewest of them, over all that can be ordered from a cloud."""
    sold = [m for m in CATALOG.machines if m.orderable and m.accelerator and m.cloud in ("aws", "gcp")]
    found: dict[tuple[str, float], str] = {}
    for m in sorted(sold, key=lambda m: (m.accelerator_count, m.vcpus or 0)):
        found.setdefault((m.accelerator or "", m.accelerator_fraction), m.name)
    return found


SOLD = smallest_machines()


@cache
def planned(workload: str, name: str, catalog: Catalog = CATALOG) -> SizingPlan:
    """The plan of a workload pinned to one machine, as if it were offered on demand in the usual region."""
    machine = catalog.machine_by_name[name]
    region, place = ("us-east-1", AWS) if machine.cloud == "aws" else ("us-central1", GCP)
    offered = replace(machine, capacity_modes=(CapacityMode.ON_DEMAND,))
    rows = tuple(offered if m.name == name else m for m in catalog.machines)
    places = (*catalog.availability, Availability(name, machine.cloud, region, (), "", "test", "2026-11-21"))
    return plan(
        workload,
        place.replace("regions", f"pin: {{instance: {name}}}, regions"),
        catalog=replace(catalog, machines=rows, availability=places),
    )


def rejections_of(found: SizingPlan, name: str) -> list[Rejection]:
    return [each for miss in found.rejected if miss.candidate.machine == name for each in miss.rejections]


@pytest.mark.parametrize("workload", [QLORA, CHAT], ids=["qlora-7b", "chat-8b"])
@pytest.mark.parametrize(("accelerator", "name"), [(key[0], name) for key, name in SOLD.items()], ids=list(SOLD.values()))
def test_an_accelerator_on_sale_is_not_refused_for_missing_data(accelerator, name, workload):
    found = planned(workload, name)
    gaps = [each for each in rejections_of(found, name) if each.reason is Reason.UNPUBLISHED]
    assert found.fits or rejections_of(found, name)
    assert not gaps, rejection_text(gaps[0])
    if accelerator in UNPUBLISHED:
        assert any(each.reason is Reason.ACCELERATOR_FAMILY for each in rejections_of(found, name))


def test_the_page_of_accelerators_is_that_of_the_catalog():
    document = Path(__file__).parents[2] / "docs" / "accelerators.md"
    command = "python -m rackwright.report.reference.accelerators_page docs/accelerators.md"
    assert document.read_text(encoding="utf-8") == page(CATALOG), command


def test_only_the_listed_accelerators_on_sale_have_gaps():
    machines = {m.name: m for m in CATALOG.machines}
    gaps = {a for (a, _), name in SOLD.items() if missing_facts(machines[name], CATALOG.accelerator_by_name[a.lower()])}
    assert gaps == set(UNPUBLISHED)


@pytest.mark.parametrize(
    ("name", "memory_gib", "bandwidth_gb_s", "tflops"),
    [("g5.xlarge", 22.35, 600, 70), ("g5g.xlarge", 16, 320, 65), ("g7.2xlarge", 32, 800, 219.7), ("g7e.2xlarge", 95.59, 1597, 467.8)],
)
def test_small_cards_have_the_figures_of_their_sources(name, memory_gib, bandwidth_gb_s, tflops):
    row = CATALOG.accelerator_by_name[(CATALOG.machine_by_name[name].accelerator or "").lower()]
    assert row.memory_bytes == pytest.approx(memory_gib * 2**30, rel=1e-3)
    assert row.memory_bandwidth_bytes_per_s == bandwidth_gb_s * 1e9
    assert (row.bf16_flops or row.fp16_flops) == pytest.approx(tflops * 1e12)


@pytest.mark.parametrize("name", ["g4dn.xlarge", "g5g.2xlarge", "p3dn.24xlarge"])
def test_qlora_trains_in_fp16_with_loss_scaling_without_bf16(name):
    fit = planned(QLORA, name).fits[0]
    assert fit.candidate.precision == "fp16"
    assert any("no bf16 arithmetic: training is in fp16 with dynamic loss scaling" in words for words in fit_warnings(fit))
    assert fit.evidence == "prior only"


@pytest.mark.parametrize("adapter", ["none", "lora", "qlora"])
def test_every_training_method_picks_fp16_on_a_v100(adapter):
    fits = planned(finetune("llama-3.2-1b", adapter), "p3dn.24xlarge").fits
    assert fits
    assert {fit.candidate.precision for fit in fits} == {"fp16"}


def test_bf16_is_picked_where_the_card_has_it():
    fit = planned(QLORA, "g5.xlarge").fits[0]
    assert fit.candidate.precision == "bf16"
    assert not any("fp16" in words for words in fit_warnings(fit))


def test_fp16_has_the_bytes_of_bf16():
    """Both keep fp32 master weights (arXiv 1710.03740): a T4 that had bf16 would need as much."""
    t4 = CATALOG.accelerator_by_name["nvidia t4"]
    both = tuple(replace(a, bf16_flops=a.fp16_flops) if a.name == t4.name else a for a in CATALOG.accelerators)
    in_fp16, in_bf16 = (planned(QLORA, "g4dn.xlarge", c).fits[0] for c in (CATALOG, replace(CATALOG, accelerators=both)))
    assert (in_fp16.candidate.precision, in_bf16.candidate.precision) == ("fp16", "bf16")
    assert (in_fp16.memory, in_fp16.speed) == (in_bf16.memory, in_bf16.speed)


def test_a_chat_on_a_t4_is_served_in_fp16():
    fit = planned(serve("llama-3.2-1b", rate=1), "g4dn.xlarge").fits[0]
    assert fit.candidate.precision == "fp16"
    assert any("NVIDIA T4 has no bf16 arithmetic: weights and products are in fp16" in words for words in fit_warnings(fit))


def full(precision: str) -> str:
    return finetune("llama-3.2-1b", "none", f"precision: {precision}")


def chat(key: str, value: str) -> str:
    return serve("llama-3.2-1b", rate=1, more=f"{key}: {value}")


@pytest.mark.parametrize(
    ("workload", "name", "words", "fix"),
    [
        (full("bf16"), "g4dn.xlarge", "NVIDIA T4 does not compute in bf16; its nearest format is fp16", "precision: fp16"),
        (full("fp8"), "g5.xlarge", "NVIDIA A10G does not compute in fp8; its nearest format is bf16", "precision: bf16"),
        (full("fp8"), "g4dn.xlarge", "NVIDIA T4 does not compute in fp8; its nearest format is fp16", "precision: fp16"),
        (full("fp4"), "g6.xlarge", "NVIDIA L4 does not compute in fp4; its nearest format is fp8", "precision: fp8"),
        (full("fp4"), "p5.4xlarge", "NVIDIA H100 80GB SXM5 does not compute in fp4; its nearest format is fp8", "precision: fp8"),
        (full("fp4"), "p4d.24xlarge", "NVIDIA A100 40GB SXM4 does not compute in fp4; its nearest format is bf16", "precision: bf16"),
        (full("fp8"), "trn1.2xlarge", "AWS Trainium1 does not compute in fp8; its nearest format is bf16", "precision: bf16"),
        (full("fp16"), "ct5lp-hightpu-1t", "TPU v5e does not compute in fp16; its nearest format is bf16", "precision: bf16"),
        (chat("precision", "fp8"), "g5.xlarge", "NVIDIA A10G does not compute in fp8; its nearest format is int8", "precision: int8"),
        (chat("quantization", "fp8"), "g4dn.xlarge", "NVIDIA T4 does not compute in fp8; its nearest format is int8", "quantization: int8"),
        (chat("quantization", "int8"), "p3dn.24xlarge", "NVIDIA V100 SXM2 32GB does not compute in int8; its nearest format is fp16", "q"),
        (chat("quantization", "fp4"), "g4dn.xlarge", "NVIDIA T4 does not compute in fp4; its nearest format is int8", "quantization: int8"),
        (chat("precision", "bf16"), "g5g.xlarge", "NVIDIA T4g does not compute in bf16; its nearest format is fp16", "precision: fp16"),
    ],
)  # fmt: skip
def test_an_unsupported_format_is_refused_with_the_nearest_one(workload, name, words, fix):
    missed = next(each for each in rejections_of(planned(workload, name), name) if each.limit is Limit.PRECISION)
    assert rejection_text(missed) == f"number format: {words}"
    assert remedy(missed).startswith(fix)


def test_fp4_training_is_sized_on_hardware_with_fp4():
    found = planned(full("fp4"), "p6-b200.48xlarge")
    assert found.fits[0].candidate.precision == "fp4"


def test_a_share_of_a_card_has_that_share_of_its_rates():
    whole, share = (planned(serve("llama-3.2-1b", rate=0.1), name).fits[0] for name in ("g6.xlarge", "g6f.4xlarge"))
    assert share.memory.capacity_bytes == pytest.approx(whole.memory.capacity_bytes / 2, rel=1e-2)
    assert share.speed.tpot_s > 1.5 * whole.speed.tpot_s
    assert (whole.evidence, share.evidence) == (whole.evidence, "prior only")
    assert any("g6f.4xlarge has 1/2 of one NVIDIA L4: the same share" in words for words in fit_warnings(share))


def test_an_eighth_of_a_card_is_too_small_for_a_7b_model():
    missed = rejection(planned(QLORA, "g6f.large"), "1 x g6f.large us-east-1 on-demand", Limit.DEVICE_MEMORY)
    assert missed.have < 2.79


def test_inferentia1_has_no_engine():
    missed = [each for each in rejections_of(planned(CHAT, "inf1.2xlarge"), "inf1.2xlarge") if each.reason is Reason.NEURON_ENGINE]
    assert rejection_text(missed[0]) == "blueprint: no documented engine serves this model on AWS Inferentia1"


def test_an_accelerator_with_a_gap_is_one_line():
    """All sizes, counts and modes of g5g, were the bandwidth of the T4g not published."""
    gap = tuple(replace(a, memory_bandwidth_bytes_per_s=None) if a.name == "NVIDIA T4g" else a for a in CATALOG.accelerators)
    found = plan(QLORA, AWS.replace("[on-demand]", "[on-demand, spot]"), catalog=replace(CATALOG, accelerators=gap))
    assert sum(miss.candidate.accelerator == "NVIDIA T4g" for miss in found.rejected) >= 12
    of_gap = [row for row in rejection_rows(found) if "not published" in row[1]]
    assert [row[1].split(",")[0] for row in of_gap] == ["published data: memory bandwidth of NVIDIA T4g not published"]
    out = io.StringIO()
    show_explanation(Console(file=out, width=160), found, spec_of(QLORA, AWS))
    listed = out.getvalue().split("Rejected candidates")[1].split("Assumptions")[0]
    assert listed.count("T4g") <= 2
    assert "g5g" not in listed.replace("g5g.xlarge", "", 1)
