"""A fact about a plan: a kind with its numbers and names. `wording.notes` renders it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from rackwright.sizing.rejection import Limit


class NoteKind(StrEnum):
    """What a note is about."""

    # of a plan
    AUDIO_PASS = "audio-pass"
    BILL_ALONE_EXCEEDS = "bill-alone-exceeds"
    BILL_ALONE_FITS = "bill-alone-fits"
    BUCKET_REGION_UNKNOWN = "bucket-region-unknown"
    DIFFUSION_PASSES = "diffusion-passes"
    COST_ALONE = "cost-alone"
    EXPERTS_UNCALIBRATED = "experts-uncalibrated"
    FITS_NOWHERE = "fits-nowhere"
    INVENTORY_NOT_READ = "inventory-not-read"
    NO_LATENCY_GOAL = "no-latency-goal"
    ONE_TOKEN_ANSWERS = "one-token-answers"
    OTHER_MACHINES_ALONE = "other-machines-alone"
    OTHER_PLACES_ALONE = "other-places-alone"
    PIN_COSTS = "pin-costs"
    PIN_SAVES = "pin-saves"
    REQUESTS_TOO_LONG = "requests-too-long"
    REVENUE_AT_PEAK = "revenue-at-peak"
    SEQUENCE_TOO_LONG = "sequence-too-long"
    TPU_CHOSEN = "tpu-chosen"
    # of a fit
    BLOCK_PARTLY_USED = "block-partly-used"
    BLOCK_PARTLY_USED_UNPRICED = "block-partly-used-unpriced"
    CPU_UNCALIBRATED = "cpu-uncalibrated"
    DEVICE_SHARE = "device-share"
    SHARED_ACCELERATOR = "shared-accelerator"
    TIME_SLICED = "time-sliced"
    FP16_SERVING = "fp16-serving"
    FP16_TRAINING = "fp16-training"
    CHECKPOINT_PAUSES = "checkpoint-pauses"
    HOST_LIMIT = "host-limit"
    HOST_LIMIT_OF_SERVICE = "host-limit-of-service"
    ACCELERATORS_AT_MAXIMUM = "accelerators-at-maximum"
    IDLE_ACCELERATORS = "idle-accelerators"
    INPUT_PIPELINE = "input-pipeline"
    MODE_STOPS_MACHINES = "mode-stops-machines"
    NEURON_UNCALIBRATED = "neuron-uncalibrated"
    SLICE_RATE = "slice-rate"
    SLICE_RATE_UNKNOWN = "slice-rate-unknown"
    OWN_BUDGET_UNCHECKED = "own-budget-unchecked"
    OWN_COST_PARTS = "own-cost-parts"
    OWN_COST = "own-cost"
    OWN_COST_STATED = "own-cost-stated"
    OWN_HOURS_ONLY = "own-hours-only"
    PRICE_DETAIL = "price-detail"
    QUEUE_ASSUMED = "queue-assumed"
    TRANSFER_OF_UNKNOWN_SIZE = "transfer-of-unknown-size"
    TRANSFER_UNPRICED = "transfer-unpriced"
    UNPRICED = "unpriced"
    UNPRICED_WITH_BUDGET = "unpriced-with-budget"
    # a sample of the workload
    SAMPLE_AUDIO = "sample-audio"
    SAMPLE_DENOISED_IMAGE = "sample-denoised-image"
    SAMPLE_DOCUMENT = "sample-document"
    SAMPLE_GUIDED_IMAGE = "sample-guided-image"
    SAMPLE_IMAGE = "sample-image"
    # the tightest constraint of a fit
    BUDGET_SHARE = "budget-share"
    BUDGET_USED = "budget-used"
    DEADLINE_SHARE = "deadline-share"
    DEADLINE_USED = "deadline-used"
    DEVICE_MEMORY_USED = "device-memory-used"
    HOST_MEMORY_USED = "host-memory-used"
    # the basis of a node requirement, a storage need, a file system, or power
    ADAPTER_CHECKPOINTS = "adapter-checkpoints"
    BUCKET_LIMIT = "bucket-limit"
    CHECKPOINT_SHARE = "checkpoint-share"
    CHECKPOINT_SHARES = "checkpoint-shares"
    CHECKPOINTS_KEPT = "checkpoints-kept"
    CLIENT_LIMIT = "client-limit"
    CONTAINERS = "containers"
    DATA_AND_CHECKPOINTS = "data-and-checkpoints"
    DATA_DISK = "data-disk"
    DATASET_SHARE = "dataset-share"
    DECODED_IMAGES = "decoded-images"
    DETOKENISATION = "detokenisation"
    DIRECT_CHECKPOINTS = "direct-checkpoints"
    DISK = "disk"
    DISK_LIMIT = "disk-limit"
    DISK_RATE_UNKNOWN = "disk-rate-unknown"
    EXISTING_BUCKET = "existing-bucket"
    FULL_LOAD_INCLUDED = "full-load-included"
    FULL_LOAD_OF_SERVERS = "full-load-of-servers"
    FULL_LOAD_OWNED = "full-load-owned"
    GRADIENTS = "gradients"
    IMAGE_DECODING = "image-decoding"
    IMAGE_ENCODING = "image-encoding"
    LUSTRE_CLIENTS_LIMIT = "lustre-clients-limit"
    LUSTRE_SERVERS_LIMIT = "lustre-servers-limit"
    LUSTRE_TIER_LIMIT = "lustre-tier-limit"
    NETWORK_BASELINE = "network-baseline"
    NETWORK_BASELINE_UNKNOWN = "network-baseline-unknown"
    PROCESSES = "processes"
    SAMPLES_READ = "samples-read"
    SHARED_FILE_SYSTEM = "shared-file-system"
    STAGES_NOT_INCLUDED = "stages-not-included"
    TOKEN_READING = "token-reading"
    UNPRICED_TIER = "unpriced-tier"
    WEIGHTS_COPY = "weights-copy"
    WEIGHTS_LOADED = "weights-loaded"
    WEIGHTS_READ_ONCE = "weights-read-once"
    WEIGHTS_WHILE_LOADING = "weights-while-loading"
    # of the economics of a service
    CHEAPER_WITH_AUTOSCALING = "cheaper-with-autoscaling"
    MACHINES_UNPRICED = "machines-unpriced"
    POOLS_NOT_SCALED = "pools-not-scaled"
    NO_INVESTMENT = "no-investment"
    NO_REVENUE = "no-revenue"
    REPLICAS_IN_IDLE_HOURS = "replicas-in-idle-hours"
    REVENUE_PER_TOKEN = "revenue-per-token"
    TRAFFIC_ABOVE_MAX_REPLICAS = "traffic-above-max-replicas"


@dataclass(frozen=True)
class Note:
    """values: numbers in the unit that their name ends in, names, and the limits that are exceeded."""

    kind: NoteKind
    values: Mapping[str, int | float | str | tuple[Limit, ...]] = field(default_factory=dict, hash=False)

    def number(self, name: str) -> float:
        """One of its numbers; TypeError for limits."""
        value = self.values[name]
        if isinstance(value, tuple):
            raise TypeError(name)
        return float(value)
