"""Logs of pods on EKS, sent to CloudWatch Logs."""

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.operators.helm_releases import TOLERATE_ALL, release
from rackwright.stackplan import ReleasePlan, ref
from rackwright.stackplan.operators import POD_LOGS, POD_LOGS_ACCOUNT, POD_LOGS_NAMESPACE, pod_log_group


def pod_log_releases(context: CompileContext) -> tuple[ReleasePlan, ...]:
    """Fluent Bit on every node, where the spec sends pod logs to the cloud.

    It reads logs only: the CloudWatch add-on would also start paid metrics and Application Signals. The stack creates the log group with
    its key and retention, so the pods cannot. The text of a parsed line is sent once (keepLog), because ingestion is paid by the byte.
    """
    if context.spec.blueprint.pod_logs == "none":
        return ()
    values = {
        "fullnameOverride": POD_LOGS_ACCOUNT,
        "serviceAccount": {"name": POD_LOGS_ACCOUNT},
        "tolerations": TOLERATE_ALL,
        "priorityClassName": "system-node-critical",
        "filter": {"keepLog": "Off"},
        "cloudWatchLogs": {"region": ref("place.region"), "logGroupName": pod_log_group(context.spec.name), "autoCreateGroup": False},
    }
    return (release(POD_LOGS, POD_LOGS_NAMESPACE, values),)
