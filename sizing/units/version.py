"""The version that goes into every document."""


def version() -> str:
    """The installed version of this package; `unknown` where it runs without having been installed."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("sizing")
    except PackageNotFoundError:
        return "unknown"
