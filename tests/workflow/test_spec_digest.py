"""The digest of a spec stays the same when a release adds keys with their defaults."""

from rackwright import read
from rackwright.workflow.spec_digest import spec_digests

BATCH = """\
api_version: rackwright/v1
name: t
workloads: [{name: a, kind: batch, model: {base: llama-3.1-8b}, requests: 1000, input_tokens: {mean: 100}, output_tokens: {mean: 10}}]
infra: {any_of: [{cloud: aws, regions: [us-east-1]}]}
"""


def test_a_batch_has_the_digest_of_builds_without_regions_of_its_data():
    assert spec_digests(read(BATCH)) == ("acf9c5dc72fa1cfd", "acf9c5dc72fa1cfd")


def test_sharing_is_read_by_sizing_and_its_default_is_not_recorded():
    plain, none, mps = (read(f"{BATCH}{more}") for more in ("", "blueprint: {sharing: none}\n", "blueprint: {sharing: mps}\n"))
    assert spec_digests(plain) == spec_digests(none) == ("acf9c5dc72fa1cfd", "acf9c5dc72fa1cfd")
    assert spec_digests(mps) != spec_digests(plain)
