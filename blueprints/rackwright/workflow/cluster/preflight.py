"""Check of the nodes of a built stack: objects, results, labels and taints of nodes."""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rackwright.compile.jobs.job_context import JobContext
from rackwright.compile.preflight.objects import CHECK, MAX_RUN_S, NAME
from rackwright.compile.preflight.scripts.check_cluster import MARKER
from rackwright.compile.preflight.write_preflight import Preflight, preflight_of
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.stackplan.labels import FAILED, PASSED
from rackwright.validation.spec_paths import in_spec
from rackwright.workflow.cluster.api import Kind
from rackwright.workflow.cluster.connection import RefusedError
from rackwright.workflow.cluster.node_api import NodeApi, NodeState
from rackwright.workflow.cluster.preflight_results import NOT_MEASURED, Check, Results, checks_of
from rackwright.workflow.cluster.quantity import amount
from rackwright.workflow.cluster.submission import ENDED, queue_reason
from rackwright.workflow.cluster.submission import JOB_LABEL as JOBSET_LABEL
from rackwright.workflow.decided import Decided
from rackwright.workflow.pipeline import Pipeline

NODES_WAIT_S = 900
"""Time for the results of all nodes: images of some GiB are pulled first."""
START_WAIT_S = 600
"""Time for the start of the check of all nodes; nodes that run other jobs longer are skipped: assumed."""
CLUSTER_WAIT_S = MAX_RUN_S
POLL_S = 5
EQUAL = ("driver", "firmware")
"""Checks whose value must be the same on all nodes."""


def preflight_for(pipeline: Pipeline, decided: Decided, image: str = "") -> Preflight:
    """The check of the decided stack. Raises UserError with lines of the spec."""
    decision = decided.decision
    job = JobContext(decided.spec, decision.plan, decision.fit, pipeline.catalog, decided.plan, NAME, path=str(pipeline.path))
    try:
        return preflight_of(job, image)
    except UserError as error:
        problems = in_spec(error.problems, pipeline.spec, decision.fit.candidate.place, text=pipeline.content)
        raise UserError(problems, str(pipeline.path)) from None


