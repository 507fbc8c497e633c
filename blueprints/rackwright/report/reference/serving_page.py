"""The table of docs/serving.md: the options of a model server, with what each changes on one replica.

`python -m rackwright.report.reference.serving_page docs/serving.md` renews it; a test compares its rows with the options.
"""

import sys
from datetime import date
from pathlib import Path

from rackwright.sizing.metrics import OptionEffect, ReplicaFigures
from rackwright.sizing.size import size
from rackwright.spec import read
from rackwright.wording.formatting import UNKNOWN, count, gib, span

SPEC = """api_version: rackwright/v1
name: chat
workloads:
  - name: chat
    kind: serve
    model: {base: llama-3.1-8b}
    requests_per_second: 4
    input_tokens: {mean: 2000, p95: 4000}
    output_tokens: {mean: 300, p95: 800}
    ttft: {target: 2s}
    tpot: {target: 60ms}
infra:
  any_of:
    - cloud: aws
      account: "123456789012"
      regions: [us-east-1]
      pin: {instance: g6e.xlarge}
"""
SHOWN = {
    "kv_dtype: fp8": "`--kv-cache-dtype=fp8`",
    "kv_dtype: int8": "`--kv-cache-dtype=int8_per_token_head`",
    "quantization: fp8": "`--quantization=fp8`",
    "quantization: awq": "none: the checkpoint names its format; also for `gptq` and fp4",
    "prefix_cache_hit_rate: 50 %": "none: vLLM caches prefixes by default",
    "speculation: {draft: 3, acceptance: 70 %}": "`--speculative-config={...}`",
    "chunked_prefill: false": "`--no-enable-chunked-prefill`, `--max-num-batched-tokens=...`",
    "max_batched_tokens: 512": "`--max-num-batched-tokens=512`",
    "disaggregation: auto": "refused for a fleet (C-server-option)",
}
"""Options of a service -> the arguments of vLLM."""
COLUMNS = ("Option", "Weights", "Activations", "KV cache, tokens", "TTFT", "TPOT", "Pause", "Requests/s", "Replicas", "Argument of vLLM")
START, END = "<!-- figures -->", "<!-- end of figures -->"
"""Lines of the page between which the table is."""


def renewed(page: str, day: date) -> str:
    """The page with the table of a day, and the spec that it is of."""
    before, _, rest = page.partition(START)
    return f"{before}{START}\n{table(day)}{END}{rest.partition(END)[2]}"


def table(day: date) -> str:
    """Markdown: the spec, and a row per option."""
    rows = "".join(_row(option, argument, day) for option, argument in SHOWN.items())
    header = f"{_line(*COLUMNS)}{'|---' * len(COLUMNS)}|\n"
    return f"\nOne replica on an L40S, estimates of {day}:\n\n```yaml\n{SPEC}```\n\n{header}{_plain(day)}{rows}\n"


def _plain(day: date) -> str:
    """The row of the service without options: the figures before an option that changes no number of replicas."""
    effect, replicas = _effect("max_batched_tokens: 512", day)
    return _line("none", *_cells(effect.before), str(replicas), "")


def _row(option: str, argument: str, day: date) -> str:
    effect, replicas = _effect(option, day)
    return _line(f"`{option}`", *_cells(effect.after), str(replicas), argument)


def _effect(option: str, day: date) -> tuple[OptionEffect, int]:
    """The effect of an option, and the replicas of the plan."""
    found = size(read(SPEC.replace("    tpot: {target: 60ms}\n", f"    tpot: {{target: 60ms}}\n    {option}\n")), today=day)
    (effect,) = found.options
    return effect, found.fits[0].candidate.replicas


def _cells(x: ReplicaFigures) -> tuple[str, ...]:
    rate = f"{x.requests_per_s:.2f}" if x.requests_per_s else UNKNOWN
    return (gib(x.weights_bytes), gib(x.activations_bytes), count(x.kv_tokens), span(x.ttft_s), span(x.tpot_s), span(x.pause_s), rate)


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(renewed(path.read_text(encoding="utf-8"), date.today()), encoding="utf-8")
