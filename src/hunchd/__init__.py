"""Local daemon that predicts the context a developer needs next."""

# Without `typing`, for which `hunch run` would have to wait.
__version__ = "0.1.0"
PROTOCOL = 1