@dataclass
class PreflightRun:
    """One run of a check. show: prints a line. sleep, now: the clock in seconds, for tests."""

    preflight: Preflight
    api: NodeApi
    show: Callable[[str], None]
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic
    checks: list[Check] = field(default_factory=list)

    def run(self) -> Results:
        """Checks every node, then all that passed together, and marks them. A running JobSet needs the label `passed` to restart, so nodes
        keep it until a result says otherwise. Raises UserError where the cluster is not the stack's."""
        nodes = self._nodes()
        names = tuple(node.name for node in nodes)
        self.show(f"checking {len(nodes)} nodes")
        self._check_nodes(nodes)
        failed = _of_one_node(self.checks)
        for name in sorted(failed):
            self.api.mark_node(name, FAILED)
        kept = {name for check in self.checks if check.name in NOT_MEASURED for name in check.nodes} - failed
        good = tuple(node.name for node in nodes if node.name not in failed | kept)
        for node in nodes:
            if node.name in good and node.result != PASSED:  # the taint of an earlier check keeps this one away
                self.api.mark_node(node.name, None)
        if good and self.preflight.has_cluster_check:
            self.show(f"checking {len(good)} nodes together")
            kept |= {*(() if self._check_cluster(good) else good)}
        earlier = {node.name: node.result for node in nodes if node.name in kept}
        stack, failed = self.preflight.context.spec.name, _of_one_node(self.checks)
        results = Results(stack, names, tuple(self.checks), frozenset(failed), earlier)
        for name in names:
            self.api.mark_node(name, {"passed": PASSED, "failed": FAILED}.get(results.result_of(name)))
        return results

    def _nodes(self) -> list[NodeState]:
        nodes = self.api.nodes(self.preflight.selector)
        if not nodes:
            labels = ", ".join(f"{key}={value}" for key, value in self.preflight.selector.items())
            reason = f"{self.api.server} has no node with the label {labels}, so it is not the cluster of this stack"
            fix = "use the kubeconfig of the stack's cluster (--kubeconfig FILE, --context NAME), or build the stack first: `pulumi up`"
            raise UserError([Problem("V-214", reason, fix=fix)])
        return nodes

    def _check_nodes(self, nodes: list[NodeState]) -> None:
        """Number of nodes, their devices for pods, and the results of the DaemonSet, which is deleted before jobs need its resources."""
        planned = self.preflight.context.pool.nodes_start
        if len(nodes) < planned:
            self.checks.append(Check("node-count", False, len(nodes), planned, ()))
        for node in nodes:
            self.checks += self._devices(node)
        self._gone(lambda: self.api.delete_namespace(self.preflight.namespace), lambda: self.api.has_namespace(self.preflight.namespace))
        try:
            for body in self.preflight.node_objects:
                self._create(lambda body=body: self.api.apply(body))
            messages = self._messages([node.name for node in nodes])
        finally:
            self.api.delete_namespace(self.preflight.namespace)
        for name, (text, why) in messages.items():
            found = checks_of(text, (name,))
            self.checks += found
            if not found:
                self.checks.append(Check("result", False, None, f"{NODES_WAIT_S} s", (name,), why or "the result cannot be read"))
        self.checks += _differences(self.checks)

    def _devices(self, node: NodeState) -> list[Check]:
        amounts = (
            (resource, int(amount(node.allocatable.get(resource))), need) for resource, need in self.preflight.device_amounts.items()
        )
        found = [Check(f"allocatable {resource}", have >= need, have, need, (node.name,)) for resource, have, need in amounts]
        return [Check("ready", node.is_ready, str(node.is_ready), "True", (node.name,)), *found]

    def _messages(self, names: list[str]) -> dict[str, tuple[str, str]]:
        """Node -> (results, why there are none)."""
        ends = self.now() + NODES_WAIT_S
        while True:
            found = self.api.check_messages(self.preflight.namespace, {"app": NAME}, CHECK)
            messages = {name: found.get(name, ("", "no pod was placed on the node")) for name in names}
            if all(text for text, _ in messages.values()) or self.now() > ends:
                return messages
            self.sleep(POLL_S)

    def _check_cluster(self, names: tuple[str, ...]) -> bool:
        """Whether the check was started. It is skipped where the nodes are busy."""
        config, body = self.preflight.cluster_objects(len(names))
        kind, space, name = Kind.of(body, "jobsets"), body["metadata"]["namespace"], body["metadata"]["name"]
        self._gone(lambda: self.api.delete(kind, space, name), lambda: self.api.read(kind, space, name) is not None)
        self._create(lambda: self.api.apply(config))
        self._create(lambda: self.api.create(kind, body, dry_run=True))
        try:
            self._create(lambda: self.api.create(kind, body, dry_run=False))
            busy = self._wait_for(kind, space, name)
            found = [] if busy else self._result(space, name)
        finally:
            self.api.delete(kind, space, name)
        if busy:
            self.checks.append(Check("cluster", True, "", "", names, busy, skipped=True))
            self.show(f"skipped the check of {len(names)} nodes together: {busy}")
            return False
        self.checks += found
        if not any(check.name.startswith("cluster-") for check in found):
            why = "the job ended without a result; see `kubectl get jobsets,workloads -A`"
            self.checks.append(Check("cluster", False, None, f"{CLUSTER_WAIT_S} s", names, why))
        return True

    def _wait_for(self, kind: Kind, space: str, name: str) -> str:
        """Waits until the JobSet ended, or was deleted. Returns why it was not started in START_WAIT_S, empty where it was."""
        begun, is_started = self.now(), False
        while self.now() - begun < CLUSTER_WAIT_S:
            found = self.api.read(kind, space, name)
            conditions = (found or {}).get("status", {}).get("conditions", ())
            if found is None or any(each["type"] in ENDED and each["status"] == "True" for each in conditions):
                return ""
            placed = self.api.pod_nodes(space, {JOBSET_LABEL: name})
            is_started = is_started or (bool(placed) and all(placed.values()))
            if not is_started and self.now() - begun > START_WAIT_S:
                reason = queue_reason(self.api, space, found) or self.api.scheduling_reason(space, {JOBSET_LABEL: name})
                return f"nodes are busy for {START_WAIT_S // 60} minutes{f': {reason}' if reason else ''}"
            self.sleep(POLL_S)
        return ""

    def _result(self, space: str, name: str) -> list[Check]:
        """Results in the log of rank 0; empty where it has none."""
        labels = {JOBSET_LABEL: name, "batch.kubernetes.io/job-completion-index": "0"}
        for pod in self.api.pod_nodes(space, labels):
            found: list[Check] = []
            with suppress(RefusedError):
                for line in self.api.logs(space, pod, follow=False):
                    found += checks_of(f"[{line.removeprefix(MARKER)}]") if line.startswith(MARKER) else []
            return found
        return []

    def _gone(self, delete: Callable[[], None], exists: Callable[[], bool]) -> None:
        """Deletes what an earlier run left, and waits until it is gone."""
        delete()
        ends = self.now() + NODES_WAIT_S
        while exists() and self.now() < ends:
            self.sleep(POLL_S)

    def _create(self, request: Callable[[], object]) -> None:
        try:
            request()
        except RefusedError as error:
            fix = "build the operators of the stack first: `pulumi up`, or report it"
            raise UserError([Problem("V-215", f"{self.api.server} refuses an object of the check: {error}", fix=fix)]) from None


def write_results(results: Results, directory: Path) -> list[Path]:
    """Writes results.json and junit.xml."""
    from rackwright.files import write_text

    directory.mkdir(parents=True, exist_ok=True)
    written = {directory / "results.json": results.to_text(), directory / "junit.xml": results.to_junit()}
    for path, text in written.items():
        write_text(path, text)
    return list(written)


def _of_one_node(checks: Iterable[Check]) -> set[str]:
    """Nodes that failed a check of their own."""
    return {check.nodes[0] for check in checks if not check.passed and len(check.nodes) == 1 and check.name not in NOT_MEASURED}


def _differences(checks: list[Check]) -> list[Check]:
    """Nodes whose driver or firmware is not that of most nodes, where the spec names none."""
    found: list[Check] = []
    for name in EQUAL:
        measured = [check for check in checks if check.name == name and check.passed and not check.skipped and check.measured]
        usual = Counter(check.measured for check in measured).most_common(1)
        if usual:
            limit, count = usual[0]
            wrong = (check for check in measured if check.measured != limit)
            text = f"{count} of {len(measured)} nodes have {limit}"
            found += [Check(f"{name}-of-most", False, check.measured, limit, check.nodes, text) for check in wrong]
    return found
