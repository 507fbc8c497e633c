"""Quotas in the formats of the Google Cloud CLI: of a region or a project of Compute Engine, and of the Cloud Quotas API."""

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

GLOBAL = "global"
"""Key of quotas that count over all regions."""
SCOPES = re.compile(r"-per-project(-(region|zone))?$")


class MetricQuota(BaseModel):
    """One quota of Compute Engine: `{metric: NVIDIA_L4_GPUS, limit: 16.0, usage: 0.0}`."""

    model_config = ConfigDict(extra="ignore")
    metric: str
    limit: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    usage: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0


class ComputeQuotas(BaseModel):
    """Output of `gcloud compute regions describe REGION --format json`, or of `gcloud compute project-info describe --format json`.

    https://docs.cloud.google.com/compute/docs/reference/rest/v1/regions, and .../projects
    """

    model_config = ConfigDict(extra="ignore")
    name: str
    quotas: list[MetricQuota]
    kind: str = ""

    def available(self) -> dict[str, dict[str, float]]:
        region = GLOBAL if self.kind == "compute#project" else self.name
        return {region: {row.metric: max(0.0, row.limit - row.usage) for row in self.quotas}}


class Details(BaseModel):
    """The granted value; `-1` is unlimited. It may be left out where it is 0."""

    model_config = ConfigDict(extra="ignore")
    value: Annotated[str, Field(pattern=r"^-?\d+$")] = "0"


class Dimensions(BaseModel):
    """A value for one combination of dimensions."""

    model_config = ConfigDict(extra="ignore")
    dimensions: dict[str, str] = {}
    details: Details = Details()
    applicableLocations: list[str] = []


class QuotaInfo(BaseModel):
    """One row of `gcloud beta quotas info list --service compute.googleapis.com --format json`. It has limits and no usage.

    https://docs.cloud.google.com/docs/quotas/reference/rest/v1/projects.locations.services.quotaInfos
    """

    model_config = ConfigDict(extra="ignore")
    quotaId: str
    dimensionsInfos: list[Dimensions] = []

    def available(self) -> dict[str, dict[str, float]]:
        """By the quota's ID, and by the metric of Compute Engine: `NVIDIA-L4-GPUS-per-project-region` is also NVIDIA_L4_GPUS."""
        found: dict[str, dict[str, float]] = {}
        for row in self.dimensionsInfos:
            if row.dimensions.keys() - {"region", "gpu_family"} or row.details.value.startswith("-"):
                continue
            family = row.dimensions.get("gpu_family")
            codes = [f"{family}_GPUS"] if family else [self.quotaId, SCOPES.sub("", self.quotaId).replace("-", "_")]
            named = row.dimensions.get("region")
            for region in [named] if named else row.applicableLocations or [GLOBAL]:
                found.setdefault(region, {}).update(dict.fromkeys(codes, float(row.details.value)))
        return found
