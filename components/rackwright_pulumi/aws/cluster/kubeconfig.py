"""Kubeconfig of an EKS cluster."""

from pulumi import Input, Output


def kubeconfig(name: Input[str], endpoint: Input[str], authority: Input[str], region: str, role_arn: str = "") -> Output[str]:
    """A kubeconfig without credentials, as a secret. It calls the AWS CLI for a token, so Pulumi's machine needs the CLI.

    role_arn: the role that created the cluster, assumed for the call.
    """
    role = ["--role-arn", role_arn] if role_arn else []
    call = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "aws",
        "args": ["eks", "get-token", "--cluster-name", name, "--region", region, "--output", "json", *role],
        "interactiveMode": "Never",
    }
    cluster = {"server": endpoint, "certificate-authority-data": authority}
    config = Output.json_dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "cluster", "cluster": cluster}],
            "users": [{"name": "deployer", "user": {"exec": call}}],
            "contexts": [{"name": "main", "context": {"cluster": "cluster", "user": "deployer"}}],
            "current-context": "main",
        }
    )
    return Output.secret(config)
