"""Test Pulumi programs: record the resource graph of a program without CLI, cloud or network."""

from rackwright_pulumi.resource_graph import Graph, Node, Secret
from rackwright_pulumi.testing.monitor import DuplicateResource, UnknownStack
from rackwright_pulumi.testing.placeholders import placeholder_secrets
from rackwright_pulumi.testing.record import record

__all__ = ["DuplicateResource", "Graph", "Node", "Secret", "UnknownStack", "placeholder_secrets", "record"]
