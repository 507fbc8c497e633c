"""One serving search, asked of every side: Qwen3-32B in FP8 on 32 x H200, 4,000 tokens in and 500 out, first token 600 ms, 25 ms each."""

import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

THEIRS: dict[str, Any] = {
    "model_path": "Qwen/Qwen3-32B-FP8", "total_gpus": 32, "system": "h200_sxm", "isl": 4000, "osl": 500, "ttft": 600.0, "tpot": 25.0,
}  # fmt: skip
WORKLOAD = (
    "{name: chat, kind: serve, model: {base: qwen3-32b}, quantization: fp8, kv_dtype: fp8, requests_per_second: 20, "
    "input_tokens: {mean: 4000}, output_tokens: {mean: 500}, ttft: {target: 600 ms}, tpot: {target: 25 ms}}"
)
PINNED = "{cloud: aws, account: '123456789012', pin: {instance: p5en.48xlarge, nodes: 4}}"
"""32 x H200."""
OPEN = "{cloud: aws, account: '123456789012'}, {cloud: gcp, project: my-project}"
PROCESSES, THEIR_PROCESSES = 5, 2


def spec(places: str) -> str:
    return f"api_version: rackwright/v1\nname: peers\nworkloads: [{WORKLOAD}]\ninfra: {{any_of: [{places}]}}\n"


def their_command(folder: Path) -> list[str]:
    flags = {"--model-path": "model_path", "--total-gpus": "total_gpus", "--system": "system", "--isl": "isl", "--osl": "osl",
             "--ttft": "ttft", "--tpot": "tpot"}  # fmt: skip
    return [
        str(folder / "bin" / "aiconfigurator"),
        "cli",
        "default",
        *(word for flag, key in flags.items() for word in (flag, str(THEIRS[key]))),
    ]


def our_process(python: str, root: Path, text: str) -> float:
    """Seconds of `rackwright plan`, best of PROCESSES."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "peers.yaml"
        file.write_text(text, encoding="utf-8")
        return process([python, "-m", "rackwright.cli.main", "plan", str(file)], PROCESSES, root)


def process(command: Sequence[str], times: int, folder: Path) -> float:
    """Wall seconds of a command, the best of so many. Raises CalledProcessError when it fails."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, cwd=folder, timeout=300)
        found.append(time.perf_counter() - start)
    return min(found)
