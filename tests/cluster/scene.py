"""A plan on nodes of its pools: what the scheduler decides about its daemons, operators, servers and jobs."""

from typing import Any

from rackwright.stackplan import PoolPlan, StackPlan
from rackwright_pulumi.kubernetes.objects import namespace_body

from tests.cluster.api import Api, wait_until
from tests.cluster.nodes import container, daemons, nodes
from tests.cluster.stacks import filled

Body = dict[str, Any]
STORAGE = ("PersistentVolume", "PersistentVolumeClaim", "ServiceAccount")
WORKLOADS = ("Deployment", "LeaderWorkerSet")
OPERATORS = "operators"


class Scene:
    """One plan at a time on a control plane; `clear` removes it."""

    def __init__(self, api: Api, plan: StackPlan):
        self.api, self.plan = api, plan
        self.pools = {body["metadata"]["name"]: body["metadata"]["name"].rpartition("-")[0] for body in nodes(plan)}
        self.team = next(name for name, _ in plan.namespaces if name.startswith("team-"))
        self.spaces = ("kube-system", self.team)

    def build(self) -> None:
        """Nodes at their largest, daemons, and a Deployment in place of the operators without a node selector."""
        for body in nodes(self.plan):
            self.api.must_apply({key: value for key, value in body.items() if key != "status"})
            self.api.set_status(body)
        levels = dict(self.plan.namespaces)
        self.api.must_apply(namespace_body(self.team, levels[self.team], is_of_team=True), *daemons(self.plan), _operators())
        stored = [manifest.body for manifest in self.plan.manifests if manifest.body["kind"] in STORAGE]
        self.api.must_apply(*(filled(body) for body in stored))
        assert wait_until(lambda: all(self.api.items("v1", "ServiceAccount", space) for space in self.spaces))

    def serve(self, replicas: int) -> int:
        """Start replicas of the plan's server; returns its number of pods. A group of pods is started without its operator."""
        (body,) = (manifest.body for manifest in self.plan.manifests if manifest.body["kind"] in WORKLOADS)
        body = filled(body)
        if body["kind"] == "Deployment":
            self.api.must_apply({**body, "spec": {**body["spec"], "replicas": replicas}})
            return replicas
        template, name = body["spec"]["leaderWorkerTemplate"], body["metadata"]["name"]
        for number in range(replicas * template["size"]):
            part = template["workerTemplate" if number % template["size"] else "leaderTemplate"]
            self.api.must_apply(self._pod(f"{name}-{number}", part["metadata"], part["spec"]))
        return replicas * template["size"]

    def update(self, deployment: Body, replicas: int) -> None:
        """Change an annotation of the pods, so that each is replaced."""
        body = filled(deployment)
        template = body["spec"]["template"]
        changed = {**template, "metadata": {**template["metadata"], "annotations": {"changed": "true"}}}
        self.api.must_apply({**body, "spec": {**body["spec"], "replicas": replicas, "template": changed}})

    def ready(self, deployment: Body) -> int:
        found = self.api.request("GET", self.api.path(deployment)).body
        return found.get("status", {}).get("readyReplicas", 0)

    def gang(self) -> int:
        """One pod for each node of the sized pools, with all that its queue grants to a node; returns their number."""
        pools = [pool for pool in self.plan.pools if pool.does_the_work]
        queue, flavor = self._body("queue.cluster-queue"), self._body("queue.flavor")
        largest = max(_together(pools).values())
        quotas = next(f for g in queue["spec"]["resourceGroups"] for f in g["flavors"] if f["name"] == flavor["metadata"]["name"])
        requests = {row["name"]: _share(row["nominalQuota"], largest) for row in quotas["resources"]}
        spec = {"nodeSelector": flavor["spec"]["nodeLabels"], "tolerations": flavor["spec"]["tolerations"]}
        for number in range(largest):
            pod = {**spec, "containers": [container(requests)], "restartPolicy": "Never"}
            self.api.must_apply(self._pod(f"worker-{number}", {"labels": {"app": "worker"}}, pod))
        return largest

    def placed(self, label: str, namespace: str = "") -> list[str]:
        """Pool of each placed pod with the label `app`, by name; pods that wait are not listed."""
        pods = self.api.items("v1", "Pod", namespace or self.team, f"app={label}")
        return sorted(self.pools[pod["spec"]["nodeName"]] for pod in pods if pod["spec"].get("nodeName"))

    def clear(self) -> None:
        for kind in ("Deployment", "DaemonSet", "ReplicaSet"):
            for space in self.spaces:
                self.api.delete_all("apps/v1", kind, space)
        assert wait_until(self._without_pods), "pods are left"
        self.api.delete_all("v1", "Node")

    def _without_pods(self) -> bool:
        """Deletes the pods that are left, which a controller may just have created."""
        left = [space for space in self.spaces if self.api.items("v1", "Pod", space)]
        for space in left:
            self.api.delete_all("v1", "Pod", space)
        return not left

    def pool_name(self, pool: PoolPlan) -> str:
        return f"{self.plan.name}-{pool.name}"

    def _body(self, key: str) -> Body:
        return next(manifest.body for manifest in self.plan.manifests if manifest.key == key)

    def _pod(self, name: str, metadata: Body, spec: Body) -> Body:
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {**metadata, "name": name, "namespace": self.team}, "spec": spec}


def _operators() -> Body:
    """An add-on of the cloud without node selector and tolerations, as CoreDNS."""
    labels = {"app": OPERATORS}
    pod = {"containers": [container({"cpu": "100m", "memory": "70Mi"})]}
    spec = {"replicas": 6, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": OPERATORS, "namespace": "kube-system"}, "spec": spec}


def _together(pools: list[PoolPlan]) -> dict[int, int]:
    """Nodes by preference: pools of a fallback are alternatives."""
    found: dict[int, int] = {}
    for pool in pools:
        found[pool.preference] = found.get(pool.preference, 0) + pool.nodes_max
    return found


def _share(amount: int | str, nodes: int) -> str:
    """A node's part of a quota."""
    digits = str(amount).rstrip("GiMm")
    return f"{int(digits) // nodes}{str(amount)[len(digits) :]}"
