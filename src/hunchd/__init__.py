"""hunchd: a local daemon that has a hunch what a developer will need next."""

# Without `typing`, for which `hunch run` would have to wait.
__version__ = "0.1.0"
PROTOCOL = 1
