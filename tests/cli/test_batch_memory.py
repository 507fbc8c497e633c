"""A batch that no accelerator holds: `plan` shows the key with its value, the memory of the nearest machine, and the largest batch."""

SPEC = """
api_version: rackwright/v1
name: jobs
workloads:
  - name: job
{workload}
infra:
  any_of:
    - {{cloud: aws, account: "123456789012", regions: [us-east-1]}}
"""
IMAGES = """    kind: batch
    model: {base: sdxl}
    data: {samples: 1e6}
    image: {size: 1024, steps: 30, guidance: true}
    batch_size: 5000"""
TEXT = """    kind: finetune
    model: {base: llama-3.1-8b}
    data: {samples: 10000, tokens_per_sample: 4000}
    global_batch_size: 1024
    parallelism: {micro_batch: 1024}"""


def shown(rackwright, folder, workload: str) -> dict:
    (folder / "jobs.yaml").write_text(SPEC.format(workload=workload))
    result = rackwright("plan", folder / "jobs.yaml", "--json", "--today", "2026-11-21")
    assert result.status == 1
    (found,) = [p for p in result.json["problems"] if p["code"] == "D-batch"]
    return found


def test_a_batch_of_images_beyond_memory_names_the_largest_that_fits(rackwright, tmp_path):
    found = shown(rackwright, tmp_path, IMAGES)
    assert (found["path"], found["line"]) == ("workloads[0].batch_size", 10)
    assert found["reason"].startswith("No machine has memory for a batch of 5,000: the nearest, 1 x p6-b300.48xlarge")
    assert found["fix"].startswith("batch_size: ")


def test_a_micro_batch_beyond_memory_is_shown_at_its_key(rackwright, tmp_path):
    found = shown(rackwright, tmp_path, TEXT)
    assert (found["path"], found["line"]) == ("workloads[0].parallelism.micro_batch", 10)
    assert found["fix"] == "leave it out: sizing searches the largest that fits"
