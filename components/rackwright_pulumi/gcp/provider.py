"""The one provider of a stack on Google Cloud."""

from pulumi_gcp import Provider
from rackwright.stackplan import PlacePlan

from rackwright_pulumi.gcp import CLOUD


def make_provider(place: PlacePlan) -> Provider:
    """Builds in the place's project, not in the default project of the credentials, as the service account of the place if it has one.

    https://cloud.google.com/iam/docs/service-account-impersonation
    """
    return Provider(CLOUD, project=place.account or None, region=place.region, impersonate_service_account=place.role_arn or None)
