"""`python -m rackwright_pulumi.package` prints the schema for the SDKs of other languages; options set the names of the SDKs."""

import argparse
import json
import os
import sys

from rackwright.diagnostics.errors import UserError

from rackwright_pulumi.package.host import Package
from rackwright_pulumi.package.sdk_names import SDK_NAMES, VARIABLE, names_in

parser = argparse.ArgumentParser(prog="python -m rackwright_pulumi.package", description="Print the schema of the component package.")
for language, kind in SDK_NAMES.items():
    variable = VARIABLE + language.upper()
    parser.add_argument(f"--{language}", metavar="NAME", help=f"{kind.noun}, such as {kind.example} (or the variable {variable})")
options = {language: name for language, name in vars(parser.parse_args()).items() if name is not None}
try:
    schema = Package(names_in(os.environ) | options).schema
except UserError as error:
    sys.exit(str(error))
print(json.dumps(json.loads(schema or ""), indent=2))
