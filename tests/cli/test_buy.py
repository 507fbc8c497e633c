"""`rackwright buy`: server models of the catalog compared for the goals of a spec."""

import pytest

from tests.cli.conftest import STACKS

TODAY = ("--today", "2026-11-21")
PURCHASE = """
purchase:
  servers: [xe9680-h100, dgx-h100, xe9680-mi300x]
  max_servers: 8
  rack_kw: 44
  switch_watts: 1500
  prices: {servers: {xe9680-h100: 280000 USD}, switch: 25000 USD, cable: 300 USD, server_transceiver: 900 USD,
           switch_transceiver: 1500 USD, rack: 8000 USD}
  lifetime: 1461 d
  electricity: 0.14 USD
  pue: 1.4
"""


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "spec.yaml"
    text = (STACKS / "llama-70b-onprem.yaml").read_text().replace("inventory: inventories", f"inventory: {STACKS}/inventories")
    path.write_text(text + PURCHASE)
    return path


def test_the_fewest_servers_that_meet_the_goals_are_priced(spec, rackwright):
    found = rackwright("buy", spec, "--json", *TODAY).json
    first, second, last = found
    assert (first["machine"], first["missing"]) == ("xe9680-h100", [])
    assert first["duration_s"]["p50"] < 96 * 3600
    assert first["fabric"]["server_links"] == first["servers"] * 8
    assert first["purchase_usd"] == sum(line["usd"] for line in first["lines"])
    assert (second["machine"], second["purchase_usd"]) == ("dgx-h100", None)
    assert second["missing"] == ["prices.servers.dgx-h100"]
    assert second["server"]["is_published"]
    assert "no blueprint supports this accelerator" in last["reason"]


def test_a_shorter_deadline_buys_more_servers(spec, rackwright):
    calm = rackwright("buy", spec, "--json", *TODAY).json
    spec.write_text(spec.read_text().replace("max_duration: 96h", "max_duration: 8h"))
    urgent = rackwright("buy", spec, "--json", *TODAY).json
    assert urgent[0]["servers"] > calm[0]["servers"]


def test_a_number_of_servers_is_priced_without_sizing(spec, rackwright):
    found = rackwright("buy", spec, "--servers", "128", "--json", *TODAY).json
    first = next(option for option in found if option["machine"] == "xe9680-h100")
    assert (first["fabric"]["leaves"], first["fabric"]["spines"], first["fabric"]["cables"]) == (32, 16, 2048)


def test_the_table_names_what_is_missing(spec, rackwright):
    spec.write_text(spec.read_text().replace("  switch_watts: 1500\n", "").replace(" cable: 300 USD,", ""))
    text = " ".join(rackwright("buy", spec, *TODAY).out.split())
    assert "purchase.prices.cable" in text.split(" missing ")[1]
    assert "purchase.switch_watts" in text.split(" missing ")[1]
    assert "3 x NVIDIA DGX H100" in text


def test_goals_that_no_server_meets_end_with_1(spec, rackwright):
    spec.write_text(spec.read_text().replace("max_duration: 96h", "max_duration: 10 min"))
    result = rackwright("buy", spec, *TODAY)
    assert result.status == 1
    assert "no number of servers up to 8 meets the goals" in " ".join(result.out.split())


@pytest.fixture
def services(tmp_path):
    """A spec of two services; the arguments are `sharing` and `max_servers`."""

    def write(sharing: str, max_servers: int):
        path = tmp_path / "services.yaml"
        text = (STACKS / "assistant-eks.yaml").read_text().replace("  kind: auto\n", f"  kind: auto\n  sharing: {sharing}\n")
        path.write_text(f"{text}purchase: {{servers: [xe9680-h100], max_servers: {max_servers}}}\n")
        return path

    return write


def test_the_servers_of_several_workloads_add_up(services, rackwright):
    assert rackwright("buy", services("none", 8), "--json", *TODAY).json[0]["servers"] == 2
    alone = rackwright("buy", services("none", 1), "--json", *TODAY)
    assert alone.status == 1
    assert alone.json[0]["reason"].endswith("up to 1 meets the goals: the workloads need 2 together")


