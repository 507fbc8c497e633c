"""Data in another region or cloud than the machines: priced from the catalog, in the rank, the budget and the bill."""

from datetime import date

import pytest
from rackwright import compile_plan
from rackwright.catalog import Catalog
from rackwright.cost.bill import bill
from rackwright.sizing.evaluation.transfers import Location, location, transfer_fee, written_checkpoints
from rackwright.sizing.note import NoteKind
from rackwright.spec import read
from rackwright.wording.notes import note_text

from tests.sizing.helpers import AWS, finetune, plan

CATALOG = Catalog.default()
EAST, WEST = (AWS.replace("us-east-1", region) for region in ("us-east-1", "us-west-2"))
DATA = "data: {samples: 20000, tokens_per_sample: 1000, size: 2 TB, uri: s3://team/sft%s}"


def job(data: str = "", more: str = "") -> str:
    return finetune(more=more).replace("data: {samples: 20000, tokens_per_sample: 1000, epochs: 1, size: 1 GB}", DATA % data)


def usd(source: str, source_region: str | None, target: str, target_region: str) -> float | None:
    fee = transfer_fee(Location(source, source_region), Location(target, target_region), CATALOG)
    return fee.usd if fee else None


def test_prices_of_transfers():
    """infracost's golden estimates: 750 GB from us-east-1 to other regions 15.00 USD, 500 GB to us-east-2 5.00, from sa-east-1 103.50."""
    assert usd("aws", "us-east-1", "aws", "us-west-2") == 0.02
    assert usd("aws", "us-east-1", "aws", "us-east-2") == 0.01
    assert usd("aws", "sa-east-1", "aws", "us-east-1") == 0.138
    assert usd("aws", "us-east-1", "gcp", "us-central1") == 0.09
    assert usd("gcp", "us-central1", "gcp", "us-east5") == 0.02
    assert usd("gcp", "us-central1", "aws", "us-east-1") == 0.12
    assert usd("gcp", "us-central1", "gcp", "europe-west4") is None
    assert usd("kubernetes", "", "aws", "us-east-1") is None


def test_a_bucket_is_where_its_uri_says():
    assert location("s3://team/sft", "us-west-2") == Location("aws", "us-west-2")
    assert location("gs://team/sft", None) == Location("gcp", None)
    assert (location("hf://team/sft", None), location(None, None)) == (None, None)


def test_the_last_checkpoint_of_a_run_is_written():
    assert (written_checkpoints(36_000, 14_400), written_checkpoints(100, 14_400), written_checkpoints(None, 0)) == (3, 1, 1)


def test_machines_beside_the_data_rank_before_the_same_machines_elsewhere():
    """2 TB are 1,862.6 GiB, 37.25 USD from us-west-2; a LoRA run costs some dollars in either region."""
    found = plan(job(", region: us-west-2"), EAST, WEST)
    assert found.chosen.candidate.region == "us-west-2"
    assert found.chosen.transfers == ()
    away = next(fit for fit in found.fits if fit.candidate.region == "us-east-1")
    (moved,) = away.transfers
    assert (moved.what, moved.source, moved.target) == ("data", "aws us-west-2", "aws us-east-1")
    assert away.transfer_usd == pytest.approx(2e12 / 2**30 * 0.02)
    nearer = [fit for fit in found.fits[: found.fits.index(away)] if fit.candidate.region == "us-west-2"]
    assert len(nearer) > 10


def test_the_transfer_counts_towards_the_budget():
    at_home, away = (plan(job(f", region: {region}"), EAST, goals="{max_cost: 30 USD}") for region in ("us-east-1", "us-west-2"))
    assert at_home.chosen
    assert away.chosen is None or all(fit.cost_usd.p50 + fit.transfer_usd <= 30 for fit in away.fits)
    assert len(away.fits) < len(at_home.fits)


