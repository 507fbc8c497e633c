"""Facts about machines are rows of the catalog: no code names an instance type or a family."""

import re
from functools import cache

import pytest
from rackwright.catalog import Catalog

from tests.house.source_files import LIBRARY, ROOT, python_files, read

pytestmark = pytest.mark.xdist_group("sources")
EC2_TYPE = re.compile(r"(u-)?[a-z]{1,4}\d[a-z0-9]*(-[a-z0-9]+)*\.(\d*xlarge|large|medium|small|micro|nano|metal)")
TOKEN = re.compile(r"[a-z0-9][a-z0-9.-]*")
SYSTEM, EXAMPLE, SIMULATED = (
    "our choice for the operators' pool",
    "an example in a text",
    "what the simulated cloud takes when none is named",
)
ALLOWED = {
    ("blueprints/rackwright/clouds/aws.py", "m7i.2xlarge"): SYSTEM,
    ("blueprints/rackwright/clouds/gcp.py", "e2-standard-8"): SYSTEM,
    ("blueprints/rackwright/wording/rejections.py", "m7i.4xlarge trn1.32xlarge"): EXAMPLE,
    ("blueprints/rackwright/validation/stack/nodes/images.py", "p6-b200.48xlarge p6-b300.48xlarge"): EXAMPLE,
    ("blueprints/rackwright/cli/spec_commands.py", "p5.48xlarge"): EXAMPLE,
    ("blueprints/rackwright/report/reference/serving_page.py", "g6e.xlarge"): "the example of docs/serving.md",
    ("components/rackwright_pulumi/policies/launch_templates.py", "t3.medium"): "EKS's default, in a text",
    ("components/rackwright_pulumi/simulator/limits/machines.py", "t3.medium t3.micro m7i.xlarge"): SIMULATED,
    ("components/rackwright_pulumi/simulator/clusters/karpenter.py", "m7i.large"): SIMULATED,
    ("components/rackwright_pulumi/simulator/computed/ec2.py", "p5.48xlarge"): SIMULATED,
}
"""File and names in it -> why they are no fact about a machine."""
PAIRS = {(file, token) for file, tokens in ALLOWED for token in tokens.split()}


def names() -> set[str]:
    """Machines of the catalog, their families, and the beginnings of their names that a prefix would be written as."""
    found: set[str] = set()
    for row in Catalog.default().machines:
        if row.cloud != "kubernetes":
            words = row.name.split("-")
            found |= {row.name, row.name.split(".")[0], row.family.lower(), *("-".join(words[:n]) for n in range(1, len(words)))}
    return {name for name in found if re.search(r"\d", name)}


def machines_in(text: str, known: set[str]) -> list[str]:
    tokens = (token.rstrip(".-") for token in TOKEN.findall(text.lower()))
    return [token for token in tokens if token in known or EC2_TYPE.fullmatch(token)]


@cache
def uses() -> dict[tuple[str, str], int]:
    """(file, name of a machine in one of its strings) -> line."""
    known = names()
    return {
        (path.relative_to(ROOT).as_posix(), token): line
        for path in python_files(*LIBRARY)
        for line, text in read(path).strings
        for token in machines_in(text, known)
    }


def test_no_code_names_a_machine():
    assert [f"{file}:{line} {token}" for (file, token), line in uses().items() if (file, token) not in PAIRS] == []


def test_every_exception_is_used():
    assert PAIRS - uses().keys() == set(), "remove it from ALLOWED"


def test_prefixes_of_machine_names_are_found():
    assert machines_in("p6-b300.", names()) == ["p6-b300"]
    assert machines_in("t3.micro", names()) == ["t3.micro"]
    assert machines_in("one of g5., ct6e-, a3-ultragpu-", names()) == ["g5", "ct6e", "a3-ultragpu"]
    assert machines_in("p50 and p90 of v1.35", names()) == []
