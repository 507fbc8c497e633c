"""Versions that a plan pins, by name: rows of `catalog/data/versions.csv`. A new release never changes a running cluster."""

from rackwright.catalog.release.pinned_versions import pinned_versions

CHARTS = pinned_versions("chart")
KUBERNETES = pinned_versions("kubernetes")["cluster"].version
EKS_ADDONS = {name: row.version for name, row in pinned_versions("eks-addon").items()}
"""Empty version: EKS selects its default when the add-on is created, and keeps it."""
NODE_RELEASES = {name: row.version for name, row in pinned_versions("node-image").items()}
"""Release per image. Ubuntu has none: EKS provides no Ubuntu image, and a custom image is identified by its AMI ID."""
FABRIC_IMAGES = {name: row.version for name, row in pinned_versions("fabric-image").items()}
SERVER_IMAGES = {name: row.version for name, row in pinned_versions("server-image").items()}
OPERATOR_IMAGES = {name: row.version for name, row in pinned_versions("operator-image").items()}
