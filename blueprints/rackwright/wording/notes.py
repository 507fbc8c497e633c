"""Notes as text. Sizing decides what is worth a note and gives the numbers; every sentence is here."""

from collections.abc import Iterable

from rackwright.sizing.note import Note, NoteKind

TEXTS = {
    NoteKind.AUDIO_PASS: "The text of speech is assumed to have {tokens_per_s:.2g} tokens per second of audio",
    NoteKind.BUCKET_REGION_UNKNOWN: "The region of {uri} is not set: transfers from and to other regions are not counted; set `{key}`",
    NoteKind.DIFFUSION_PASSES: "One request is one image of {passes:g} network passes; text encoding and image decoding are not counted",
    NoteKind.BILL_ALONE_EXCEEDS: "{workload} alone on {alone}: bill {bill_usd:,.0f} USD a month exceeds the budget, {budget_usd:,.0f}",
    NoteKind.BILL_ALONE_FITS: "{workload} alone on {alone}: bill {bill_usd:,.0f} USD a month fits the budget, {budget_usd:,.0f}",
    NoteKind.COST_ALONE: "Alone, {workload} would run on {alone} for {usd:,.0f} USD a month",
    NoteKind.EXPERTS_UNCALIBRATED: (
        "Published decode runs of mixture-of-experts models differ from the formulas by 40 % and more: measure one replica first"
    ),
    NoteKind.FITS_NOWHERE: "No machine meets every goal for workload {workload}",
    NoteKind.INVENTORY_NOT_READ: "The inventory of the existing cluster was not read: only a pinned machine is sized",
    NoteKind.NO_LATENCY_GOAL: "No latency goal is set ({keys}): slow machines are not rejected",
    NoteKind.ONE_TOKEN_ANSWERS: (
        "Answers have one token (output_tokens.mean: 1), so no time per output token (TPOT) exists; only the time to the first token counts"
    ),
    NoteKind.OTHER_MACHINES_ALONE: "Alone, {workload} would run on {alone}; the choices of each workload alone exceed {limits} together",
    NoteKind.OTHER_PLACES_ALONE: "Alone, {workload} would run on {alone} in {region}; the choices of each workload alone share no zone",
    NoteKind.PIN_COSTS: "The pinned {pinned} costs {usd:,.2f} USD more than {free}, the cheapest candidate without the pin",
    NoteKind.PIN_SAVES: "The pinned {pinned} is {usd:,.2f} USD cheaper than {free}, the cheapest candidate without the pin",
    NoteKind.REQUESTS_TOO_LONG: "Requests of {tokens:,} tokens exceed the {positions:,} positions that the model supports",
    NoteKind.REVENUE_AT_PEAK: "Revenue is at most {earned_usd:,.0f} USD a month at peak traffic; machines cost {cost_usd:,.0f} USD a month",
    NoteKind.SEQUENCE_TOO_LONG: "The sequence length of {tokens:,} tokens exceeds the {positions:,} positions that the model supports",
    NoteKind.TPU_CHOSEN: (
        "The first choice is a TPU, which requires a JAX or PyTorch/XLA trainer; blueprint.kind box or training-cluster excludes TPUs"
    ),
    NoteKind.BLOCK_PARTLY_USED: (
        "The capacity block is paid for {paid_h:,.0f} h and the run takes about {run_h:,.1f} h, {idle_usd:,.0f} USD idle"
    ),
    NoteKind.BLOCK_PARTLY_USED_UNPRICED: "The capacity block is paid for {paid_h:,.0f} h and the run takes about {run_h:,.1f} h",
    NoteKind.CPU_UNCALIBRATED: (
        "CPU only: the estimate is a roofline of memory and matrix units without measured runs; allow a factor 2 either way"
    ),
    NoteKind.DEVICE_SHARE: (
        "{machine} has {share} of one {accelerator}: the same share of its FLOP/s and memory bandwidth is assumed, no run is published"
    ),
    NoteKind.SHARED_ACCELERATOR: (
        "A replica has {memory:.0%} of the memory and its bandwidth, and {compute:.0%} of the FLOP/s of one {accelerator} ({strategy}, "
        "{parts} replicas each). No run on a part is published: the interval is wider"
    ),
    NoteKind.TIME_SLICED: (
        "{parts} replicas take turns on one {accelerator} (time-slicing): while all are busy, each has {compute:.0%} of its time and waits "
        "for the others. Memory is not isolated; {memory:.0%} is planned for each. No such run is published: the interval is wider"
    ),
    NoteKind.FP16_SERVING: "{accelerator} has no bf16 arithmetic: weights and products are in fp16",
    NoteKind.FP16_TRAINING: (
        "{accelerator} has no bf16 arithmetic: training is in fp16 with dynamic loss scaling. Memory is that of bf16, "
        "with fp32 master weights, and one step in about 2,000 is skipped"
    ),
    NoteKind.CHECKPOINT_PAUSES: (
        "Each checkpoint pauses training for {pause_s:,.0f} s: its share of {gib:,.0f} GiB per node exceeds the free {free_gib:,.0f} GiB of"
        " host memory"
    ),
    NoteKind.HOST_LIMIT: (
        "{part} of {machine} limit the run to {samples_per_s:,.0f} samples/s; its accelerators can take {wanted_per_s:,.0f}"
    ),
    NoteKind.HOST_LIMIT_OF_SERVICE: (
        "{part} of {machine} limit one machine to {samples_per_s:,.0f} samples/s; its accelerators can take {wanted_per_s:,.0f}"
    ),
    NoteKind.ACCELERATORS_AT_MAXIMUM: (
        "may scale to {most} accelerators, limit {limit} (`limits.accelerators`); lower `max_replicas` or raise the limit"
    ),
    NoteKind.IDLE_ACCELERATORS: "{idle} of {bought} accelerators are paid for but idle",
    NoteKind.INPUT_PIPELINE: (
        "The input pipeline limits the rate: {vcpus:,} vCPU decode {images_per_s:,.0f} images/s, "
        "the accelerators process {accelerator_images_per_s:,.0f} images/s"
    ),
    NoteKind.MODE_STOPS_MACHINES: "{mode} stops its machines after {window_h:,.0f} h; replicas then queue again",
    NoteKind.NEURON_UNCALIBRATED: (
        "The model must be compiled with the Neuron SDK. No measured run calibrates this estimate: allow a factor 2 either way"
    ),
    NoteKind.SLICE_RATE: "{slices} slices exchange gradients at {gb_s:g} GB/s per chip, the published rate; no measured run covers it",
    NoteKind.SLICE_RATE_UNKNOWN: (
        "The bandwidth between slices of {accelerator} is not published. The upper end of the interval doubles the time of their exchange"
    ),
    NoteKind.OWN_BUDGET_UNCHECKED: "Budget of {budget_usd:,.0f} USD not checked: no `node_cost`, so the total is unknown",
    NoteKind.OWN_COST_PARTS: (
        "An hour of {machine} costs {usd:,.2f} USD: {depreciation_usd:,.2f} USD depreciation, and {power_usd:,.2f} USD power and cooling "
        "at full load, {kw:.2f} kW x PUE {pue:g} x {usd_per_kwh:g} USD/kWh"
    ),
    NoteKind.OWN_COST: (
        "An hour of {machine} costs {usd:,.2f} USD: {depreciation_usd:,.2f} USD depreciation, "
        "and {power_usd:,.2f} USD power and cooling at full load"
    ),
    NoteKind.OWN_COST_STATED: "An hour of {machine} costs {usd:,.2f} USD, as `node_cost` states",
    NoteKind.OWN_HOURS_ONLY: "{machine} is your own and has no `node_cost`: the plan has hours, and no cost",
    NoteKind.PRICE_DETAIL: "{machine}: {detail}",
    NoteKind.QUEUE_ASSUMED: (
        "The queue time of flex-start is not published; {likely_h:,.1f} h are assumed ({low_h:,.1f} to {high_h:,.1f})"
    ),
    NoteKind.TRANSFER_OF_UNKNOWN_SIZE: (
        "Transfer unpriced: the size of the {what} from {source} to {target} is unknown; it is not part of the cost"
    ),
    NoteKind.TRANSFER_UNPRICED: (
        "Transfer unpriced: no price is published for {what} from {source} to {target}; it is not part of the cost"
    ),
    NoteKind.UNPRICED: "The price of {machine} {mode} in {region} is not published: the candidate ranks last",
    NoteKind.UNPRICED_WITH_BUDGET: (
        "The price of {machine} {mode} in {region} is not published: the candidate ranks last, and max_cost cannot be checked"
    ),
    NoteKind.BUDGET_SHARE: "budget: {used:.0%} used at p80, {median:.0%} at p50",
    NoteKind.SAMPLE_AUDIO: "{seconds:g} s of audio",
    NoteKind.SAMPLE_DENOISED_IMAGE: "image of {size}, {steps:g} steps",
    NoteKind.SAMPLE_DOCUMENT: "document of {tokens:,.0f} tokens",
    NoteKind.SAMPLE_GUIDED_IMAGE: "image of {size}, {steps:g} steps with guidance",
    NoteKind.SAMPLE_IMAGE: "image of {size}",
    NoteKind.BUDGET_USED: "budget: {used:.0%} used at p80",
    NoteKind.DEADLINE_SHARE: "deadline: {used:.0%} used at p80, {median:.0%} at p50",
    NoteKind.DEADLINE_USED: "deadline: {used:.0%} used at p80",
    NoteKind.DEVICE_MEMORY_USED: "{used:.0%} of accelerator memory, {max:.0%} allowed",
    NoteKind.HOST_MEMORY_USED: "{used:.0%} of memory, {max:.0%} allowed",
    NoteKind.ADAPTER_CHECKPOINTS: "adapter checkpoints of {gb:,.2f} GB in all, written to local disks and copied to the bucket",
    NoteKind.BUCKET_LIMIT: "bucket, {gb_per_s:,.1f} GB/s from {nodes} nodes",
    NoteKind.CHECKPOINT_SHARE: "{gib:,.1f} GiB of a checkpoint",
    NoteKind.CHECKPOINT_SHARES: "shares of two checkpoints",
    NoteKind.CHECKPOINTS_KEPT: "{keep} checkpoints of {gb:,.1f} GB, one more being written within {write_s:.0f} s, dataset, weights",
    NoteKind.CLIENT_LIMIT: "limit of the file system for one node: {gbit_per_s:g} Gbit/s over {interface}",
    NoteKind.CONTAINERS: "containers",
    NoteKind.DATA_AND_CHECKPOINTS: "data and checkpoints",
    NoteKind.DATA_DISK: "data disk of the box for {gb_per_s:,.3g} GB/s and {gb:,.0f} GB",
    NoteKind.DATASET_SHARE: "share of the dataset",
    NoteKind.DECODED_IMAGES: "decoded images",
    NoteKind.DETOKENISATION: "engine, detokenisation",
    NoteKind.DIRECT_CHECKPOINTS: (
        "checkpoints for {gb_per_s:,.2f} GB/s and {gb:,.0f} GB; assumes that the {trainer} trainer writes them to the bucket itself"
    ),
    NoteKind.DISK: "a disk for {gb_per_s:,.3g} GB/s and {gb:,.0f} GB",
    NoteKind.DISK_LIMIT: "limited to {gb_per_s:,.2f} GB/s",
    NoteKind.DISK_RATE_UNKNOWN: "throughput not published",
    NoteKind.EXISTING_BUCKET: "in your bucket, which is not in the bill; old versions that it keeps cost more",
    NoteKind.FULL_LOAD_INCLUDED: "at full load; included in the machine price",
    NoteKind.FULL_LOAD_OF_SERVERS: "{nodes} x {server} at full load",
    NoteKind.FULL_LOAD_OWNED: "at full load; you provide supply and cooling",
    NoteKind.GRADIENTS: "gradients between nodes, data and checkpoints, mean over a step",
    NoteKind.IMAGE_DECODING: "decoding {images_per_s:,.0f} images/s and accelerator processes",
    NoteKind.IMAGE_ENCODING: "engine, image encoding",
    NoteKind.LUSTRE_CLIENTS_LIMIT: (
        "{gb_per_s:,.1f} GB/s, limited by the network of its clients over {over} ({clients} x {gbit_per_s:,.4g} Gbit/s)"
    ),
    NoteKind.LUSTRE_SERVERS_LIMIT: (
        "{gb_per_s:,.1f} GB/s, limited by {over} between its servers and clients ({servers} x {clients} x {gbit_per_s:,.4g} Gbit/s)"
    ),
    NoteKind.LUSTRE_TIER_LIMIT: "{gb_per_s:,.1f} GB/s, limited by its throughput tier",
    NoteKind.NETWORK_BASELINE: "baseline of {machine}, which bursts to {peak_gbit_per_s:g} Gbit/s",
    NoteKind.NETWORK_BASELINE_UNKNOWN: "{machine} has up to {peak_gbit_per_s:g} Gbit/s; its baseline is not published",
    NoteKind.PROCESSES: "processes",
    NoteKind.SAMPLES_READ: "{gb:,.0f} GB of samples, read once from their bucket at {gb_per_s:,.2f} GB/s",
    NoteKind.SHARED_FILE_SYSTEM: "for {gb_per_s:,.2f} GB/s and {gb:,.0f} GB",
    NoteKind.STAGES_NOT_INCLUDED: "without the traffic between stages of one copy",
    NoteKind.TOKEN_READING: "reading {tokens_per_s:,.0f} tokens/s and accelerator processes",
    NoteKind.UNPRICED_TIER: "{tier} needs {tb:,.1f} TB, price not published",
    NoteKind.WEIGHTS_COPY: "one copy of the weights",
    NoteKind.WEIGHTS_LOADED: "weights within {seconds:g} s",
    NoteKind.WEIGHTS_READ_ONCE: "weights, read once per replica",
    NoteKind.WEIGHTS_WHILE_LOADING: "weights while loading",
    NoteKind.CHEAPER_WITH_AUTOSCALING: (
        "{machines} costs {usd:,.0f} USD a month with autoscaling, {saved_usd:,.0f} USD less, because it scales in smaller steps"
    ),
    NoteKind.MACHINES_UNPRICED: "The price of these machines is not published, so their cost is unknown",
    NoteKind.POOLS_NOT_SCALED: (
        "The service is disaggregated: the cost is that of the planned replicas; no autoscaling and no comparison is computed"
    ),
    NoteKind.NO_INVESTMENT: "No investment is set, so the pay-back time is not computed",
    NoteKind.NO_REVENUE: "No revenue is set, so break-even and pay-back time are not computed",
    NoteKind.REPLICAS_IN_IDLE_HOURS: "Replicas keep running in idle hours: set scale_to_zero with min_replicas 0 to stop them",
    NoteKind.REVENUE_PER_TOKEN: "revenue is per token, but this model generates no tokens: set revenue_per_request",
    NoteKind.TRAFFIC_ABOVE_MAX_REPLICAS: "Traffic at p95 needs {replicas} replicas, max_replicas allows {max_replicas}",
}


def note_text(note: Note) -> str:
    return TEXTS[note.kind].format(**{name: _text(value) for name, value in note.values.items()})


def joined_notes(notes: Iterable[Note]) -> str:
    return ", ".join(map(note_text, notes))


def _text(value: object) -> object:
    """`the quota and the budget` for limits; numbers and names as they are."""
    return " and ".join(f"the {limit}" for limit in value) if isinstance(value, tuple) else value
