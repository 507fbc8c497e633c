"""Amounts in objects of Kubernetes."""

import re

PREFIXES = "kMGTPE"
UNITS = {"": 1.0, "n": 1e-9, "u": 1e-6, "m": 1e-3}
UNITS |= {prefix: 1000.0**power for power, prefix in enumerate(PREFIXES, 1)}
UNITS |= {f"{prefix.upper()}i": 1024.0**power for power, prefix in enumerate(PREFIXES, 1)}
QUANTITY = re.compile(rf"([0-9]+\.?[0-9]*|\.[0-9]+)(?:([eE][-+]?[0-9]{{1,2}})|({'|'.join(unit for unit in UNITS if unit)}))?")


def amount(text: object) -> float:
    """The number of a quantity: 224, 500m, 1k, 2113445204Ki; 0 for other texts.

    The API server shortens whole numbers too, so that 1000 shared RDMA devices are 1k.
    Source: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
    """
    found = QUANTITY.fullmatch(str(text))
    return float(found[1] + (found[2] or "")) * UNITS[found[3] or ""] if found else 0.0
