"""What clients of a fleet need: the certificate of its load balancer, and the paths that are open to them."""

import re

from rackwright.clouds import profile
from rackwright.compile.compile_context import CompileContext
from rackwright.spec.workload_parts import API_KEY_VARIABLE, API_PATH

HTTP_PORT, HTTPS_PORT = 80, 443


def certificate(context: CompileContext) -> str:
    """What the load balancer refers to as its certificate in the candidate's region; empty without one."""
    pattern = profile(context.candidate.cloud).certificate
    for text in context.spec.blueprint.certificates:
        found = re.fullmatch(pattern, text) if pattern else None
        if found and found["region"] == context.candidate.region:
            return found["name"]
    return ""


def open_path(context: CompileContext) -> str:
    """Prefix of the paths that clients may use: those that need the key, and all without a key or with another server."""
    return API_PATH if API_KEY_VARIABLE in context.serve.secret_variables and not context.serve.run.command else "/"
