"""AWS plans with the real engine: a file holds the plan, and another plan in it is an edit."""

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rackwright.stackplan import StackPlan
from rackwright_pulumi.simulator import Engine, SimulatedCloud
from rackwright_pulumi.simulator.clusters.cluster_view import INSTANCE, INTERFACE, LOAD_BALANCER

from tests import plans

NODES, CLUSTER = "aws:eks/nodeGroup:NodeGroup", "aws:eks/cluster:Cluster"
FILESYSTEM = "aws:fsx/lustreFileSystem:LustreFileSystem"
PROGRAM = Path(__file__).parent / "programs" / "plan"
CASES = {"box": plans.box_case, "training": plans.training_case, "fleet": plans.eks_fleet_case, "managed-fleet": plans.managed_fleet_case}
"""One of each blueprint on AWS: a box, managed groups behind queues, machines of Karpenter, groups of the cluster autoscaler."""

CONTROLLED = {"fleet": {INSTANCE, LOAD_BALANCER, INTERFACE}, "managed-fleet": {LOAD_BALANCER, INTERFACE}}
"""What controllers in the cluster make while the stack stands; nothing elsewhere."""


@dataclass
class Stack:
    """One plan with its engine and its cloud. Stacks with the same `work` share a backend and can read each other's outputs."""

    plan: StackPlan
    cloud: SimulatedCloud
    work: Path
    name: str = "dev"
    engine: Engine = field(init=False)

    def __post_init__(self) -> None:
        self.work.mkdir(parents=True, exist_ok=True)
        self.write(self.plan)
        config = {"rackwright:plan": str(self.path), "pulumi:disable-default-providers": '["*"]'}
        self.engine = Engine(PROGRAM, self.cloud, self.work / "engine", stack=self.name, project="rackwright", config=config)
        self.engine.prepare()

    @property
    def path(self) -> Path:
        return self.work / f"{self.name}.json"

    def write(self, plan: StackPlan) -> None:
        self.plan = plan
        self.path.write_text(plan.to_json(), encoding="utf-8")

    def would(self, plan: StackPlan) -> dict[str, Counter[str]]:
        """Steps of an update to another plan: operation to type to number."""
        self.write(plan)
        found: dict[str, Counter[str]] = {}
        for step in self.engine.preview()["steps"]:
            kind = step["urn"].split("::")[2].rpartition("$")[2]
            found.setdefault(step["op"], Counter())[kind] += 1
        return found

    def teardown(self) -> None:
        """Destroy a stack: remove the protections first, then destroy."""
        self.engine.run("config", "set", "--stack", self.name, "rackwright:teardown", "true")
        self.engine.up()
        self.engine.destroy()


def edited(plan: StackPlan) -> StackPlan:
    """Benign edits of a running stack: a tag, an alert recipient, the API ranges, an administrator, a maximum size."""
    more: dict[str, Any] = {"tags": (*plan.tags, ("project", "atlas"))}
    if plan.guard:
        more["guard"] = replace(plan.guard, emails=("night@example.com",), budget_usd_per_month=123.0)
    if plan.cluster:
        # the simulated deployer, whose entry moves to its key in `admins`, and another role
        roles = (*plan.cluster.admins, "arn:aws:iam::123456789012:role/deployer", "arn:aws:iam::123456789012:role/second")
        more["cluster"] = replace(plan.cluster, api_cidrs=(*plan.cluster.api_cidrs, "198.51.100.0/24"), admins=roles)
        more["pools"] = tuple(replace(pool, nodes_max=pool.nodes_max + 1) for pool in plan.pools)
    return replace(plan, **more)
