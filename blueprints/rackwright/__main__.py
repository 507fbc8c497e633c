"""Entry point of `python -m rackwright` and of the command `rackwright`. Ctrl-C exits with 130, also while modules load."""

import gc

COLLECT_AFTER = 200_000
"""New objects between two runs of the garbage collector. A command is short and keeps its objects; with Python's default of 700, an eighth
of its time is garbage collection."""


def main() -> None:
    gc.set_threshold(COLLECT_AFTER)
    try:
        from rackwright.cli.main import main as start
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    start()


if __name__ == "__main__":
    main()
