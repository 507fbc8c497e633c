"""A KMS key whose provider sets allowed_account_ids and default_tags, inputs that the SDK sends as JSON text."""

import pulumi
from pulumi import ResourceOptions
from pulumi_aws import Provider
from pulumi_aws.kms.key import Key

provider = Provider(
    "aws", region="us-east-1", allowed_account_ids=["111122223333"], default_tags={"tags": {"owner": "nlp"}}, ignore_tags={"keys": ["seen"]}
)
key = Key("disks", tags={"use": "disks"}, opts=ResourceOptions(provider=provider))
pulumi.export("arn", key.arn)
pulumi.export("tags", key.tags_all)
