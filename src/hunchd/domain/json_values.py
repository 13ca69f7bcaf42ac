"""Type names for JSON whose structure is not defined by this project."""

from __future__ import annotations

from typing import Any

# Free-form JSON: a caller's metadata, a tool's arguments, other programs' documents. Our own data has its own types.
JsonObject = dict[str, Any]
