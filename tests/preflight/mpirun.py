"""mpirun of the tests: starts a command on each host through the agent, as Open MPI does, and prints a table of nccl-tests.

RATES: JSON of host -> GB/s, or a text: an error, `wrong`, or `hang`. The slowest host decides.
"""

import json
import os
import shlex
import subprocess
import sys
import time

AGENT = "OMPI_MCA_plm_rsh_agent"
HEAD = "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
ROW = "  8589934592    2147483648     float     sum      -1    38250  224.57  {:.2f}      {}    38103  225.44  422.70      0\n"
SMALL = "  1073741824     268435456     float     sum      -1     5120  209.72  {:.2f}      0     5110  210.13  393.99      0\n"


def main() -> int:
    words = sys.argv[1:]
    hosts = [entry.partition(":")[0] for entry in words[words.index("-H") + 1].split(",")]
    agent = shlex.split(os.environ[AGENT])
    for host in hosts:
        done = subprocess.run([*agent, host, "PATH=$PATH", ";", "echo", "started", "on", "$NODE_NAME"], capture_output=True, text=True)
        if done.returncode or "started on node-" not in done.stdout:
            sys.stderr.write(f"ORTE was unable to reliably start one or more daemons: {done.stdout}")
            return 1
    rates = json.loads(os.environ["RATES"])
    values = [rates.get(host, 400.0) for host in hosts]
    if "hang" in values:
        time.sleep(60)
    if error := next((value for value in values if isinstance(value, str) and value != "wrong"), ""):
        sys.stderr.write(error)
        return 3
    rate = min((value for value in values if not isinstance(value, str)), default=400.0)
    sys.stdout.write(HEAD)
    sys.stdout.write(SMALL.format(rate * 0.9) + ROW.format(rate, 12 if "wrong" in values else 0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
