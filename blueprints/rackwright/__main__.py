"""`python -m rackwright`, and what the command `rackwright` starts: Ctrl-C is no traceback, not even while modules load."""


def main() -> None:
    try:
        from rackwright.cli.main import main as start
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    start()


if __name__ == "__main__":
    main()
