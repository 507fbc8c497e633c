"""docs/control-plane.md: kinds that the API server accepts, and pods that the scheduler places."""

from dataclasses import dataclass, field

HEAD = """\
# Objects on a real control plane

`make test-cluster` sends Kubernetes objects to kube-apiserver 1.36.3 with the CRDs of the pinned operators, server-side and with strict
field validation. They are the objects of every example, every written plan and the pairwise cover of the matrix. kube-scheduler then
places pods on nodes shaped like the planned pools: daemons, servers at `max_replicas`, and one pod per machine with its whole quota. A
test compares this page with the answers.
"""
NOT_APPLIED = "not applied: only GKE has its CRD"


@dataclass
class Report:
    """accepted: (kind, API version) to the answer. placed: plan to (nodes, what was started, pods on nodes of the sized pools)."""

    accepted: dict[tuple[str, str], str] = field(default_factory=dict)
    placed: dict[str, tuple[int, str, int]] = field(default_factory=dict)

    def text(self) -> str:
        kinds = [f"| {kind} | {api} | {answer} |" for (kind, api), answer in sorted(self.accepted.items())]
        plans = [f"| {name} | {nodes} | {what} | {pods} |" for name, (nodes, what, pods) in sorted(self.placed.items())]
        accepted = ["## Accepted", "", "| Kind | API version | Accepted |", "|---|---|---|", *kinds]
        placed = ["## Placed", "", "| Plan | Nodes | Started | Pods placed, all on accelerators |", "|---|---|---|---|", *plans]
        return "\n".join([HEAD, *accepted, "", *placed, ""])
