"""FSx for Lustre file system and its bucket links."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi import Input, Output, Resource
from pulumi_aws.cloudwatch.log_group import LogGroup
from pulumi_aws.ec2.security_group import SecurityGroup
from pulumi_aws.fsx.data_repository_association import (
    DataRepositoryAssociation,
    DataRepositoryAssociationS3Args,
    DataRepositoryAssociationS3AutoExportPolicyArgs,
    DataRepositoryAssociationS3AutoImportPolicyArgs,
)
from pulumi_aws.fsx.lustre_file_system import (
    LustreFileSystem,
    LustreFileSystemDataReadCacheConfigurationArgs,
    LustreFileSystemLogConfigurationArgs,
    LustreFileSystemMetadataConfigurationArgs,
)
from pulumi_aws.vpc.security_group_ingress_rule import SecurityGroupIngressRule
from rackwright.stackplan import LustrePlan

from rackwright_pulumi.aws.network.security_groups import egress_only_group
from rackwright_pulumi.aws.network.vpc import ANYWHERE
from rackwright_pulumi.aws.storage.bucket import BucketLocation
from rackwright_pulumi.aws.tags import ChildContext

PORTS = ((988, 988), (1018, 1023))
"""TCP between clients and servers and among servers: https://docs.aws.amazon.com/fsx/latest/LustreGuide/limit-access-security-groups.html"""
VERSION = "2.15"
LOG_DAYS = 90
EVENTS = ["NEW", "CHANGED", "DELETED"]


@dataclass(frozen=True)
class Lustre:
    """Values that a client needs to mount the file system. group_id: its security group."""

    id: Output[str]
    dns_name: Output[str]
    mount_name: Output[str]
    group_id: Output[str]

    @property
    def outputs(self) -> dict[str, Output[str]]:
        return {"id": self.id, "dnsName": self.dns_name, "mountName": self.mount_name}


@dataclass(frozen=True)
class FileSystemSettings:
    """Network, clients, key and protection of a file system. fabric_group_id: for a file system with EFA. network_cidr: outbound range."""

    vpc_id: Input[str]
    subnet_id: Input[str]
    fabric_group_id: Input[str] | None
    client_group_ids: Sequence[Input[str]]
    kms_key_arn: Input[str]
    protect: bool
    delete_data: bool
    network_cidr: str = ANYWHERE


def lustre(child: ChildContext, plan: LustrePlan, settings: FileSystemSettings, buckets: Mapping[str, BucketLocation]) -> Lustre:
    """Create the file system. It depends on its security group rules, which FSx checks, but not on those of the clients."""
    # A rule changes its range in place, but is replaced where it gets a security group instead of one.
    group, egress = egress_only_group(child, "lustre", "Lustre servers and their clients", settings.vpc_id, settings.network_cidr)
    own_rules = [egress, *_open(child, "lustre-self", group.id, group.id)]
    allow_clients(child, group.id, settings.client_group_ids)
    system = _system(child, plan, settings, group, own_rules)
    for path, key in plan.imports:
        auto_import = DataRepositoryAssociationS3AutoImportPolicyArgs(events=EVENTS)
        _link(child, system, path, buckets[key], key, DataRepositoryAssociationS3Args(auto_import_policy=auto_import))
    for path, key in plan.exports:
        auto_export = DataRepositoryAssociationS3AutoExportPolicyArgs(events=EVENTS)
        _link(child, system, path, buckets[key], key, DataRepositoryAssociationS3Args(auto_export_policy=auto_export))
    return Lustre(system.id, system.dns_name, system.mount_name, group.id)


def allow_clients(child: ChildContext, group_id: Input[str], clients: Sequence[Input[str]]) -> None:
    """Allow Lustre traffic between the file system and the clients' security groups, in both directions."""
    for number, client in enumerate(clients):
        _open(child, f"lustre-client-{number}", group_id, client)
        _open(child, f"lustre-reply-{number}", client, group_id)


