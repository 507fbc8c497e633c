"""Columns of data files that belong to the release: pinned versions, images, alerts, environments."""

from rackwright.catalog.columns import KIND, PINNED_KINDS
from rackwright.catalog.csv_table import count, day, maybe, minor, number, one_of, same, sourced_table, text, words, yes
from rackwright.catalog.rows import Fabric

CHART_IMAGES = sourced_table(
    "chart_images.csv", "chart image", same(text, "chart version image"), same(words, "tag notes"), same(yes, "complete")
)

CHART_IMAGE_VALUES = sourced_table("chart_image_values.csv", "chart path", same(text, "chart path value"), same(words, "notes"))

ALERTS = sourced_table(
    "alerts.csv",
    "alert",
    same(text, "alert unit severity"),
    same(words, "matcher notes"),
    same(maybe(number), "threshold"),
    same(maybe(count), "window_minutes"),
    same(count, "for_minutes"),
)

EXPORTER_METRICS = sourced_table(
    "exporter_metrics.csv",
    "exporter metric",
    same(text, "exporter metric type help"),
    same(words, "notes"),
)

VERSIONS = sourced_table(
    "versions.csv",
    "kind name",
    {"kind": ("kind", one_of(*PINNED_KINDS)), "name": ("name", text)},
    same(words, "version chart repository notes"),
)

SUPPORT = sourced_table(
    "support.csv",
    "component cloud version",
    same(text, "component"),
    same(words, "cloud version follows notes"),
    same(maybe(day), "support_ends extended_ends"),
    same(yes, "deprecated"),
)

OPERATOR_MATRIX = sourced_table(
    "operator_matrix.csv",
    "component release",
    same(text, "component release"),
    {"status": ("status", one_of("supported", "deprecated", "ended"))},
    same(words, "driver nic_firmware gpu_operator_first notes"),
    same(maybe(minor), "kubernetes_first kubernetes_last"),
)

FABRIC_ENVIRONMENT = sourced_table(
    "fabric_environment.csv",
    "fabric accelerators variable only",
    same(Fabric, "fabric"),
    {"accelerators": ("accelerators", KIND)},
    same(text, "variable value"),
    same(yes, "pins_transport"),
    same(words, "only notes"),
)

PREFLIGHT_LIMITS = sourced_table("preflight_limits.csv", "name", same(text, "name value"), same(words, "notes"))

MODEL_SERVERS = sourced_table(
    "model_servers.csv",
    "name",
    same(text, "name health metrics_path queue"),
    same(count, "port"),
    same(maybe(count), "metrics_port"),
    same(words, "in_flight notes"),
)
