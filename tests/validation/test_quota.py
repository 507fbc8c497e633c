"""Quotas that a plan needs, and files with the quotas of an account."""

import json
from dataclasses import replace

import pytest
from rackwright.catalog.query import quota_code
from rackwright.catalog.read import Catalog
from rackwright.diagnostics.errors import UserError
from rackwright.sizing.rejection import Limit
from rackwright.sizing.size import size
from rackwright.spec import load
from rackwright.spec.reading.quotas_file import QuotaFileError, known_quotas, read_quotas
from rackwright.validation.stack import check_quota, quota_needs

from tests import gke_plans, plans

P_VCPU, INTERFACES, ADDRESSES, LUSTRE, GP3, BLOCK_P5 = "L-417A185B", "L-DF5E4CA3", "L-0263D0A3", "L-8F1B9C74", "L-7A658B76", "L-DA6814F2"
SPEC = """\
api_version: rackwright/v1
name: sft
workloads:
  - {name: sft, kind: finetune, model: {base: llama-3.1-8b}, data: {samples: 20000, tokens_per_sample: 512}, team: nlp}
infra: {any_of: [{cloud: aws, account: "123456789012", regions: [us-east-1], zones: [us-east-1a], quotas: QUOTAS}]}
blueprint: {ttl: 7d, api_access: {runner: inside}}
tags: {owner: nlp, cost_centre: "1"}
"""


def needs(plan):
    return {need.code: need for need in quota_needs(plan)}


def training(**more):
    return plans.compiled(plans.training_case(**more))


def test_quota_counts_interfaces_addresses_disks_and_file_system_of_a_training_cluster():
    plan = training(nodes=4)
    found = needs(plan)
    assert found[P_VCPU].amount == 4 * 192
    assert found[INTERFACES].amount == 4 * 33 + 2 + 11 * 2  # machines, system machines, eleven endpoints in two zones
    assert (found[ADDRESSES].amount, found[LUSTRE].amount) == (1, plan.lustre.capacity_gib)
    assert found[GP3].amount == round((4 * 200 + 2 * 100 + 2 * 40) / 1024, 2)  # nodes, system nodes, metrics


def test_quota_is_counted_at_the_autoscaling_maximum():
    plan = training(nodes=4)
    wide = replace(plan, pools=tuple(replace(p, nodes_max=64, autoscaled=True) if p.role == "accelerator" else p for p in plan.pools))
    assert needs(wide)[P_VCPU].amount == 64 * 192


def test_existing_resources_need_no_quota():
    plan = training()
    assert ADDRESSES not in needs(replace(plan, network=replace(plan.network, existing_id="vpc-0abc")))
    assert LUSTRE not in needs(replace(plan, layers=("cluster", "operators", "workloads")))


def test_problem_has_the_required_and_the_granted_quota():
    (problem,) = check_quota(training(nodes=4), {P_VCPU: 384})
    assert problem.code == "V-115"
    assert "p5.48xlarge needs 768 vCPU of quota L-417A185B in us-east-1; the account has 384" in problem.reason
    assert problem.fix == "request an increase by 384 and set the new value in `quotas`, or use another region"
    assert check_quota(training(nodes=4), {P_VCPU: 768}) == []


def test_a_capacity_block_has_a_separate_quota():
    plan = training()
    pools = tuple(replace(p, capacity=replace(p.capacity, mode="capacity-block")) if p.role == "accelerator" else p for p in plan.pools)
    found = needs(replace(plan, pools=pools))
    assert found[BLOCK_P5].amount == 4 * 192
    assert P_VCPU not in found


@pytest.fixture
def quotas(tmp_path):
    def write(document, name="quotas.json"):
        path = tmp_path / name
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    return write


def test_quota_file_subtracts_the_usage_of_others(quotas):
    path = quotas({"account": "123456789012", "regions": {"us-east-1": {P_VCPU: {"value": 768, "used": 192, "name": "P"}}}})
    assert read_quotas(path) == {"us-east-1": {P_VCPU: 576.0}}


def test_output_of_the_aws_cli_is_a_quota_file(quotas):
    row = {"QuotaCode": P_VCPU, "Value": 96.0, "QuotaArn": f"arn:aws:servicequotas:us-west-2:123456789012:ec2/{P_VCPU}"}
    other = {"QuotaCode": "L-1", "Value": 1.0, "QuotaArn": "arn:aws:servicequotas::123456789012:iam/L-1"}
    assert read_quotas(quotas([{"Quotas": [row]}, {"Quotas": [other]}])) == {"us-west-2": {P_VCPU: 96.0}}


@pytest.mark.parametrize(
    "text", ["", "[", "{}", "[]", '{"regions": {}}', '{"regions": {"us-east-1": {"L-1": {"value": -1}}}}', '{"Quotas": [{}]}', "7"]
)
def test_other_quota_files_are_rejected(quotas, text):
    with pytest.raises(QuotaFileError, match="S-90"):
        read_quotas(quotas(text))


def test_a_missing_quota_file_is_reported_at_its_path(tmp_path):
    path = tmp_path / "sft.yaml"
    path.write_text(SPEC.replace("QUOTAS", "none.json"))
    with pytest.raises(UserError) as refused:
        load(path)
    (problem,) = refused.value.problems
    assert (problem.code, str(problem.at)) == ("S-90", "infra.any_of[0].quotas")


