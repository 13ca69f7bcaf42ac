"""Options and credentials for object stores, read from a private file.

Without the file, the provider's usual sources apply: environment variables, shared configuration files, and the
machine's role.
"""

from __future__ import annotations

import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hunchd.domain.errors import ConfigError

# Limits of a request. The client repeats requests that fail with 429, 500, 503 and the like.
_DEFAULTS: Final = {"timeout": "30s", "connect_timeout": "5s", "client_max_retries": "5", "client_retry_timeout": "40"}


def load_store_options(file: Path, uri: str) -> dict[str, str]:
    """Return the options for the object store at `uri`.

    They are read from the section of `file` whose name is the longest prefix of `uri`. Raises ConfigError if other
    users can read the file, if it is not valid, or if it names an unencrypted endpoint without allowing that.
    """
    options = ({} if uri.startswith(("/", "file:")) else dict(_DEFAULTS)) | _read_section(file, uri)
    endpoint = next((name for name, value in options.items() if "endpoint" in name and value.startswith("http:")), None)
    if endpoint is not None and not any(name.endswith("allow_http") for name in options):
        allow = f"{endpoint.partition('endpoint')[0]}allow_http"
        raise ConfigError(
            f"{endpoint} of {uri} starts with http: what is sent there is not encrypted",
            hint=f'if that is acceptable, add the line {allow} = "true" to {file}',
        )
    return options


def _read_section(file: Path, uri: str) -> dict[str, str]:
    if not file.exists():
        return {}
    if stat.S_IMODE(file.stat().st_mode) & 0o077:
        raise ConfigError(f"other users can read {file}", hint=f"run `chmod 600 {file}`")
    try:
        sections = tomllib.loads(file.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:  # its message may quote a line with a secret
        raise ConfigError(f"{file} is not valid TOML ({type(error).__name__})") from None
    matching = [name for name in sections if uri.startswith(name) and isinstance(sections[name], Mapping)]
    return {name: str(value) for name, value in sections[max(matching, key=len)].items()} if matching else {}
