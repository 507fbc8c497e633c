"""Row types of the catalog. Hardware, price and availability are separate rows; each has its source and date.

Unknown values are None, shown as "not published", never zero. Units: bytes, bytes/s, FLOP/s, US dollars per hour; the data files use GiB,
GB, Gbps and TFLOPS as their column names state.
"""

from rackwright.catalog.hardware import (
    FORMATS,
    Accelerator,
    AcceleratorGeneration,
    CapacityMode,
    Fabric,
    FabricLayout,
    Machine,
    TpuSlice,
)
from rackwright.catalog.offerings import (
    Availability,
    CapacityRule,
    Fee,
    Offering,
    PinnedVersion,
    Price,
    Quota,
    StorageLimit,
    StoragePrice,
    Support,
    SupportedVersion,
    Volume,
    Zone,
)
from rackwright.catalog.servers import GpuProduct, LinkSpeed, Server, Switch
from rackwright.catalog.sharing import MigProfile, Sharing

__all__ = [
    "FORMATS",
    "Accelerator",
    "AcceleratorGeneration",
    "Availability",
    "CapacityMode",
    "CapacityRule",
    "Fabric",
    "FabricLayout",
    "Fee",
    "GpuProduct",
    "LinkSpeed",
    "Machine",
    "MigProfile",
    "Offering",
    "PinnedVersion",
    "Price",
    "Quota",
    "Server",
    "Sharing",
    "StorageLimit",
    "StoragePrice",
    "Support",
    "SupportedVersion",
    "Switch",
    "TpuSlice",
    "Volume",
    "Zone",
]
