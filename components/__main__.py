"""The component package: what the engine starts for a program in another language. Implements the provider protocol."""

import gc
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "blueprints"), str(ROOT / "components")]

if __name__ == "__main__":
    gc.disable()  # every future lives until the end of the update; looking through them costs a quarter of its time
    from rackwright_pulumi.package import serve

    serve()
