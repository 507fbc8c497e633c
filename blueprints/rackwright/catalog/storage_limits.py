"""Sizes and throughputs that gp3 and FSx for Lustre are sold in."""

TIERED_STEP_MB_S = 4000
"""Intelligent-Tiering buys throughput by the server (docs.aws.amazon.com/fsx/latest/LustreGuide/managing-throughput-capacity.html)."""
CACHE_MIN_GIB, CACHE_MAX_GIB = 32, 131072
"""SSD read cache per server (docs.aws.amazon.com/fsx/latest/APIReference/API_LustreReadCacheConfiguration.html)."""
TIERED_METADATA_IOPS = (6000, 12000)
"""docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystemLustreMetadataConfiguration.html"""
GP3_FREE_MIB_S, GP3_MAX_MIB_S, GP3_FREE_IOPS, GP3_IOPS_PER_MIB_S = 125, 2000, 3000, 4
"""gp3: 3,000 IOPS and 125 MiB/s included, 2,000 MiB/s at most, a quarter MiB/s per IOPS (AWS EBS documentation, 2025-09)."""
