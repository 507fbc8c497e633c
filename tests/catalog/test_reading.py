"""An invalid data file is reported with file and line; an invalid price file of the user is a UserError."""

import shutil
import time

import pytest
from rackwright.catalog.read import DATA, Catalog, load
from rackwright.diagnostics.errors import CatalogError, UserError


@pytest.fixture
def data(tmp_path):
    return shutil.copytree(DATA, tmp_path / "data")


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


BROKEN = [
    ("prices_aws.csv", "usd_per_hour", "price", r"^prices_aws.csv:1: unknown column price; no column usd_per_hour"),
    ("prices_aws.csv", "on-demand,0.526", "on-demand,cheap", r"^prices_aws.csv:2: usd_per_hour: could not convert"),
    ("prices_aws.csv", "on-demand,0.526", "on-demand,0", r"^prices_aws.csv:2: usd_per_hour: is zero; unknown is blank"),
    ("prices_aws.csv", "on-demand,0.526", "on-demand,-1", r"^prices_aws.csv:2: usd_per_hour: '-1' is not between 0 and 1e\+18"),
    ("prices_aws.csv", "on-demand,0.526", "on-demand,nan", r"^prices_aws.csv:2: .* not between 0"),
    ("prices_aws.csv", "on-demand,0.526", "on-demand,1e+308", r"^prices_aws.csv:2: usd_per_hour: '1e\+308' is not between 0 and 1e\+18"),
    ("prices_aws.csv", "on-demand,0.526", "on-demand,1e-300", r"^prices_aws.csv:2: usd_per_hour: '1e-300' is smaller than 1e-12; unknown"),
    ("fees.csv", "us-east-1,0.045,hour", "us-east-1,1e+308,hour", r"^fees.csv:4: usd: '1e\+308' is not between 0 and 1e\+18"),
    ("prices_aws.csv", "on-demand,0.526", "rented,0.526", r"^prices_aws.csv:2: capacity: 'rented' is not a valid"),
    (
        "prices_aws.csv",
        "us-west-2,on-demand,0.526",
        "us-east-1,on-demand,0.526",
        r"^prices_aws.csv:3: g4dn.xlarge aws .* already on line 2",
    ),
    ("prices_aws.csv", ",node,", ",hour,", r"^prices_aws.csv:2: unit: 'hour' is none of node, chip"),
    ("tpu_slices.csv", ",2026-06-25", ",June", r"^tpu_slices.csv:2: as_of: 'June' is not a date"),
    ("servers.csv", "StorageReview XE9680 review; ", '"', r"^servers.csv:\d+: "),
    ("accelerators.csv", "NVIDIA T4,NVIDIA", "NVIDIA T5,NVIDIA", r"refers to 'NVIDIA T4', which has no row"),
    ("volumes.csv", ",yes,no,", ",maybe,no,", r"^volumes.csv:\d+: rdma: 'maybe' is neither yes nor no"),
    ("fabrics.csv", "g4dn.8xlarge,aws,efa", "g4dn.8xlarge,aws,ether", r"^fabrics.csv:2: fabric: 'ether' is not a valid Fabric"),
]


@pytest.mark.parametrize(("file", "old", "new", "message"), BROKEN, ids=[f"{b[0]}-{b[2]}" for b in BROKEN])
def test_a_broken_data_file_is_named_with_its_line(data, file, old, new, message):
    edit(data / file, old, new)
    with pytest.raises(CatalogError, match=message):
        load(data)


def test_a_missing_source_is_refused(data):
    text = (data / "fees.csv").read_text(encoding="utf-8").splitlines()
    head, _, day = text[1].rpartition(",")
    text[1] = head[: head.rindex('"', 0, -1)] + "," + day if head.endswith('"') else head.rpartition(",")[0] + ",," + day
    (data / "fees.csv").write_text("\n".join(text), encoding="utf-8")
    with pytest.raises(CatalogError, match=r"^fees.csv:2: source: is blank"):
        load(data)


def test_a_short_row_and_a_missing_file_are_refused(data):
    path = data / "quotas.csv"
    path.write_text(path.read_text(encoding="utf-8") + "aws,L-1\n", encoding="utf-8")
    with pytest.raises(CatalogError, match=r"^quotas.csv:\d+: 2 cells, the header has 11"):
        load(data)
    path.unlink()
    with pytest.raises(CatalogError, match=r"^quotas.csv: cannot be read"):
        load(data)


def test_the_digest_names_the_state_of_the_data(data, catalog):
    assert load(data).digest == catalog.digest
    edit(data / "prices_aws.csv", "0.526", "0.527")
    assert load(data).digest != catalog.digest
    assert len(catalog.digest) == 12


OWN = "sku,cloud,region,capacity,usd_per_hour,unit,notes,source,as_of\n"


def test_user_prices_replace_list_prices_and_change_the_digest(tmp_path, catalog):
    path = tmp_path / "prices.csv"
    path.write_text(OWN + "p5.48xlarge,aws,us-east-1,on-demand,40,node,,our contract,2026-11-01\n", encoding="utf-8")
    ours = catalog.with_prices(path)
    (row,) = [p for p in ours.prices if (p.sku, p.region, p.capacity) == ("p5.48xlarge", "us-east-1", "on-demand")]
    assert (row.usd_per_hour, row.source) == (40, "our contract")
    assert len(ours.prices) == len(catalog.prices)
    assert ours.digest != catalog.digest
    assert catalog.with_prices(path).digest == ours.digest


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        (OWN + "p5.48xlarge,aws,us-east-1,on-demand,cheap,node,,x,2026-11-01\n", 2, "usd_per_hour"),
        ("sku,price\n", 1, "unknown column price"),
        ("", 1, "no column"),
    ],
)
def test_a_wrong_price_file_is_the_users_problem(tmp_path, catalog, content, line, words):
    path = tmp_path / "prices.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        catalog.with_prices(path)
    (problem,) = caught.value.problems
    assert problem.mark.line == line
    assert words in problem.reason


def test_a_price_of_an_unknown_machine_or_an_unreadable_file_is_refused(tmp_path, catalog):
    path = tmp_path / "prices.csv"
    path.write_text(OWN + "p9.48xlarge,aws,us-east-1,on-demand,40,node,,x,2026-11-01\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"'p9\.48xlarge' is no machine"):
        catalog.with_prices(path)
    path.write_text(OWN + "TPU v5e,gcp,us-central1,on-demand,4,node,,x,2026-11-01\n", encoding="utf-8")
    with pytest.raises(UserError, match="TPU v5e is priced per chip"):
        catalog.with_prices(path)
    with pytest.raises(UserError, match="cannot be read"):
        catalog.with_prices(tmp_path / "absent.csv")
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="cannot be read"):
        catalog.with_prices(path)


def test_loading_everything_is_fast():
    load(DATA)
    best = min(_seconds() for _ in range(3))
    assert best < 0.06 * 3, f"{best * 1000:.0f} ms; 60 ms on an idle machine, three times that on a busy one"


def _seconds() -> float:
    start = time.perf_counter()
    load(DATA)
    return time.perf_counter() - start


def test_the_embedded_catalog_is_read_once():
    assert Catalog.default() is Catalog.default()
