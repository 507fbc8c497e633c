"""`python -m tests.properties 50000 --seed 1`: mutated inputs of every kind, without pytest. Prints faults, counts and the slowest input.

`--kind decision --first 1234` and a number of 1 repeat one input and keep its files.
"""

import argparse
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from tests.properties.commands import call, numbered
from tests.properties.inputs import KINDS, SLOW_KINDS

IN_TURN = (*sorted({*KINDS} - {*SLOW_KINDS}) * 4, *SLOW_KINDS)
"""Kinds whose inputs take more than a tenth of a second come once where the others come four times."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("inputs", type=int, help="number of inputs, of all kinds together")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**9)
    parser.add_argument("--kind", choices=KINDS, action="append", help="default: every kind")
    parser.add_argument("--first", type=int, default=1, help="number of the first input of each kind")
    asked = parser.parse_args()
    kinds, folder = asked.kind or IN_TURN, Path(tempfile.mkdtemp(prefix="rackwright-inputs-"))
    answers, seconds, numbers, faults = Counter(), Counter(), Counter(), 0
    slowest = (0.0, "")
    print(f"seed {asked.seed}, kinds {', '.join(sorted(set(kinds)))}, from number {asked.first}", flush=True)
    for done in range(asked.inputs):
        kind = kinds[done % len(kinds)]
        number = asked.first + numbers[kind]
        numbers[kind] += 1
        name = f"--seed {asked.seed} --kind {kind} --first {number}"
        arguments = numbered(kind, number, asked.seed, folder)
        status, fault, spent = _answer(arguments)
        answers[kind, status] += 1
        seconds[kind] += spent
        slowest = max(slowest, (spent, name))
        if fault:
            faults += 1
            print(f"FAULT {name}: rackwright {' '.join(map(str, arguments))}\n{fault}", flush=True)
        if (done + 1) % 1000 == 0 or done + 1 == asked.inputs:
            print(f"{done + 1} inputs, {faults} faults, slowest {slowest[0]:.1f} s: {slowest[1]}", flush=True)
    for kind in sorted(set(kinds)):
        counts = ", ".join(f"exit {status}: {n}" for (of, status), n in sorted(answers.items()) if of == kind)
        print(f"{kind}: {counts}; {seconds[kind]:.0f} s of CPU")
    print(f"files of the last input: {folder}")
    return 1 if faults else 0


def _answer(arguments: tuple) -> tuple[int, str, float]:
    """Exit status, fault and seconds of CPU of a command."""
    start = time.process_time()
    try:
        outcome = call(arguments)
    except Exception:
        return 3, traceback.format_exc(limit=-6), time.process_time() - start
    return outcome.status, outcome.fault, outcome.seconds


if __name__ == "__main__":
    raise SystemExit(main())