def _open(child: ChildContext, key: str, group: Input[str], source: Input[str]) -> list[Resource]:
    return [
        SecurityGroupIngressRule(
            child.name(key, first),
            security_group_id=group,
            referenced_security_group_id=source,
            ip_protocol="tcp",
            from_port=first,
            to_port=last,
            tags=child.tagged(key, first),
            opts=child.opts(),
        )
        for first, last in PORTS
    ]


def _system(
    child: ChildContext, plan: LustrePlan, settings: FileSystemSettings, group: SecurityGroup, own_rules: list[Resource]
) -> LustreFileSystem:
    """EFA needs the security group of EFA interfaces, in addition to the ports.

    With EFA, a change of throughput replaces the file system, which its protection prevents. Backups exist only for a file system
    without links to buckets: https://docs.aws.amazon.com/fsx/latest/LustreGuide/using-backups-fsx.html
    """
    logs = LogGroup(
        child.name("lustre-logs"),
        name=f"/aws/fsx/{child.name('lustre')}",  # FSx requires this prefix
        kms_key_id=settings.kms_key_arn,
        retention_in_days=LOG_DAYS,
        tags=child.tagged("lustre-logs"),
        opts=child.opts(delete_before_replace=True),
    )
    linked = bool(plan.imports or plan.exports)
    return LustreFileSystem(
        child.name("lustre"),
        deployment_type="PERSISTENT_2",
        file_system_type_version=VERSION,
        data_compression_type="LZ4",
        efa_enabled=plan.rdma,
        kms_key_id=settings.kms_key_arn,
        subnet_ids=settings.subnet_id,
        security_group_ids=[group.id, *([settings.fabric_group_id] if plan.rdma and settings.fabric_group_id is not None else [])],
        automatic_backup_retention_days=0 if linked else plan.backup_days,
        copy_tags_to_backups=True,
        skip_final_backup=linked or settings.delete_data,
        log_configuration=LustreFileSystemLogConfigurationArgs(level="WARN_ERROR", destination=logs.arn),
        tags=child.tagged("lustre"),
        opts=child.opts(
            protect=settings.protect,
            retain_on_delete=settings.protect,
            depends_on=own_rules,
            replace_on_changes=["perUnitStorageThroughput"] if plan.rdma else None,
        ),
        **_kind_settings(plan),
    )


def _kind_settings(plan: LustrePlan) -> dict[str, Any]:
    """A tiered file system has no capacity setting; its capacity follows use."""
    if plan.kind == "ssd":
        return {
            "storage_type": "SSD",
            "storage_capacity": plan.capacity_gib,
            "per_unit_storage_throughput": plan.throughput_mb_s_per_tib,
            "metadata_configuration": LustreFileSystemMetadataConfigurationArgs(mode="AUTOMATIC"),
        }
    sizing = "USER_PROVISIONED" if plan.cache_gib else "NO_CACHE"
    return {
        "storage_type": "INTELLIGENT_TIERING",
        "throughput_capacity": plan.throughput_mb_s,
        "data_read_cache_configuration": LustreFileSystemDataReadCacheConfigurationArgs(sizing_mode=sizing, size=plan.cache_gib or None),
        "metadata_configuration": LustreFileSystemMetadataConfigurationArgs(mode="USER_PROVISIONED", iops=plan.metadata_iops),
    }


def _link(
    child: ChildContext, system: LustreFileSystem, path: str, bucket: BucketLocation, key: str, s3: DataRepositoryAssociationS3Args
) -> None:
    """Link a bucket to `path`; s3: import or export policy of later changes."""
    DataRepositoryAssociation(
        child.name("lustre", key),
        file_system_id=system.id,
        file_system_path=path,
        data_repository_path=bucket.url,
        batch_import_meta_data_on_create=True,
        delete_data_in_filesystem=False,
        s3=s3,
        tags=child.tagged("lustre", key),
        opts=child.opts(),
    )
