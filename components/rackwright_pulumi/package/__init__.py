"""The components as a package for every language that Pulumi has: `pulumi package add` starts `components/__main__.py`.

Importing this imports neither pulumi nor a cloud SDK.
"""

import importlib
from typing import Any

COMPONENTS = {
    "Box": "blueprints.box",
    "TrainingCluster": "blueprints.training_cluster",
    "InferenceFleet": "blueprints.inference_fleet",
    "TpuPod": "blueprints.tpu_pod",
    "AwsKey": "aws.key",
    "AwsNetwork": "aws.network",
    "AwsStorage": "aws.storage",
    "AwsIdentity": "aws.identity",
    "AwsBox": "aws.box",
    "AwsCluster": "aws.cluster",
    "AwsExistingCluster": "aws.existing_cluster",
    "AwsGuard": "aws.guard",
    "AwsPool": "aws.pool",
    "AwsKarpenter": "aws.karpenter",
    "AwsAutoscaler": "aws.autoscaling",
    "AwsAddons": "aws.addons",
    "GcpNetwork": "gcp.network",
    "GcpStorage": "gcp.storage",
    "GcpNodeIdentity": "gcp.identity",
    "GcpWorkloadIdentity": "gcp.identity",
    "GcpCluster": "gcp.cluster",
    "GcpPool": "gcp.pool",
    "KubernetesLayer": "kubernetes.workloads",
}
"""Everything that is served, as `rackwright:index:<class>`, and the module it lives in."""


def kind(name: str) -> Any:
    """The component class of a name, imported. Raises LookupError on a name that is not served."""
    if name not in COMPONENTS:
        raise LookupError(f"no component {name!r}; there are {', '.join(COMPONENTS)}")
    return getattr(importlib.import_module(f"rackwright_pulumi.{COMPONENTS[name]}"), name)


def serve() -> None:
    """Speaks the provider protocol until the engine ends the process; the first argument of the command line is the engine's address."""
    from rackwright_pulumi.package.host import main

    main()
