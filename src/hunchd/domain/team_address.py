"""Addresses of teams' datasets, without I/O."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from hunchd.domain.errors import InvalidInput

CREDENTIALS_FILE: Final = "team-credentials.toml"  # in the folder of the settings


def split_address(address: str) -> tuple[str, str]:
    """Split an address into the dataset's address and the team's id.

    The id follows a "#"; without a "#", the id is "". Raises InvalidInput if the address is not supported or
    contains credentials, which would end up in logs and repositories.
    """
    uri, _, team = address.strip().partition("#")
    parts = urlsplit(uri)
    if "@" in parts.netloc or parts.query:
        raise InvalidInput(
            "the address must not contain credentials",
            field="uri",
            hint="credentials are read from the provider's usual places or from a private file; see docs/team.md",
        )
    if parts.scheme == "db":
        raise InvalidInput("the hosted service of LanceDB is not supported yet", field="uri")
    if parts.scheme not in ("s3", "az", "gs", "file", "") or (parts.scheme == "" and not uri.startswith("/")):
        raise InvalidInput("the address must be s3://…, az://…, gs://… or an absolute path", field="uri")
    return uri.rstrip("/"), team


def get_folder(uri: str) -> Path | None:
    """Return the folder that a dataset's address names, or None for an object store."""
    parts = urlsplit(uri)
    return Path(unquote(parts.path) if parts.scheme else uri) if parts.scheme in ("", "file") else None
