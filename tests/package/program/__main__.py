"""The request of an SDK in any language: a remote component with the plan as text."""

import os
from pathlib import Path

import pulumi
from pulumi_gcp import Provider


class TpuPod(pulumi.ComponentResource):
    slices: pulumi.Output

    def __init__(self, name: str, plan: str, opts: pulumi.ResourceOptions):
        super().__init__("rackwright:index:TpuPod", name, {"plan": plan, "teardown": True, "slices": None}, opts, remote=True)


gcp = Provider("gcp", project="my-project", region="us-central1")
pod = TpuPod("gemma-pretrain", Path(os.environ["PLAN"]).read_text(encoding="utf-8"), pulumi.ResourceOptions(providers=[gcp]))
pulumi.export("slices", pod.slices)
