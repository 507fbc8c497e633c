"""Permissions of the caller of `pulumi up`, from the resources of one stack: IAM policies on AWS, custom roles on Google Cloud.

    policies(graph, account="123456789012", region="us-east-1")

returns policy documents with all actions that the AWS provider calls for the resource types of the graph, limited to their ARNs.
"""

from rackwright_pulumi.deployer.policy import MOST_CHARACTERS, Unknown, policies

__all__ = ["MOST_CHARACTERS", "Unknown", "policies"]
