"""The data files of priors: read, complete, and looked up from particular to general."""

import pytest
from rackwright.sizing import priors
from rackwright.sizing.outcome import at_p80

A100, H100, L4 = "NVIDIA A100 80GB SXM4", "NVIDIA H100 80GB SXM5", "NVIDIA L4"


def test_rows_are_unique_and_say_where_they_come_from():
    rows = priors._rows("priors.csv")
    assert len({r["id"] for r in rows}) == len(rows)
    assert all(r["source"] and r["as_of"] for r in rows)
    assert all(r["evidence"] in ("measured", "vendor claim", "prior only") for r in rows)
    assert all(r["source"] and r["as_of"] for r in priors._rows("decode.csv"))


def test_without_runs_the_interval_is_at_least_a_factor_of_two():
    for p in priors._training():
        assert p.n or p.band >= 2, p.id
        assert p.band >= 1.15


@pytest.mark.parametrize(
    ("case", "found"),
    [
        ((A100, "NVIDIA", "full", "bf16", False, 4096, 7e9), "a100-m"),
        ((A100, "NVIDIA", "full", "bf16", False, 65536, 7e9), "a100-long"),
        ((H100, "NVIDIA", "full", "bf16", False, 4096, 7e10), "hopper-xl"),
        ((H100, "NVIDIA", "full", "bf16", True, 4096, 13e9), "hopper-moe"),
        ((H100, "NVIDIA", "full", "fp8", False, 4096, 8e9), "hopper-fp8"),
        ((L4, "NVIDIA", "full", "bf16", False, 4096, 8e9), "nvidia-full"),
        ((L4, "NVIDIA", "qlora", "bf16", False, 4096, 8e9), "nvidia-qlora"),
        (("NVIDIA B300 SXM (Blackwell Ultra)", "NVIDIA", "full", "bf16", False, 4096, 8e9), "blackwell-bf16"),
        (("TPU v5e", "Google", "full", "bf16", False, 4096, 9e9), "v5e"),
        (("TPU v4", "Google", "full", "bf16", False, 4096, 9e9), "tpu"),
        (("TPU v5e", "Google", "full", "bf16", False, 512, 3e8), "tpu"),
        (("TPU v6e (Trillium)", "Google", "full", "bf16", False, 131072, 9e9), "tpu-long"),
        ((H100, "NVIDIA", "full", "bf16", False, 65536, 7e9), "hopper-long"),
        ((H100, "NVIDIA", "full", "bf16", False, 65536, 7e10), "nvidia-long"),
        ((A100, "NVIDIA", "lora", "bf16", True, 4096, 13e9), "a100-lora-moe"),
        ((A100, "NVIDIA", "lora", "bf16", False, 65536, 7e9), "nvidia-lora-long"),
        (("NVIDIA B200 SXM", "NVIDIA", "full", "bf16", False, 131072, 8e9), "nvidia-long"),
    ],
)
def test_the_most_particular_row_is_found(case, found):
    assert priors.find(*case).id == found


def test_nothing_published_is_none():
    assert priors.find("TPU v5e", "Google", "lora", "bf16", False, 4096, 9e9) is None
    assert priors.find("AWS Trainium2", "AWS", "full", "bf16", False, 4096, 9e9) is None


def test_decode_is_fitted_on_few_accelerators():
    assert priors.decode("vllm", False, H100).n == 111
    assert priors.decode("vllm", False, L4).evidence == "prior only"
    assert priors.decode("vllm", False, L4).band > priors.decode("vllm", False, H100).band


def test_p80_lies_between_median_and_p90():
    assert 100 < at_p80(100, 1.5) < 150
    assert at_p80(100, 1.0) == 100


def test_runs_speak_of_lengths_and_experts_they_had():
    """Rows that rest on runs are bounded; what lies beyond falls to a row that says prior only."""
    for p in priors._training():
        if p.n and not p.id.endswith("-long"):
            assert p.sequence[1] <= 32000, p.id
        if p.n and p.method in ("lora", "qlora"):
            assert p.moe is False or priors.find(p.accelerators[0], "NVIDIA", p.method, "bf16", True, 4096, 1e10).n == 0, p.id
