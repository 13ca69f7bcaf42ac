"""Type names for JSON whose structure is not defined by this project."""

from __future__ import annotations

from typing import Any

# Free-form: metadata of a caller, arguments of a tool, documents of other programs. What is ours has a type of its own.
JsonObject = dict[str, Any]
