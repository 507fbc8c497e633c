"""A changed secret reaches the running servers of a fleet."""

from pathlib import Path

from rackwright_pulumi.simulator import Engine

ROOT = Path(__file__).resolve().parents[2]


def test_a_changed_api_key_updates_the_secret_and_restarts_the_servers(cloud, tmp_path):
    config = {"rackwright:simulated": "true", "rackwright:today": "2026-11-01", "pulumi:disable-default-providers": '["*"]'}
    config |= {"rackwright:chatApiKey": "old"}
    engine = Engine(ROOT, cloud, tmp_path / "work", stack="chat-eks", project="rackwright", config=config)
    engine.prepare()
    engine.up()
    digests = [digest_of(cloud)]
    engine.run("config", "set", "rackwright:chatApiKey", "new")
    changes = engine.up()
    assert (changes["replace"], changes["update"]) == (1, 1), "the provider replaces a changed Secret"
    digests.append(digest_of(cloud))
    assert engine.up(expect_no_changes=True).keys() == {"same"}
    assert len(set(digests)) == 2


def digest_of(cloud) -> str:
    (server,) = [r for r in cloud.resources() if r.type == "kubernetes:apps/v1:Deployment"]
    return server.inputs["spec"]["template"]["metadata"]["annotations"]["rackwright/secrets-digest"]
