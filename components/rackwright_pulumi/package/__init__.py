"""The components as a package for all Pulumi languages: `pulumi package add` starts `components/__main__.py`.

Importing this module imports neither pulumi nor a cloud SDK.
"""


def serve() -> None:
    """Serve the provider protocol until the engine ends the process. The first command line argument is the engine's address."""
    from rackwright_pulumi.package.host import main

    main()
