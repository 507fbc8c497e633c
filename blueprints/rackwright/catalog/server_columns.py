"""Columns of the data files about servers that users own."""

from rackwright.catalog.columns import GBPS
from rackwright.catalog.csv_table import GB, count, fraction, maybe, positive, same, size, sourced_table, text, words
from rackwright.catalog.rows import Fabric

SERVERS = sourced_table(
    "servers.csv",
    "name",
    same(text, "name machine vendor accelerator form_factor"),
    same(words, "cpu memory_words local_storage power_supplies scale_up scale_out notes"),
    same(count, "accelerator_count"),
    same(maybe(positive), "power_supply_watts max_watts"),
    same(Fabric, "fabric"),
    same(maybe(count), "fabric_interfaces"),
    {
        "max_memory_gb": ("max_memory_bytes", maybe(size(GB))),
        "fabric_interface_gbps": ("fabric_interface_bytes_per_s", maybe(GBPS)),
    },
)

SWITCHES = sourced_table(
    "switches.csv",
    "machine",
    same(text, "name machine"),
    same(Fabric, "fabric"),
    same(count, "ports transceiver_ports rack_units"),
    {"port_gbps": ("port_bytes_per_s", GBPS)},
    same(maybe(positive), "max_watts"),
    same(words, "notes"),
)

LINK_SPEEDS = sourced_table("link_speeds.csv", "name", same(text, "name"), {"gbps": ("bytes_per_s", GBPS)}, same(words, "notes"))

GPU_PRODUCTS = sourced_table("gpu_products.csv", "product", same(text, "product accelerator"), same(words, "notes"))

MIG_PROFILES = sourced_table(
    "mig_profiles.csv",
    "accelerator profile",
    same(text, "accelerator profile"),
    same(count, "instances"),
    same(fraction, "fraction_of_sms fraction_of_memory"),
    same(words, "notes"),
)
