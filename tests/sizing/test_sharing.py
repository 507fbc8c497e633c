"""Services on divided accelerators: MIG, MPS and time-slicing, of one workload and of several that share a pool."""

from dataclasses import replace
from datetime import date
from functools import lru_cache
from pathlib import Path

import pytest
from rackwright.catalog.read import Catalog
from rackwright.catalog.sharing import equal_parts, mig_parts
from rackwright.report.plan_json import plan_json
from rackwright.report.terminal.economics import economics_lines
from rackwright.report.terminal.several import workload_text
from rackwright.sizing.economics.serving import economics_of
from rackwright.sizing.note import NoteKind
from rackwright.sizing.offers.sharing import machine_of, profiles_of
from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.sizing.rejection import Limit
from rackwright.sizing.selection.revalidation import resize_stack
from rackwright.spec import read
from rackwright.spec.spec import Spec
from rackwright.wording.formatting import span
from rackwright.wording.notes import note_text
from rackwright.workflow.day_one import day_one
from rackwright.workflow.pipeline import Pipeline

from tests import own_plans

TODAY = date(2026, 11, 21)
CATALOG = Catalog.default()
H100 = "NVIDIA H100 80GB SXM5"


def embedding(name: str, rate: float = 10, latency: str = "300 ms", model: str = "bert-large") -> str:
    return (
        f"{{name: {name}, kind: serve, model: {{base: {model}}}, requests_per_second: {rate}, sequence_length: 256, "
        f"latency: {{target: {latency}, percentile: 95}}, max_replicas: 1}}"
    )


def spec(*workloads: str, sharing: str = "none", instance: str = "g6e.xlarge", goals: str = "{}") -> Spec:
    place = f"{{cloud: aws, account: '123456789012', regions: [us-east-1], pin: {{instance: {instance}}}}}"
    head = f"api_version: rackwright/v1\nname: test\nworkloads: [{', '.join(workloads)}]\ngoals: {goals}\n"
    return read(f"{head}infra: {{any_of: [{place}]}}\nblueprint: {{sharing: {sharing}}}\n")


@lru_cache(maxsize=32)
def plan_of(*workloads: str, **more: str) -> SizingPlan:
    return Pipeline.of_spec(spec(*workloads, **more), TODAY).plan


def chosen_of(*workloads: str, **more: str) -> Fit:
    found = plan_of(*workloads, **more).chosen
    assert found
    return found


def monthly(fit: Fit) -> float:
    assert fit.stack_usd is not None
    return fit.stack_usd


@pytest.mark.parametrize(
    ("instance", "strategy", "parts"), [("g6e.xlarge", "mps", 2), ("g6e.xlarge", "time-slicing", 2), ("p5.4xlarge", "mig", 2)]
)
def test_two_small_models_on_one_accelerator_cost_half_of_two(instance, strategy, parts):
    both = embedding("one"), embedding("two")
    apart, shared = (chosen_of(*both, sharing=sharing, instance=instance) for sharing in ("none", strategy))
    assert [fit.candidate.sharing for fit in apart.each_workload] == [None, None]
    divided = [fit.candidate.sharing for fit in shared.each_workload]
    assert {(each.strategy, each.parts, each.workloads) for each in divided} == {(strategy, parts, ("one", "two"))}
    assert [fit.candidate.nodes for fit in shared.each_workload] == [1, 1]
    assert len(shared.each_pool) == 1
    assert monthly(shared) == pytest.approx(monthly(apart) / 2)
    assert sum(fit.cost_usd.p50 for fit in shared.each_workload) == pytest.approx(monthly(shared))


def test_nothing_is_shared_without_the_option():
    assert all(fit.candidate.sharing is None for found in plan_of(embedding("one"), embedding("two")).fits for fit in found.each_workload)


def test_auto_shares_by_mig_and_mps_but_not_by_time_slicing():
    strategies = {
        fit.candidate.sharing.strategy
        for instance in ("g6e.xlarge", "p5.4xlarge")
        for fit in plan_of(embedding("one"), sharing="auto", instance=instance).fits
        if fit.candidate.sharing
    }
    assert strategies == {"mig", "mps"}


def test_a_missed_latency_goal_keeps_the_own_pool():
    """A whole L40S answers in a third of the time of half of one, which is also known less well."""
    tight = embedding("one", latency="16 ms"), embedding("two", latency="16 ms")
    assert chosen_of(embedding("one", latency="16 ms"), instance="g6e.xlarge").overruled == ()
    shared = chosen_of(*tight, sharing="{strategy: mps, replicas_per_accelerator: 2}")
    assert [fit.candidate.sharing for fit in shared.each_workload] == [None, None]


