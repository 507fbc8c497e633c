"""How to talk to a cluster."""

from pulumi import Input, Output


def kubeconfig(name: Input[str], endpoint: Input[str], authority: Input[str], region: str, role_arn: str = "") -> Output[str]:
    """A secret file without credentials: the AWS CLI is asked for a token at each call, so it must be where Pulumi runs.

    role_arn: the role that built the cluster, which whoever runs the update assumes for the call.
    """
    role = ["--role-arn", role_arn] if role_arn else []
    call = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "aws",
        "args": ["eks", "get-token", "--cluster-name", name, "--region", region, "--output", "json", *role],
        "interactiveMode": "Never",
    }
    there = {"server": endpoint, "certificate-authority-data": authority}
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