def test_machines_above_the_quota_are_rejected_with_their_distance(tmp_path, quotas):
    path = tmp_path / "sft.yaml"
    grants = {"us-east-1": {"L-DB2E81BA": {"value": 8}, P_VCPU: {"value": 0}}}
    quotas({"regions": grants}, "quotas.json")
    path.write_text(SPEC.replace("QUOTAS", "quotas.json"))
    spec = load(path)
    assert known_quotas(spec, 0, "us-east-1") == {"L-DB2E81BA": 8.0, P_VCPU: 0.0}
    plan = size(spec, today=plans.TODAY)
    short = {(miss.candidate.machine, r.need, r.have) for miss in plan.rejected for r in miss.rejections if r.limit is Limit.QUOTA}
    assert ("p5.48xlarge", 192, 0.0) in short
    assert all(need > have for _, need, have in short)
    assert not any(fit.candidate.machine.startswith("p") for fit in plan.fits)


def test_inline_quotas_need_no_file(tmp_path):
    path = tmp_path / "sft.yaml"
    path.write_text(SPEC.replace("QUOTAS", "{us-east-1: {L-417A185B: 768}}"))
    assert known_quotas(load(path), 0, "us-east-1") == {P_VCPU: 768.0}


GKE_SPEC = """\
api_version: rackwright/v1
name: sft
workloads:
  - {name: sft, kind: finetune, model: {base: llama-3.1-70b}, data: {samples: 20000, tokens_per_sample: 512}, team: nlp}
infra:
  any_of:
    - cloud: gcp
      project: my-project
      regions: [us-central1]
      pin: {instance: a3-megagpu-8g}
      capacity: {ordered: [on-demand]}
      quotas: QUOTAS
blueprint: {ttl: 7d, api_access: {runner: inside}}
tags: {owner: nlp, cost_centre: "1"}
"""
REGION = {"kind": "compute#region", "name": "us-central1", "quotas": [{"metric": "NVIDIA_H100_MEGA_GPUS", "limit": 64.0, "usage": 8.0}]}
PROJECT = {"kind": "compute#project", "name": "my-project", "quotas": [{"metric": "GPUS_ALL_REGIONS", "limit": 16.0, "usage": 0.0}]}
INFO = [
    {
        "quotaId": "TPU-V6E-per-project-region",
        "dimensionsInfos": [{"dimensions": {"region": "us-east5"}, "details": {"value": "64"}, "applicableLocations": ["us-east5"]}],
    },
    {
        "quotaId": "NVIDIA-L4-GPUS-per-project-region",
        "dimensionsInfos": [{"details": {"value": "4"}, "applicableLocations": ["us-central1", "us-east4"]}],
    },
    {
        "quotaId": "GPUS-PER-GPU-FAMILY-per-project-region",
        "dimensionsInfos": [{"dimensions": {"region": "us-east5", "gpu_family": "NVIDIA_H200"}, "details": {"value": "32"}}],
    },
    {"quotaId": "GPUS-ALL-REGIONS-per-project", "dimensionsInfos": [{"details": {"value": "-1"}, "applicableLocations": ["global"]}]},
]


def test_quotas_of_google_cloud_are_counted_at_the_autoscaling_maximum():
    plan = gke_plans.GKE["gke-lustre"]()
    wide = replace(plan, pools=tuple(replace(p, nodes_max=16, autoscaled=True) if p.role == "accelerator" else p for p in plan.pools))
    found = needs(wide)
    assert (found["NVIDIA_H100_MEGA_GPUS"].amount, found["GPUS_ALL_REGIONS"].amount) == (128, 128)
    assert (found["NETWORKS"].amount, found["SUBNETWORKS"].amount, found["FIREWALLS"].amount) == (9, 9, 1 + 8 + 1 + 4)
    assert (found["SSD_TOTAL_GB"].unit, found["CPUS"].amount) == ("GB", 16)


@pytest.mark.parametrize(
    ("mode", "code"), [("spot", "PREEMPTIBLE_NVIDIA_L4_GPUS"), ("flex-start", "PREEMPTIBLE_NVIDIA_L4_GPUS"), ("calendar", None)]
)
def test_machines_count_towards_the_quota_of_their_capacity_mode(mode, code):
    assert quota_code(Catalog.default().machine("g2-standard-4"), mode) == code


def test_files_of_the_google_cloud_cli_are_read(tmp_path):
    for name, document in {"region": REGION, "both": [REGION, PROJECT], "info": INFO}.items():
        (tmp_path / name).write_text(json.dumps(document))
    assert read_quotas(tmp_path / "region") == {"us-central1": {"NVIDIA_H100_MEGA_GPUS": 56.0}}
    assert read_quotas(tmp_path / "both")["global"] == {"GPUS_ALL_REGIONS": 16.0}
    info = read_quotas(tmp_path / "info")
    assert info["us-east5"] == {"TPU-V6E-per-project-region": 64.0, "TPU_V6E": 64.0, "NVIDIA_H200_GPUS": 32.0}
    assert info["us-central1"] == {"NVIDIA-L4-GPUS-per-project-region": 4.0, "NVIDIA_L4_GPUS": 4.0}
    assert "global" not in info, "unlimited"


def test_the_quota_of_all_regions_counts_in_each_region(tmp_path):
    (tmp_path / "quotas.json").write_text(json.dumps([REGION, PROJECT]))
    (tmp_path / "spec.yaml").write_text(GKE_SPEC.replace("QUOTAS", "quotas.json"))
    known = known_quotas(load(tmp_path / "spec.yaml"), 0, "us-central1")
    assert known == {"NVIDIA_H100_MEGA_GPUS": 56.0, "GPUS_ALL_REGIONS": 16.0}
    plan = gke_plans.GKE["gke-tcpxo"]()
    (problem,) = check_quota(plan, known)
    assert "needs 32 accelerators of quota GPUS_ALL_REGIONS" in problem.reason
