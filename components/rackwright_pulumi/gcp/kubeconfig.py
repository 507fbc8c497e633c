"""Kubeconfig of a GKE cluster, and the command that adds it to a user's."""

from pulumi import Input, Output

GET_CREDENTIALS = {"network": "--internal-ip", "ranges": "", "internet": "--dns-endpoint"}
"""API scope to the option of `gcloud container clusters get-credentials`."""
KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: {0}
clusters:
- name: {0}
  cluster:
    server: https://{1}{2}
contexts:
- name: {0}
  context:
    cluster: {0}
    user: {0}
users:
- name: {0}
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: gke-gcloud-auth-plugin
      provideClusterInfo: true
      interactiveMode: IfAvailable
      installHint: gcloud components install gke-gcloud-auth-plugin
"""
AUTHORITY = """
    certificate-authority-data: {0}"""
"""Of the IP endpoint. Clients trust the certificate of the DNS endpoint without it."""


def kubeconfig(name: Input[str], endpoint: Input[str], authority: Input[str] | None) -> Output[str]:
    """A kubeconfig without credentials, as a secret. It calls gke-gcloud-auth-plugin, which Pulumi's machine needs.

    authority: certificate authority of the IP endpoint; None for the DNS endpoint.
    """
    lines = Output.from_input("") if authority is None else Output.format(AUTHORITY, authority)
    return Output.secret(Output.format(KUBECONFIG, name, endpoint, lines))


def kubeconfig_command(name: Input[str], location: Input[str], project: Input[str], api_scope: str) -> Output[str]:
    """The gcloud command for the endpoint that `api_scope` opens."""
    option = GET_CREDENTIALS[api_scope]
    command = "gcloud container clusters get-credentials {0} --location {1} --project {2}{3}"
    return Output.format(command, name, location, project, f" {option}" if option else "")
