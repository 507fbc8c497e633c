"""`python -m rackwright`, and what the command `rackwright` starts: Ctrl-C is no traceback, not even while modules load."""

import gc

COLLECT_AFTER = 200_000
"""New objects between two runs of the garbage collector. A command is short and keeps what it makes: at Python's 700 an eighth of its
time goes into looking for cycles among modules."""


def main() -> None:
    gc.set_threshold(COLLECT_AFTER)
    try:
        from rackwright.cli.main import main as start
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    start()


if __name__ == "__main__":
    main()
