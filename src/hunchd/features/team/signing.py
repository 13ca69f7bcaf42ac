"""Ed25519 keys of members, and signatures of records.

Only this module uses the cryptography library. It runs only in the team process, so that the daemon itself does not
load that library.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from hunchd.domain.errors import ConfigError
from hunchd.protocol.team_records import TeamRecord, build_signed_bytes, compute_record_id

_KEY_BYTES: Final = 32


def create_key(file: Path) -> str:
    """Create a private key unless it exists; return the public."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except FileExistsError:
        return encode_public_key(load_key(file))
    key = Ed25519PrivateKey.generate()
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(key.private_bytes_raw())
        stream.flush()
        os.fsync(stream.fileno())
    return encode_public_key(key)


def load_key(file: Path) -> Ed25519PrivateKey:
    """Return a file's private key; raise ConfigError if it is damaged."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"could not read the team key {file}: {error.strerror}") from error
    if len(content) != _KEY_BYTES:
        raise ConfigError(
            f"the team key {file} is damaged", hint="leave the team, then join it again to create a new key"
        )
    return Ed25519PrivateKey.from_private_bytes(content)


def encode_public_key(key: Ed25519PrivateKey) -> str:
    return base64.urlsafe_b64encode(key.public_key().public_bytes_raw()).decode().rstrip("=")


def sign_record(record: TeamRecord, team: str, key: Ed25519PrivateKey) -> TeamRecord:
    """Return the record with a signature made for this team."""
    signature = key.sign(build_signed_bytes(record, team))
    return msgspec.structs.replace(record, signature=base64.urlsafe_b64encode(signature).decode().rstrip("="))


def keep_genuine(records: Iterable[TeamRecord], team: str) -> list[TeamRecord]:
    """Return the records that were signed by their author for this team."""
    return [record for record in records if is_genuine(record, team)]


def is_genuine(record: TeamRecord, team: str) -> bool:
    """Return True if a record was validly signed by its author for this team."""
    if record.id != compute_record_id(record, team):
        return False
    try:
        key = Ed25519PublicKey.from_public_bytes(_decode(record.author))
        key.verify(_decode(record.signature), build_signed_bytes(record, team))
    except (InvalidSignature, ValueError, binascii.Error):
        return False
    return True


def _decode(text: str) -> bytes:
    """Decode URL-safe base64 without padding.

    Raises ValueError unless `text` is the one canonical encoding of its bytes.
    """
    content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if base64.urlsafe_b64encode(content).decode().rstrip("=") != text:
        raise ValueError("the base64 text is not in canonical form")
    return content