def test_the_budget_is_met_by_sharing_alone():
    both, goals = (embedding("one"), embedding("two")), "{max_cost: 3000 USD}"
    apart = Pipeline.of_spec(spec(*both), TODAY).update_preview().bill
    shared = Pipeline.of_spec(spec(*both, sharing="mps"), TODAY).update_preview().bill
    assert apart
    assert shared
    machine = next(line for line in shared.lines if line.what.startswith("g6e.xlarge"))
    assert (machine.what, machine.quantity) == ("g6e.xlarge, on-demand, one and two", 1)
    assert apart.total_usd - shared.total_usd == pytest.approx(machine.total_usd, rel=0.05)
    assert chosen_of(*both, sharing="mps", goals=goals).candidate.sharing


def test_replicas_of_one_model_share_an_accelerator():
    many = embedding("one", rate=2000).replace("max_replicas: 1", "max_replicas: 40")
    whole, divided = (chosen_of(many, sharing=sharing, instance="p5.4xlarge") for sharing in ("none", "{strategy: mig, profile: 1g.10gb}"))
    assert whole.candidate.sharing is None
    for fit in (f for f in plan_of(many, sharing="mig", instance="p5.4xlarge").fits if f.candidate.sharing):
        c = fit.candidate
        assert c.nodes == -(-c.replicas // c.sharing.parts)
        assert fit.memory.capacity_bytes == pytest.approx(
            c.sharing.memory_share * machine_of(whole.candidate, CATALOG).whole_accelerators * 80e9, rel=0.1
        )
    assert divided.cost_usd


def test_the_interval_is_wider_and_the_evidence_is_said():
    shared = chosen_of(embedding("one"), embedding("two"), sharing="mps")
    (note,) = [note for note in shared.notes if note.kind is NoteKind.SHARED_ACCELERATOR]
    assert "50% of the memory" in note_text(note)
    assert shared.evidence == "prior only"
    sliced = chosen_of(embedding("one"), embedding("two"), sharing="time-slicing")
    assert [note.kind for note in sliced.notes if note.kind is NoteKind.TIME_SLICED]
    assert sliced.speed.ttft_s > shared.speed.ttft_s
    names = {item.name for item in plan_of(embedding("one"), embedding("two"), sharing="mps").assumptions}
    assert "mps_slowdown" in names
    assert "mps_slowdown" not in {item.name for item in plan_of(embedding("one")).assumptions}


def test_a_replica_on_a_part_has_no_tensor_parallelism():
    chat = (
        "{name: chat, kind: serve, model: {base: llama-3.1-8b}, requests_per_second: 1, input_tokens: {mean: 500}, "
        "output_tokens: {mean: 100}}"
    )
    for fit in plan_of(chat, sharing="auto", instance="p5.48xlarge").fits:
        assert fit.candidate.sharing is None or fit.candidate.parallelism.accelerators == 1


def test_text_and_json_name_the_workloads_that_share():
    given = spec(embedding("one"), embedding("two"), sharing="mps")
    pipeline = Pipeline.of_spec(given, TODAY)
    chosen = pipeline.plan.chosen
    assert chosen
    assert "1 x L40S in 2 (MPS) shared with two" in workload_text(given, chosen)
    assert "one and two share 1 x g6e.xlarge (MPS, 2 replicas per accelerator)" in pipeline.plan.scaling
    shown = plan_json(pipeline.plan, pipeline.update_preview())["fits"][0]["candidate"]["sharing"]
    assert (shown["strategy"], shown["parts"], shown["workloads"]) == ("mps", 2, ["one", "two"])
    assert SizingPlan.from_json(pipeline.plan.to_json()) == pipeline.plan


def test_json_of_whole_accelerators_has_no_key_of_sharing():
    assert "sharing" not in plan_of(embedding("one")).to_json()


def test_a_recorded_shared_pool_stays_shared():
    given = spec(embedding("one"), embedding("two"), sharing="mps")
    chosen = Pipeline.of_spec(given, TODAY).plan.chosen
    assert chosen
    again = resize_stack(given, CATALOG, chosen, today=TODAY)
    assert isinstance(again, SizingPlan)
    assert again.fits[0].candidate == chosen.candidate
    assert again.fits[0].stack_usd == pytest.approx(chosen.stack_usd)


def test_profiles_are_those_of_nvidias_table():
    """https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html, H100."""
    rows = {row.profile: (row.instances, row.fraction_of_sms, row.fraction_of_memory) for row in profiles_of(H100, CATALOG)}
    assert rows["1g.10gb"] == (7, pytest.approx(1 / 7), 1 / 8)
    assert rows["3g.40gb"] == (2, pytest.approx(3 / 7), 1 / 2)


@pytest.mark.parametrize("row", CATALOG.mig_profiles, ids=lambda row: f"{row.accelerator} {row.profile}")
def test_instances_of_a_profile_fit_one_accelerator(row):
    assert row.instances * row.fraction_of_sms <= 1 + 1e-9
    assert row.instances * row.fraction_of_memory <= 1 + 1e-9


def test_divided_machines_keep_their_memory():
    machine = CATALOG.machine("p5.48xlarge")
    mig = machine.divided(mig_parts(profiles_of(H100, CATALOG)[0]), 80e9)
    assert (mig.accelerator_count, mig.whole_accelerators, mig.accelerator_memory_bytes, mig.name) == (56, 8, 1e10, "p5.48xlarge")
    assert machine.divided(equal_parts("mps", 4), 80e9).accelerator_memory_bytes == 2e10


def shared_example() -> tuple[str, list[list[str]]]:
    """(spec, rows of the table) of docs/serving.md."""
    page = (Path(__file__).parents[2] / "docs/serving.md").read_text(encoding="utf-8")
    text, _, table = page.partition("<!-- shared -->")[2].partition("<!-- end of shared -->")[0].partition("```yaml\n")[2].partition("```")
    rows = [[cell.strip(" `") for cell in line.strip("| ").split("|")] for line in table.strip().splitlines()[2:]]
    return text, rows


@pytest.mark.parametrize("row", shared_example()[1], ids=lambda row: row[0])
def test_the_example_of_the_page_has_its_figures(row):
    sharing, machines, usd, *times = row
    chosen = Pipeline.of_spec(read(shared_example()[0].replace("sharing: mps", f"sharing: {sharing}")), TODAY).plan.chosen
    assert chosen
    chat, embed = (fit.speed for fit in chosen.each_workload)
    assert machines == f"{len(chosen.each_pool)} x g6e.xlarge"
    assert usd == f"{monthly(chosen):,.0f}"
    assert times == [span(chat.ttft_s), span(chat.tpot_s), span(embed.ttft_s)]


def own_plan(profile: str) -> SizingPlan:
    divided = {"gpus": {"model": "h100", "count": 8, "mig": profile}}
    given, _, _ = own_plans.own_fleet_case(where=own_plans.place(servers=divided))
    return Pipeline.of_spec(given, TODAY).plan


def test_own_servers_that_mig_divides_run_services_on_their_parts():
    """Two instances of 3g.40gb on each of eight GPUs."""
    plan = own_plan("3g.40gb")
    assert plan.chosen
    c = plan.chosen.candidate
    assert (c.sharing.profile, c.devices_per_node, c.accelerators) == ("3g.40gb", 16, 8 * c.nodes)
    assert {fit.candidate.sharing and fit.candidate.sharing.profile for fit in plan.fits} == {"3g.40gb"}


def test_a_part_too_small_for_the_model_is_rejected_with_its_memory():
    """An 8B model in 16 bit needs more than the 10 GB of 1g.10gb."""
    plan = own_plan("1g.10gb")
    assert not plan.fits
    (limit,) = {rejection.limit for miss in plan.rejected for rejection in miss.rejections}
    assert limit is Limit.DEVICE_MEMORY


def test_commands_of_day_one_name_the_resource_of_the_parts(tmp_path):
    path = tmp_path / "shared.yaml"
    path.write_text(shared_example()[0])
    steps = {step.name: step for step in day_one(Pipeline(path, TODAY).decide(), "shared.yaml")}
    assert "2 nvidia.com/gpu.shared" in steps["nodes"].text


def test_economics_count_the_parts_of_the_planned_machine():
    service = embedding("one", rate=100).replace("max_replicas: 1", "max_replicas: 8")
    given = spec(service, sharing="{strategy: mig, profile: 1g.10gb}", instance="p5.4xlarge")
    plan = Pipeline.of_spec(given, TODAY).plan
    fit = next(fit for fit in plan.fits if fit.candidate.sharing)
    found = economics_of(given, replace(plan, fits=(fit,)), CATALOG)
    assert found
    assert found.service.copies == 7
    assert found.service.replicas(found.p95_requests_per_s) == fit.candidate.replicas


def test_economics_of_a_shared_pool_are_each_workloads_part_of_the_bill():
    given = spec(embedding("one"), embedding("two"), sharing="mps")
    plan = Pipeline.of_spec(given, TODAY).plan
    found = [economics_of(given.of_workload(index), part, CATALOG) for index, part in enumerate(plan.each_workload)]
    for each, part, other in zip(found, plan.each_workload, ("two", "one"), strict=True):
        assert each
        assert part.chosen
        assert part.chosen.cost_usd
        assert each.service.copies == 1
        assert each.month.fixed_usd == pytest.approx(part.chosen.cost_usd.p50)
        assert each.full_point.replicas == 1  # max_replicas
        assert each.shared_with == (other,)
        assert f"shared with {other}" in dict(economics_lines(each))["machine"]
    assert plan.chosen
    machine = plan.chosen.candidate.price_usd_per_hour
    assert machine
    assert sum(each.month.fixed_usd or 0 for each in found if each) == pytest.approx(machine * 730)


def test_the_full_load_is_that_of_the_allowed_replicas():
    service = embedding("one").replace("max_replicas: 1", "max_replicas: 3")
    given = spec(service, sharing="{strategy: mig, profile: 1g.10gb}", instance="p5.4xlarge")
    plan = Pipeline.of_spec(given, TODAY).plan
    fit = next(fit for fit in plan.fits if fit.candidate.sharing)
    found = economics_of(given, replace(plan, fits=(fit,)), CATALOG)
    assert found
    assert (found.service.copies, found.full_point.replicas) == (7, 3)
