"""`python -m rackwright_pulumi.package` prints the schema that other languages' SDKs are made from."""

import json

from rackwright_pulumi.package import kinds
from rackwright_pulumi.package.host import Package

print(json.dumps(json.loads(Package(kinds()).schema or ""), indent=2))
