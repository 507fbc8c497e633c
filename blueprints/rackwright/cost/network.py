"""Network cost: NAT, public address, endpoints, load balancer. Traffic depends on usage."""

from collections.abc import Iterator

from rackwright.catalog.read import Catalog
from rackwright.clouds import AWS, GCP, profile
from rackwright.cost.bill_line import BillLine, UnitPrice, by_use, hourly
from rackwright.cost.prices import fee_price
from rackwright.sizing.plan import Fit
from rackwright.stackplan import BlueprintKind, StackPlan

INTERFACES = {"object-store": 0, "registry": 2, "machine-access": 3}
"""Paid interface endpoints per neutral name, 1 where not listed; the gateway endpoint of the object store is free."""


def lines(stack: StackPlan, fit: Fit, catalog: Catalog, hours: float) -> Iterator[BillLine]:
    if of_cloud := LINES.get(stack.place.cloud):
        yield from of_cloud(stack, fit, catalog, hours)


def _aws(stack: StackPlan, fit: Fit, catalog: Catalog, hours: float) -> Iterator[BillLine]:
    if stack.network.nat:
        yield hourly("NAT gateway", 1, "gateway", fee_price(catalog, "nat-gateway", stack.place, "hour"), hours)
        yield hourly("public IPv4 address of the NAT gateway", 1, "address", fee_price(catalog, "public-ipv4", stack.place, "hour"), hours)
        yield by_use("traffic through the NAT gateway", "GiB", fee_price(catalog, "nat-gateway-data", stack.place, "GiB"))
    count = sum(INTERFACES.get(name, 1) for name in stack.network.private_endpoints)
    zones = len(stack.network.endpoint_zones)
    if count:
        price = fee_price(catalog, "vpc-endpoint", stack.place, "hour")
        yield hourly("private endpoints to AWS services", count * zones, "endpoints x zones", price, hours)
    if stack.kind is BlueprintKind.INFERENCE_FLEET:
        count, price = len(fit.each_workload), fee_price(catalog, "network-load-balancer", stack.place, "hour")
        what, unit = ("internal load balancers", "load balancers") if count > 1 else ("internal load balancer", "load balancer")
        yield hourly(what, count, unit, price, hours)
        unit = fee_price(catalog, "network-load-balancer-lcu", stack.place, "LCU-hour")
        yield by_use("traffic through the load balancer", "LCU-hour", unit)
    yield by_use("logs", "GiB", fee_price(catalog, "logs-ingest", stack.place, "GiB"))


def _gcp(stack: StackPlan, fit: Fit, catalog: Catalog, hours: float) -> Iterator[BillLine]:
    machines = fit.candidate.nodes + sum(pool.nodes_start for pool in stack.pools if pool.role == "system")
    yield hourly("Cloud NAT", machines, "machines", fee_price(catalog, "cloud-nat-vm", stack.place, "hour"), hours)
    yield by_use("traffic through Cloud NAT", "GiB", fee_price(catalog, "cloud-nat-data", stack.place, "GiB"))
    if stack.kind is BlueprintKind.INFERENCE_FLEET:
        yield hourly("internal load balancer", 1, "forwarding rule", fee_price(catalog, "forwarding-rule", stack.place, "hour"), hours)
    fees = profile(stack.place.cloud).fees
    yield by_use("logs of the cluster and the network", "GiB", fee_price(catalog, fees["log_ingestion"], stack.place, "GiB"))
    yield by_use("metrics", "sample", UnitPrice(None, "sample"))


LINES = {AWS.name: _aws, GCP.name: _gcp}
"""Cloud -> lines of its network."""