def test_the_bill_has_the_transfer_of_the_plan():
    workload = job(", region: us-west-2", "checkpoint: {uri: s3://team-ckpt/x, region: eu-west-1}")
    spec = read(f"api_version: rackwright/v1\nname: test\nworkloads: [{workload}]\ninfra: {{any_of: [{EAST}]}}\n")
    found = plan(workload, EAST)
    stack = compile_plan(spec, found, found.chosen, today=date(2026, 11, 21))
    lines = {line.what: line for line in bill(stack, found.chosen, spec, CATALOG).lines}
    data = lines["transfer of data, aws us-west-2 to aws us-east-1"]
    assert (data.quantity, data.unit_price_usd) == (1862.6, 0.02)
    assert data.total_usd == pytest.approx(37.25, abs=0.01)
    checkpoints = lines["transfer of checkpoints, aws us-east-1 to aws eu-west-1"]
    written = written_checkpoints(found.chosen.duration_s.p50, found.chosen.goodput.checkpoint_interval_s)
    assert checkpoints.quantity == pytest.approx(written * found.facts.checkpoint_bytes / 2**30, abs=0.05)


def test_an_unknown_region_is_not_priced_and_is_named():
    found = plan(job(), EAST, WEST)
    assert all(fit.transfers == () for fit in found.fits)
    (note,) = (note for note in found.notes if note.kind is NoteKind.BUCKET_REGION_UNKNOWN)
    assert note.values == {"uri": "s3://team/sft", "key": "data.region"}


def test_data_of_unknown_size_has_a_price_per_gib_only():
    workload = job(", region: us-west-2").replace("size: 2 TB, ", "")
    (moved,) = plan(workload, EAST).chosen.transfers
    assert (moved.gib, moved.usd_per_gib, moved.usd) == (None, 0.02, None)


def test_another_cloud_pays_the_egress_to_the_internet():
    gcp = "{cloud: gcp, project: my-project, regions: [us-central1], capacity: {ordered: [on-demand]}}"
    found = plan(job(", region: us-east-1"), EAST, gcp)
    away = next(fit for fit in found.fits if fit.candidate.cloud == "gcp")
    assert away.transfer_usd == pytest.approx(2e12 / 2**30 * 0.09)
    assert found.chosen.candidate.cloud == "aws"


def batch(data: str, checkpoint: str = "") -> str:
    read_from = f"data: {{samples: 1e6, size: 2 TB, uri: s3://team/images{data}}}"
    return f"{{name: label, kind: batch, model: {{base: vit-l-16}}, image: {{size: 224}}, {read_from}{checkpoint}}}"


def test_a_batch_beside_its_samples_ranks_before_the_same_machines_elsewhere():
    """Data of a batch had no region: 37.25 USD of egress were not counted."""
    found = plan(batch(", region: us-west-2"), EAST, WEST)
    assert found.chosen.candidate.region == "us-west-2"
    (moved,) = next(fit for fit in found.fits if fit.candidate.region == "us-east-1").transfers
    assert (moved.what, moved.usd) == ("data", pytest.approx(2e12 / 2**30 * 0.02))
    assert not [note for note in found.notes if note.kind is NoteKind.BUCKET_REGION_UNKNOWN]
    (unknown,) = (note for note in plan(batch(""), EAST).notes if note.kind is NoteKind.BUCKET_REGION_UNKNOWN)
    assert unknown.values == {"uri": "s3://team/images", "key": "data.region"}


def test_a_batch_reads_from_another_cloud_at_the_price_of_its_egress():
    gcp = "{cloud: gcp, project: my-project, regions: [us-central1], capacity: {ordered: [on-demand]}}"
    found = plan(batch(", region: us-east-1"), EAST, gcp)
    (moved,) = next(fit for fit in found.fits if fit.candidate.cloud == "gcp").transfers
    assert (moved.source, moved.target, moved.usd_per_gib) == ("aws us-east-1", "gcp us-central1", 0.09)


def test_a_transfer_without_price_or_size_is_named():
    fit = plan(batch(", region: us-east-1", ", checkpoint: {uri: s3://team/labels, region: us-west-2}"), EAST).chosen
    (moved,) = fit.transfers
    assert (moved.what, moved.gib, moved.usd) == ("results", None, None)
    words = "Transfer unpriced: the size of the results from aws us-east-1 to aws us-west-2 is unknown; it is not part of the cost"
    assert words in [note_text(note) for note in fit.notes]
    gcp = "{cloud: gcp, project: my-project, regions: [europe-west4], capacity: {ordered: [on-demand]}}"
    far = plan(batch(", region: us-central1").replace("s3://", "gs://"), gcp).chosen
    words = "Transfer unpriced: no price is published for data from gcp us-central1 to gcp europe-west4; it is not part of the cost"
    assert words in [note_text(note) for note in far.notes]
