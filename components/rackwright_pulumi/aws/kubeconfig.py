"""How to talk to a cluster."""

from pulumi import Output
from pulumi_aws.eks.cluster import Cluster


def kubeconfig(cluster: Cluster, region: str) -> Output[str]:
    """A secret file without credentials: the AWS CLI is asked for a token at each call, so it must be where Pulumi runs."""
    call = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "aws",
        "args": ["eks", "get-token", "--cluster-name", cluster.name, "--region", region, "--output", "json"],
        "interactiveMode": "Never",
    }
    there = {"server": cluster.endpoint, "certificate-authority-data": cluster.certificate_authority.data}
    config = Output.json_dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "cluster", "cluster": there}],
            "users": [{"name": "deployer", "user": {"exec": call}}],
            "contexts": [{"name": "main", "context": {"cluster": "cluster", "user": "deployer"}}],
            "current-context": "main",
        }
    )
    return Output.secret(config)
