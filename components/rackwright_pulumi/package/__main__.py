"""`python -m rackwright_pulumi.package` prints the schema for the SDKs of other languages."""

import json

from rackwright_pulumi.package.host import Package

print(json.dumps(json.loads(Package().schema or ""), indent=2))
