"""What whoever runs `pulumi up` must be allowed to do, from the resources of one stack.

    policies(graph, account="123456789012", region="us-east-1")

gives IAM policy documents: every action the AWS provider calls for the types of the graph, on the ARNs they will have, and no other.
"""

from rackwright_pulumi.deployer.policy import MOST_CHARACTERS, Unknown, policies

__all__ = ["MOST_CHARACTERS", "Unknown", "policies"]
