"""What the catalog is made of: one frozen row per thing that can be bought. Shape, price and availability are different rows.

Unknown is None and shows as "not published"; it is never zero. Bytes, bytes per second, FLOP per second and US dollars per hour inside;
GiB, GB, Gbps and TFLOPS live only in the data files, in their column names. Every row names its source and the date of that source.
"""

from rackwright.catalog.hardware import FORMATS, Accelerator, CapacityMode, Fabric, FabricLayout, Machine, Server, TpuSlice
from rackwright.catalog.offerings import Availability, CapacityRule, Fee, Offering, Price, Quota, StoragePrice, Volume

__all__ = [
    "FORMATS",
    "Accelerator",
    "Availability",
    "CapacityMode",
    "CapacityRule",
    "Fabric",
    "FabricLayout",
    "Fee",
    "Machine",
    "Offering",
    "Price",
    "Quota",
    "Server",
    "StoragePrice",
    "TpuSlice",
    "Volume",
]
