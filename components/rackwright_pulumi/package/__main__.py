"""`python -m rackwright_pulumi.package` prints the schema that other languages' SDKs are made from."""

import json

from rackwright_pulumi.package.host import Package

print(json.dumps(json.loads(Package().schema or ""), indent=2))
