"""The component package: what the engine starts for a program in another language. Speaks the provider protocol."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "blueprints"), str(ROOT / "components")]

if __name__ == "__main__":
    from rackwright_pulumi.package import serve

    serve()
