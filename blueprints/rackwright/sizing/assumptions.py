"""Every number sizing uses that nobody told it: once, with unit, source and date. The plan prints those that were used."""

from dataclasses import dataclass, field, fields

from rackwright.estimate.finish import CHECKPOINT_PAUSE_S, FAILURE_HOURS, RESTART_S
from rackwright.sizing.plan import GIB, Assumption

ZERO = "Rajbhandari et al. 2020, arXiv 1910.02054"
KORTHIKANTI = "Korthikanti et al. 2022, arXiv 2205.05198"
LLAMA3 = "Llama 3 report 2024, arXiv 2407.21783"
OWN = "rackwright's choice 2026-11, not measured"
FIT = "rackwright's own fit of published runs, 2026-11"


def _known(default: float, unit: str, source: str, scope: str = "training"):
    return field(default=default, metadata={"unit": unit, "source": source, "scope": scope})


@dataclass(frozen=True)
class Assumptions:
    """Defaults of this release. Replace one with `dataclasses.replace`; every formula takes its numbers from here."""

    max_fill: float = _known(0.92, "of accelerator memory", f"{FIT}: runs above it fail on allocation", "all")
    reserved_per_allocated: float = _known(1.10, "bytes per byte", f"{FIT}: allocator reserve and fragmentation", "all")
    memory_p80: float = _known(1.065, "of the median", f"{FIT}: residuals are +-10 % (p10 to p90); the decision takes the p80 side", "all")
    context_bytes: float = _known(0.7 * GIB, "bytes", f"{FIT}: CUDA context 0.5 to 0.8 GiB", "all")
    communicator_bytes: float = _known(0.35 * GIB, "bytes per communicator", f"{FIT}: NCCL 0.3 to 0.4 GiB each", "all")
    logit_bytes: float = _known(10, "bytes per logit", "eager cross-entropy: bf16 logits, fp32 copy and its gradient (2 + 4 + 4)")
    adapter_logit_bytes: float = _known(
        14, "bytes per logit with adapters", "Hugging Face trainers keep a shifted copy too; Qwen-7B LoRA grows by 14 per token and logit"
    )
    fused_swiglu: float = _known(6, "bytes per FFN column and token", f"{KORTHIKANTI}, generalised to a fused gated FFN")
    plain_ffn: float = _known(4, "bytes per FFN column and token", KORTHIKANTI)
    moe_imbalance: float = _known(1.3, "of the even share", OWN)
    gradient_bytes_unsharded: float = _known(4, "bytes per parameter", "Megatron-LM: fp32 gradients up to ZeRO-1")
    gradient_bytes_sharded: float = _known(2, "bytes per parameter", f"{ZERO}, table 1")
    nf4_bytes: float = _known(
        0.5 + 1 / 64 + 4 / (64 * 256), "bytes per quantised weight", "QLoRA, arXiv 2305.14314: block 64, double quantisation"
    )
    sample_activation_bytes_per_flop: float = _known(0.005, "bytes per forward FLOP", f"{OWN}: convolutional networks")
    sample_transformer_bytes_per_flop: float = _known(
        34 / (24 * 2400), "bytes per forward FLOP", f"{KORTHIKANTI}: 34h bytes for 24h^2 FLOPs, at a width of 2,400; layers not published"
    )
    sample_recompute_share: float = _known(0.2, "of those activations", f"{OWN}: what full recompute keeps")

    published_exposed_share: float = _known(
        0.02, "of a step", f"{FIT}: waiting that these formulas find in the published runs, whose efficiencies contain it already"
    )
    published_exposed_share_moe: float = _known(0.10, "of a step", f"{FIT}: the same with experts")
    kernel_saturation_tokens: float = _known(192, "tokens", f"{OWN}: efficiency falls below about 512 tokens per micro-batch")
    recompute_visible: float = _known(
        0.4, "of the second forward pass", f"{FIT}: at 2 to 10 billion parameters full recompute costs 14 % (A100) and 5 % (H100)"
    )
    link_efficiency: float = _known(0.8, "of nameplate", "NCCL bus bandwidth on published all-reduce tests")
    pcie_bytes_per_s: float = _known(25e9, "bytes/s per direction", "PCIe 4.0 x16, usable")
    intra_latency_s: float = _known(3e-6, "s per hop", FIT)
    inter_latency_s: float = _known(10e-6, "s per hop", FIT)
    hidden_data: float = _known(
        0.85, "of the transfer", "FSDP 80 to 90 %, data parallel 70 to 95 % hidden behind compute: published traces"
    )
    hidden_tensor: float = _known(0.25, "of the transfer", "0 to 50 %, async tensor parallel in torchtitan")
    hidden_expert: float = _known(0.30, "of the transfer", "0 to 60 %, published MoE traces")
    hidden_context: float = _known(0.50, "of the transfer", f"{OWN}: ring attention overlaps the next block")
    optimizer_traffic: float = _known(28, "bytes per parameter", "Adam reads and writes fp32 master, two moments, gradient, bf16 weight")
    memory_bandwidth_efficiency: float = _known(0.8, "of nameplate", FIT)
    goodput_routine: float = _known(0.95, "of wall clock, before faults", f"{OWN}: evaluation, data that is late, slow machines")
    accelerator_hours_per_failure: float = _known(
        FAILURE_HOURS, "accelerator-hours", f"{LLAMA3}: 419 interruptions in 54 days on 16,384 GPUs"
    )
    spot_hours_per_interruption: float = _known(48, "node-hours", OWN)
    interruption_band: float = _known(2.0, "p90 over median of what faults and reclaims cost", OWN)
    restart_s: float = _known(RESTART_S, "s", f"{OWN}: detect, reschedule, load the checkpoint; {LLAMA3} keeps over 90 % of its time")
    reclaim_restart_s: float = _known(900, "s", f"{OWN}: the same, and another machine has to be got first")
    checkpoint_pause_s: float = _known(CHECKPOINT_PAUSE_S, "s", f"{OWN}: what a step waits for; the rest is written beside the training")
    flex_wait_s: float = _known(2 * 3600, "s", f"{OWN}: queue of flex-start; no waits are published")
    flex_wait_band: float = _known(6.0, "p90 over median", OWN)
    startup_s: float = _known(900, "s", f"{OWN}: boot, image pull, load of weights; billed")
    startup_band: float = _known(2.0, "p90 over median", OWN)
    capacity_block_drain_s: float = _known(1800, "s", "AWS: instances of a capacity block end 30 minutes before the block")

    checkpoint_bytes_per_parameter: float = _known(14, "bytes", "bf16 weights 2, fp32 master 4, two moments 8; BLOOM-176B wrote 13")
    checkpoint_window_s: float = _known(60, "s", f"{OWN}: one checkpoint is on disk in this time")
    checkpoint_min_interval_s: float = _known(600, "s", OWN)
    checkpoint_max_interval_s: float = _known(4 * 3600, "s", OWN)
    token_bytes: float = _known(4, "bytes per token", "token ids as 32-bit integers")
    host_base_bytes: float = _known(6 * GIB, "bytes per node", f"{OWN}: system, trainer process, libraries", "all")
    host_per_accelerator_bytes: float = _known(
        4 * GIB, "bytes per accelerator", f"{OWN}: data loaders and one 4 GiB weight shard in flight", "all"
    )

    unpacked_slot: float = _known(0.5, "of a full sequence", f"{OWN}: what an unpacked sample costs at least, padded to its batch")
    adapter_share: float = _known(0.005, "of the weights", f"{OWN}: trained by LoRA where no layer widths are known")
    default_sequence_length: int = _known(4096, "tokens", OWN)
    default_finetune_batch: int = _known(32, "sequences", OWN)
    default_pretrain_batch_tokens: float = _known(2**22, "tokens", "Llama 2, arXiv 2307.09288: 4 million tokens per step")
    most_accelerators: int = _known(4096, "accelerators considered", f"{OWN}; state limits.accelerators to change it", "all")

    serving_max_fill: float = _known(0.90, "of accelerator memory", "vLLM default gpu_memory_utilization", "serving")
    serving_fixed_bytes: float = _known(1.2 * GIB, "bytes", "vLLM start-up logs: 0.3 to 1.8 GiB outside torch on one device", "serving")
    serving_fixed_tensor_bytes: float = _known(
        1.8 * GIB, "bytes more with several devices", "vLLM start-up logs, tensor parallel 2", "serving"
    )
    batched_tokens: float = _known(8192, "tokens", "vLLM default max_num_batched_tokens of recent releases", "serving")
    batched_token_bytes: float = _known(
        1.6e5, "bytes per batched token of an 8B model", "1.3 GiB at 8,192 tokens: vLLM start-up log", "serving"
    )
    max_sequences: int = _known(256, "sequences", "vLLM default max_num_seqs; a batch is held by its cache alone", "serving")
    fitted_link_bytes_per_s: float = _known(
        450e9, "bytes/s per direction", f"{FIT}: NVLink of the decode runs, whose all-reduces are inside the cost per layer", "serving"
    )
    batch_band: float = _known(1.5, "p90 over median", f"{FIT}: published offline runs were 0.8 to 1.7 times as fast", "serving")
    request_margin: float = _known(
        2.0, "of the p95 lengths", f"{OWN}: longest request allowed when max_context is not given; longer ones are refused", "serving"
    )
    denoising_passes: float = _known(
        50, "passes of the network per image", "diffusers: 28 to 50 steps by default, twice as many passes with guidance", "serving"
    )
    prefill_efficiency: float = _known(0.5, "of peak", f"{FIT}: 0.4 to 0.6 from 2,000 tokens", "serving")
    prefill_half_tokens: float = _known(128, "tokens", f"{OWN}: efficiency falls below 512 tokens", "serving")
    max_utilisation: float = _known(0.8, "of prefill time", f"{OWN}: queues explode above", "serving")
    user_request_interval_s: float = _known(60, "s between requests of one user", OWN, "serving")
    first_token_band: float = _known(2.0, "p90 over median", "published time to first token under load: half to double", "serving")
    sample_band: float = _known(2.0, "p90 over median", f"{OWN}: diffusion, vision, encoders; no published runs in reach", "serving")
    sample_efficiency: float = _known(0.3, "of peak", f"{OWN}: one forward pass of a diffusion, vision or encoder network", "serving")
    sample_workspace: float = _known(0.1, "of a training pass's activations", f"{OWN}: a forward pass frees as it goes", "serving")
    month_h: float = _known(730, "h", "average month", "serving")

    def listed(self, *scopes: str) -> tuple[Assumption, ...]:
        """Those of the scopes and of every scope, in file order, as the plan prints them."""
        wanted = [f for f in fields(self) if f.metadata["scope"] in (*scopes, "all")]
        return tuple(Assumption(f.name, f"{getattr(self, f.name):.6g}", f.metadata["unit"], f.metadata["source"]) for f in wanted)


DEFAULT = Assumptions()
