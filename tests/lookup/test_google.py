"""`rackwright lookup` on Google Cloud: answers of the Google Cloud CLI, compared with a plan."""

import json
from datetime import date

import pytest
from rackwright.catalog.read import Catalog
from rackwright.spec.reading.quotas_file import read_quotas
from rackwright_pulumi.lookup import NotAnswered, google
from rackwright_pulumi.lookup.command import write_quota_rows
from rackwright_pulumi.lookup.gcloud import Project

from tests.gke_plans import GKE

ZONES = ["us-central1-a", "us-central1-b", "us-central1-c"]
TYPES = {"a3-megagpu-8g": (208, 1872 * 1024), "e2-standard-8": (8, 32768)}


def project(megas: float = 64, version: str = "1.35.3-gke.1", zones: tuple[str, ...] = tuple(ZONES)) -> Project:
    def run(command):
        match command[:3]:
            case ("projects", "describe", name):
                answer = {"projectNumber": "1", "projectId": name}
            case ("compute", "machine-types", "list"):
                answer = [{"zone": f"https://www.googleapis.com/compute/v1/projects/p/zones/{zone}"} for zone in zones]
            case ("compute", "machine-types", "describe"):
                cpus, memory = TYPES[command[3]]
                answer = {"guestCpus": cpus, "memoryMb": memory}
            case ("container", "get-server-config", _):
                answer = {"validMasterVersions": [version]}
            case ("compute", "regions", "describe"):
                answer = {"quotas": [{"metric": "NVIDIA_H100_MEGA_GPUS", "limit": megas, "usage": 8}]}
            case ("compute", "project-info", "describe"):
                answer = {"quotas": [{"metric": "GPUS_ALL_REGIONS", "limit": 128, "usage": 0}]}
            case _:
                raise NotAnswered(f"ERROR: {command}")
        return json.dumps(answer)

    return Project("my-project", "us-central1", run)


def compared(found: Project):
    return google.look_up_project(GKE["gke-tcpxo"](), found, Catalog.default())


def test_a_project_that_agrees_has_no_difference():
    found = compared(project())
    assert found.problems == ()
    assert found.unasked == ()
    assert {"project", "quotas", "facts of a3-megagpu-8g", "zones that offer a3-megagpu-8g"} <= {*found.agreed}


@pytest.mark.parametrize(
    ("changed", "code", "reason"),
    [
        ({"megas": 16}, "V-115", "the account has 8"),
        ({"version": "1.30.1-gke.1"}, "K-06", "does not offer Kubernetes"),
        ({"zones": ()}, "K-03", "a3-megagpu-8g is not offered in"),
    ],
)
def test_a_difference_is_a_warning_with_its_values(changed, code, reason):
    found = compared(project(**changed))
    assert any(problem.code == code and reason in problem.reason for problem in found.problems)


def test_without_the_cli_every_check_is_listed_as_not_done():
    def run(command):
        raise NotAnswered("the Google Cloud CLI is not installed")

    found = compared(Project("my-project", "us-central1", run))
    assert found.problems == found.agreed == ()
    assert len(found.unasked) >= 6


def test_written_quotas_are_read_by_a_spec(tmp_path):
    path = tmp_path / "quotas.json"
    assert write_quota_rows(path, GKE["gke-tcpxo"](), lambda: google.quota_rows(project()), date(2026, 11, 21)) == 2
    assert read_quotas(path) == {"us-central1": {"NVIDIA_H100_MEGA_GPUS": 56.0}, "global": {"GPUS_ALL_REGIONS": 128.0}}
