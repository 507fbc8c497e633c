"""Requirements of every graph: inputs that the SDK declares (mocks accept any), and tags on every type that has them."""

from rackwright_pulumi.testing import Graph


def misfits(graph: Graph) -> list[str]:
    """Inputs that the SDK's type does not declare, and required ones that are missing."""
    from rackwright_pulumi.simulator.schema.check import check

    custom = [node for node in graph.nodes.values() if node.custom and not node.type.startswith("pulumi:")]
    return [f"{node.label}: {failure}" for node in custom for failure in check(node.type, node.inputs)]


def untagged(graph: Graph, owner: str) -> list[str]:
    """AWS resources with tags whose owner or name is missing."""
    from rackwright_pulumi.simulator.schema import facts

    taggable = [n for n in graph.nodes.values() if n.type.startswith("aws:") and "tags" in facts.facts(n.type).inputs]
    return [n.label for n in taggable if n.inputs.get("tags", {}).get("owner") != owner or not n.inputs["tags"].get("Name")]
