"""Namespaces of operators: one list gives their pod security level, and reserves them."""

import pytest
from rackwright.stackplan.namespaces import OPERATOR_NAMESPACES, is_of_kubernetes, is_reserved

from tests import plans


@pytest.mark.parametrize("case", [plans.training_case, plans.eks_fleet_case])
def test_every_namespace_of_a_release_is_reserved(case):
    releases = plans.compiled(case()).releases
    assert releases
    assert {release.namespace for release in releases if not is_of_kubernetes(release.namespace)} <= OPERATOR_NAMESPACES.keys()
    assert all(is_reserved(release.namespace) for release in releases)


@pytest.mark.parametrize("name", ["default", "kube-public", "monitoring", "lws-system", "other-system"])
def test_namespaces_of_kubernetes_and_of_operators_are_reserved(name):
    assert is_reserved(name)


@pytest.mark.parametrize("name", ["team-nlp", "kubeflow", "system", "my-defaults"])
def test_namespaces_of_teams_are_free(name):
    assert not is_reserved(name)
