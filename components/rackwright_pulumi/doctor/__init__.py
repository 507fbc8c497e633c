"""Find resources that a cloud has and a stack's state lacks, after an update was interrupted.

    found = diagnose(graph, deployed, simulated_inventory(path))

lists each with its ID and its `pulumi import` command.
"""

from rackwright_pulumi.doctor.diagnosis import Diagnosis, Lost, diagnose
from rackwright_pulumi.doctor.inventory import CloudResource, account_inventory, simulated_inventory

__all__ = ["CloudResource", "Diagnosis", "Lost", "account_inventory", "diagnose", "simulated_inventory"]
