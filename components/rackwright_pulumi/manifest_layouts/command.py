"""`rackwright manifests`: the Kubernetes objects and charts of a stack as files."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rackwright.cli.app import AsJson, Outputs, SpecPath, Today
from rackwright.cli.session import Session
from rackwright.cli.terminal import emit
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.diagnostics.secrets import has_token

from rackwright_pulumi.manifest_layouts.layout import GitSource, Layout
from rackwright_pulumi.manifest_layouts.write import layout_texts
from rackwright_pulumi.recorded_stack import recorded

if TYPE_CHECKING:
    from rackwright_pulumi.kubernetes.manifest_files import Manifests

GIT = GitSource()
START = {
    Layout.PLAIN: "install them with {0}/install.sh",
    Layout.KUSTOMIZE: "install them with {0}/install.sh",
    Layout.ARGOCD: "commit them, then `kubectl apply -f {0}/application.yaml`",
    Layout.FLUX: "commit them to the repository that Flux reads, with {0}/kustomizations in the path of the cluster",
}
"""What installs the files of a layout. {0}: their folder."""


def manifests(
    spec: SpecPath,
    directory: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="A new or empty folder.")],
    outputs: Outputs = None,
    layout: Annotated[Layout, typer.Option("--layout", help="For a shell, kustomize, Argo CD or Flux.")] = Layout.PLAIN,
    git_url: Annotated[str, typer.Option("--git-url", metavar="URL", help="Repository of the files, for Argo CD.")] = GIT.url,
    git_path: Annotated[
        str, typer.Option("--git-path", metavar="PATH", help="Path of DIR in the repository, for Argo CD and Flux.")
    ] = GIT.path,
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """Write every Kubernetes object of the stack as YAML, with the values of its Helm charts, in the order of installation."""
    from rackwright.files import write_text
    from rackwright.workflow.stack.outputs import read_outputs

    source = _git_source(git_url, git_path)
    session = Session.of(spec, as_json, today)
    known = read_outputs(outputs) if outputs else {}
    made = _manifests(session, known)
    if directory.exists() and any(directory.iterdir()):
        raise UserError([Problem("U-manifests", f"{directory} has files, and old ones would be installed too", fix="name a new folder")])
    texts = layout_texts(made, layout, session.path.stem, source)
    for name, text in texts.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        write_text(directory / name, text)
    url = [GIT.url[2:-1]] if any(GIT.url in text for text in texts.values()) else []
    if as_json:
        uses = {path: list(made.uses_of(path)) for path in made.unknown}
        emit({"ok": True, "files": [str(directory / name) for name in texts], "unknown": [*made.unknown, *url], "uses": uses})
        return
    emit(f"wrote {len(texts)} files to {directory}; {START[layout].format(directory)}")
    if made.unknown and not known:
        emit(f"set by --outputs, after `pulumi up` of the layers base and cluster: {', '.join(made.unknown)}")
    for path in made.unknown if known else ():
        emit(f"{outputs} has no output {path}: ${{{path}}} is left in {', '.join(made.uses_of(path))}")
    if url:
        emit(f"set by --git-url: {GIT.url} is left in application.yaml")


def _git_source(url: str, path: str) -> GitSource:
    """The repository of the files. Raises UserError for a URL with a credential."""
    if has_token(url):
        reason = "--git-url contains a credential, which application.yaml would have in plain text"
        fix = "name the URL alone, and revoke the credential; Argo CD reads it from a Secret with the label argocd.argoproj.io/secret-type"
        raise UserError([Problem("U-manifests", reason, fix=fix)])
    return GitSource(url, path)


def _manifests(session: Session, outputs: dict[str, Any]) -> "Manifests":
    """The files of a stack. Raises UserError for a stack without Kubernetes objects, and for values that it does not export."""
    from rackwright_pulumi.kubernetes.manifest_files import manifests_of, texts_of

    plan = session.stack()
    if not plan.cluster:
        fix = "name the spec of a training cluster, a fleet or a TPU pod"
        reason = f"The stack is a {plan.kind}, which has no Kubernetes objects"
        raise UserError([Problem("U-manifests", reason, fix=fix)], str(session.path))
    made = manifests_of(recorded(session, session.path.stem, exports=True), outputs, texts_of(json.loads(plan.to_json())))
    if made.simulated:
        reason = f"{', '.join(made.simulated)} contain values of the cloud that the stack does not export"
        raise UserError([Problem("U-manifests", reason, fix="build these objects with `pulumi up`")], str(session.path))
    return made
