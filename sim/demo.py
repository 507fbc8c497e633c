"""`make demo`: nine stacks from spec to resource graph, and with the Pulumi CLI through a whole life on a simulated cloud."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

from rackwright.report import write_report
from rackwright.report.terminal.layout.console import console
from rackwright.report.terminal.plan import show_plan
from rackwright.wording.formatting import plural, usd
from rackwright.workflow.pipeline import Pipeline
from rackwright_pulumi import record
from rackwright_pulumi.program.build import declare_stack
from rackwright_pulumi.simulator import SimulatedCloud
from rackwright_pulumi.simulator.engine import Engine, EngineFailure, installed
from rackwright_pulumi.testing import placeholder_secrets
from rich.console import Console

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / ".cache" / "demo"
STACKS = (
    *("mistral-7b-qlora", "llama-70b-sft", "llama-70b-onprem", "chat-serve"),
    *("chat-eks", "assistant-eks", "chat-onprem", "gemma-pretrain", "llama-70b-gke", "mistral-7b-gce"),
)
HOW = "install it (https://www.pulumi.com/docs/install) and run `make demo` again"
out = Console(width=min(Console().width, 100) if sys.stdout.isatty() else 100, highlight=False)


def main() -> int:
    for name in STACKS:
        plan_stack(name, date.today())
    out.rule("on the real engine, against a simulated cloud")
    if not find_cli():
        return 0
    failed = [name for name in STACKS if not live(name)]
    return 1 if failed else 0


def plan_stack(name: str, today: date) -> None:
    """Sizes, prices and compiles one example, and writes what came of it to .cache/demo/<name>."""
    out.rule(name)
    pipeline = Pipeline(ROOT / "stacks" / f"{name}.yaml", today)
    spec, plan, preview = pipeline.spec, pipeline.plan, pipeline.preview()
    show_plan(console(), plan, spec, preview, Path("stacks") / f"{name}.yaml", 3)
    decided = pipeline.choose(1)
    stack, costs = decided.plan, decided.bill
    graph = record(lambda: declare_stack(stack, secrets=placeholder_secrets(stack)), stack=name)
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plan.json").write_text(plan.to_json(), encoding="utf-8")
    (folder / "stack-plan.json").write_text(stack.to_json(), encoding="utf-8")
    _write_json(folder / "graph.json", graph.as_json())
    for suffix in (".html", ".md"):
        write_report(spec, plan, folder / f"report{suffix}", today, preview)
    total = "" if costs.total_usd is None else f", {usd(costs.total_usd, 0)} in all"
    found = plural(len(decided.problems), "warning")
    out.print(f"\n[bold]compiled[/]: {len(graph.nodes)} resources, {found}, {usd(costs.hourly_usd)} an hour{total}")
    out.print(f"[bold]report[/]: {(folder / 'report.html').relative_to(ROOT)}")


def find_cli() -> bool:
    """Whether pulumi is on PATH. Nothing is downloaded: the installer of get.pulumi.com runs what it fetches without a checksum."""
    if not installed():
        out.print(f"pulumi is not on PATH: this part is left out; {HOW}.")
    return installed()


def live(name: str) -> bool:
    """Creates, re-applies and destroys one stack; says what the engine said when a step goes wrong."""
    with tempfile.TemporaryDirectory(prefix=f"rackwright-{name}-") as folder:
        cloud = SimulatedCloud(Path(folder) / "cloud.sqlite")
        engine = stack_engine(name, cloud, Path(folder) / "work")
        try:
            engine.prepare()
            _step(name, "up", engine.up)
            _step(name, "up again, nothing may change", lambda: engine.up(expect_no_changes=True))
            _step(name, "destroy without teardown", lambda: _refused(engine, cloud))
            engine.run("config", "set", "--stack", name, "rackwright:teardown", "true")
            _step(name, "up with teardown", engine.up)
            _step(name, "destroy", engine.destroy)
        except EngineFailure as failure:
            out.print(f"[bold red]{name}[/]\n{failure}")
            return False
        except subprocess.TimeoutExpired as slow:
            command = " ".join(map(str, slow.cmd[:2]))
            out.print(f"[bold red]{name}[/]: `{command}` took more than {slow.timeout:.0f} s; end other work and try again.")
            return False
        left = len(cloud.resources())
        out.print(f"{name}: {'the cloud is empty' if not left else f'{left} resources are LEFT'}")
        return not left


def stack_engine(name: str, cloud: SimulatedCloud, work: Path) -> Engine:
    """The root program as the engine runs it, on simulated providers."""
    config = {"rackwright:simulated": "true", "pulumi:disable-default-providers": '["*"]'}
    config |= {f"rackwright:{key}": "simulated" for key in ("chatApiKey", "embedApiKey")}
    return Engine(ROOT, cloud, work, stack=name, project="rackwright-sim", config=config)


def _refused(engine: Engine, cloud: SimulatedCloud) -> dict[str, int]:
    """A destroy as people type it, with its preview: it must stop at what is protected and delete nothing."""
    before = len(cloud.resources())
    try:
        engine.run("destroy", "--stack", engine.stack, "--yes")
    except EngineFailure as failure:
        if "protected" in str(failure) and len(cloud.resources()) == before:
            return {"refused": before}
        raise
    raise EngineFailure("destroy deleted protected resources")


def _step(name: str, words: str, work: Callable[[], dict[str, int]]) -> None:
    start = time.perf_counter()
    with out.status(f"{name}: {words}"):
        did = work()
    changes = ", ".join(f"{number} {operation}" for operation, number in sorted(did.items()))
    out.print(f"{name}: {words}: {changes} ({time.perf_counter() - start:.1f} s)")


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, sort_keys=True), encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
