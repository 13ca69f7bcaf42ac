"""hunchd: a local daemon that has a hunch what a developer will need next."""

from typing import Final

__version__: Final = "0.1.0"
PROTOCOL: Final = 1
