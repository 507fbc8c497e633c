"""The components as a package for every language that Pulumi has: `pulumi package add` starts `components/__main__.py`.

Importing this imports neither pulumi nor a cloud SDK.
"""


def serve() -> None:
    """Speaks the provider protocol until the engine ends the process; the first argument of the command line is the engine's address."""
    from rackwright_pulumi.package.host import main

    main()