def test_services_share_accelerators_where_the_blueprint_allows_it(services, rackwright):
    assert rackwright("buy", services("auto", 8), "--json", *TODAY).json[0]["servers"] == 1


def test_a_given_number_of_servers_is_not_said_to_meet_the_goals(spec, rackwright):
    text = " ".join(rackwright("buy", spec, "--servers", "1", *TODAY).out.split())
    assert "3 of 3 server models priced, goals not checked" in text
    assert "meet the goals" not in text
    assert "USD/h" in text
    assert "per server" in text


def test_a_fabric_that_the_switch_lacks_is_named_also_where_no_number_of_servers_fits(spec, rackwright):
    spec.write_text(spec.read_text().replace("xe9680-mi300x]", "xe9680-gaudi3]"))
    reason = rackwright("buy", spec, "--json", *TODAY).json[-1]["reason"]
    assert reason.startswith("no number of servers up to 8 meets the goals: ")
    assert reason.endswith("; its fabric is roce, and switch qm9700 is for infiniband; set `switch` of `purchase`")


@pytest.mark.parametrize(("max_servers", "why"), [(8, "8 meet the goal too"), (7, "4 miss the goal")])
def test_the_fewest_servers_are_no_power_of_two(spec, rackwright, max_servers, why):
    text = spec.read_text().replace("max_duration: 96h", "max_duration: 10h").replace("global_batch_size: 128", "global_batch_size: 192")
    spec.write_text(text.replace("max_servers: 8", f"max_servers: {max_servers}"))
    found = next(option for option in rackwright("buy", spec, "--json", *TODAY).json if option["machine"] == "xe9680-h100")
    assert found["servers"] == 6, why


def test_parts_that_another_price_includes_cost_nothing(spec, rackwright):
    text = spec.read_text().replace("cable: 300 USD", "cable: 0 USD").replace("electricity: 0.14 USD", "electricity: 0 USD")
    spec.write_text(text)  # also the electricity of node_cost
    first = rackwright("buy", spec, "--json", *TODAY).json[0]
    assert (first["missing"], first["energy_usd_per_year"]) == ([], 0.0)
    assert next(line["usd"] for line in first["lines"] if line["what"] == "cables") == 0.0
    assert first["usd_per_server_hour"] > 0


def test_the_electricity_of_own_servers_is_the_one_of_a_plan(spec, rackwright):
    stated = rackwright("buy", spec, "--json", *TODAY).json[0]
    spec.write_text(spec.read_text().replace("  lifetime: 1461 d\n  electricity: 0.14 USD\n  pue: 1.4\n", ""))
    first = rackwright("buy", spec, "--json", *TODAY).json[0]
    assert "electricity" not in first["missing"]
    assert "lifetime" not in first["missing"]
    assert first["energy_usd_per_year"] == pytest.approx(stated["energy_usd_per_year"])


def test_a_model_that_no_rack_holds_is_left_out_where_it_is_not_named(spec, rackwright):
    text = spec.read_text().replace("  servers: [xe9680-h100, dgx-h100, xe9680-mi300x]\n", "")
    spec.write_text(text.replace("rack_kw: 44", "rack_kw: 10.5"))
    found = {option["machine"]: option for option in rackwright("buy", spec, "--json", *TODAY).json}
    assert found["dgx-h100"]["reason"] is None
    assert found["dgx-b200"]["reason"] == "a rack of 10.5 kW holds no dgx-b200, which draws up to 14.3 kW"


def test_the_cost_limit_of_a_run_is_said_to_limit_no_purchase(spec, rackwright):
    spec.write_text(spec.read_text().replace("max_duration: 96h", "max_duration: 96h, max_cost: 9000 USD"))
    assert "`goals.max_cost` limits what a run costs; it limits no purchase" in " ".join(rackwright("buy", spec, *TODAY).out.split())
