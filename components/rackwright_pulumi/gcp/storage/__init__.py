"""Key, buckets and the shared file system."""

from typing import TYPE_CHECKING

from rackwright.lazy import on_first_use

if TYPE_CHECKING:
    from rackwright_pulumi.gcp.storage.storage import GcpStorage, GcpStorageArgs

__all__ = ["GcpStorage", "GcpStorageArgs"]
if not TYPE_CHECKING:  # with it, type checkers accept misspelt names
    __getattr__ = on_first_use(__name__, dict.fromkeys(__all__, "rackwright_pulumi.gcp.storage.storage"))
