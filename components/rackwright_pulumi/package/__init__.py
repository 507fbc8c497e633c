"""The components as a package for every language that Pulumi has: `pulumi package add` starts `components/__main__.py`.

Importing this imports neither pulumi nor a cloud SDK; serving imports all of them.
"""

import importlib
from typing import Any

COMPONENTS = (
    ("blueprints.box", "Box"),
    ("blueprints.training_cluster", "TrainingCluster"),
    ("blueprints.inference_fleet", "InferenceFleet"),
    ("blueprints.tpu_pod", "TpuPod"),
    ("aws.key", "AwsKey"),
    ("aws.network", "AwsNetwork"),
    ("aws.storage", "AwsStorage"),
    ("aws.identity", "AwsIdentity"),
    ("aws.box", "AwsBox"),
    ("aws.cluster", "AwsCluster"),
    ("aws.pool", "AwsPool"),
    ("aws.addons", "AwsAddons"),
    ("gcp.network", "GcpNetwork"),
    ("gcp.storage", "GcpStorage"),
    ("gcp.identity", "GcpNodeIdentity"),
    ("gcp.identity", "GcpWorkloadIdentity"),
    ("gcp.cluster", "GcpCluster"),
    ("gcp.pool", "GcpPool"),
    ("kubernetes.workloads", "KubernetesLayer"),
)
"""(module, class) of everything that is served, as `rackwright:index:<class>`."""


def kinds() -> list[Any]:
    """The component classes, imported."""
    return [getattr(importlib.import_module(f"rackwright_pulumi.{module}"), name) for module, name in COMPONENTS]


def serve() -> None:
    """Speaks the provider protocol until the engine ends the process; the first argument of the command line is the engine's address."""
    from rackwright_pulumi.package.host import main

    main(kinds())
