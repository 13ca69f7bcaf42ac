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
    users can read the file, or if it is not valid.
    """
    options = {} if uri.startswith(("/", "file:")) else dict(_DEFAULTS)
    if not file.exists():
        return options
    if stat.S_IMODE(file.stat().st_mode) & 0o077:
        raise ConfigError(f"other users can read {file}", hint=f"run `chmod 600 {file}`")
    try:
        sections = tomllib.loads(file.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:  # its message may quote a line with a secret
        raise ConfigError(f"{file} is not valid TOML ({type(error).__name__})") from None
    matching = [name for name in sections if uri.startswith(name) and isinstance(sections[name], Mapping)]
    if matching:
        options |= {name: str(value) for name, value in sections[max(matching, key=len)].items()}
    return options
