"""Types of the two files that `rackwright diff` reads: a resource graph, and a state of `pulumi stack export`."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Urn = Annotated[str, Field(pattern=r"^urn:pulumi:.*?::.*?::.*?::.+")]


class Options(BaseModel):
    """Options that a comparison reads."""

    model_config = ConfigDict(extra="allow")
    read: bool = False
    aliases: list[str] = []
    ignoreChanges: list[str] = []
    replaceOnChanges: list[str] = []
    deleteBeforeReplace: bool = False


class GraphNode(BaseModel):
    """One resource of `rackwright graph --json`."""

    model_config = ConfigDict(strict=True)
    type: str
    name: str
    urn: Urn
    inputs: dict[str, Any]
    protect: bool
    parent: str = ""
    provider: str = ""
    dependsOn: list[str] = []
    propertyDependencies: dict[str, list[str]] = {}
    options: Options = Options()


class GraphFile(BaseModel):
    """The output of `rackwright graph --json`."""

    resources: list[GraphNode]
    stack: str = ""


class ExportedResource(BaseModel):
    """One resource of a state (pulumi: sdk/go/common/apitype, ResourceV3)."""

    type: str
    urn: Urn
    id: str = ""
    inputs: dict[str, Any] | None = None
    outputs: dict[str, Any] | None = None
    parent: str = ""
    provider: str = ""
    dependencies: list[str] | None = None
    propertyDependencies: dict[str, list[str] | None] | None = None
    protect: bool = False
    external: bool = False
    delete: bool = False


class Deployment(BaseModel):
    """The resources of a state; a new stack has none."""

    resources: list[ExportedResource] = []


class StackExport(BaseModel):
    """The output of `pulumi stack export`."""

    version: Literal[3] = 3
    deployment: Deployment
