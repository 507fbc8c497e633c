"""`rackwright inventory`: the servers of an existing cluster as a file."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from rackwright.cli.app import app
from rackwright.cli.terminal import emit


@app.command()
def inventory(
    kubeconfig: Annotated[
        Path | None, typer.Option("--kubeconfig", help="Kubeconfig of the cluster.", show_default="that of kubectl")
    ] = None,
    context: Annotated[str, typer.Option("--context", help="Context of the kubeconfig.", show_default="current")] = "",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File to write.", show_default="stdout")] = None,
    name: Annotated[str, typer.Option("--name", help="Name of the cluster.", show_default="that of the kubeconfig")] = "",
) -> None:
    """Write the servers of an existing Kubernetes cluster as an inventory. Read only: it changes nothing in the cluster."""
    import yaml

    from rackwright.catalog import Catalog
    from rackwright.files import write_text
    from rackwright.workflow.cluster.inventory import inventory_document, open_questions
    from rackwright.workflow.cluster.reader import ClusterReader

    reader = ClusterReader(kubeconfig, context)
    document = inventory_document(
        name=name or reader.cluster or "cluster",
        context=reader.context,
        kubernetes=reader.version(),
        nodes=reader.nodes(),
        nic_states=reader.nic_states(),
        storage_classes=reader.storage_classes(),
        deployments=reader.deployments(),
        service_cidrs=reader.service_cidrs(),
        ip_pools=reader.ip_pools(),
        now=datetime.now(UTC),
        catalog=Catalog.default(),
    )
    comments = "".join(f"# {question}\n" for question in open_questions(document))
    text = comments + yaml.safe_dump(document, sort_keys=False, width=120)
    if output is None:
        emit(text.rstrip())
        return
    write_text(output, text)
    servers = sum(len(group["nodes"]) for group in document["servers"])
    emit(f"{output}: {servers} servers in {len(document['servers'])} groups; {len(document['installed'])} operators found")
