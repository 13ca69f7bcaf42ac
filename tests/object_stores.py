"""Object stores for tests, on loopback: moto's S3 server and Azurite, where they are installed.

`pip install 'moto[server]'` and `npm install azurite`; HUNCHD_TEST_MOTO and HUNCHD_TEST_AZURITE may name the programs
`moto_server` and `azurite-blob`. Both answer 412 or 409 to a conditional write of what exists (`If-None-Match: *`).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

START = 60.0  # seconds
_ACCOUNT = "devstoreaccount1"
# Azurite's well-known development key, put together here so that no scanner takes it for a real one.
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/" + "K1SZFPTOtr/KBHBeksoGMGw=="


@dataclass(frozen=True)
class ObjectStore:
    """Address of an empty container, and the credentials for it as TOML."""

    uri: str
    credentials: str
    port: int = 0

    def write_credentials(self, config: Path) -> None:
        config.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = config / "team-credentials.toml"
        file.touch(mode=0o600)
        file.write_text(self.credentials)


def find_moto() -> str | None:
    return os.environ.get("HUNCHD_TEST_MOTO") or shutil.which("moto_server")


def find_azurite() -> str | None:
    return os.environ.get("HUNCHD_TEST_AZURITE") or shutil.which("azurite-blob")


@contextmanager
def s3_store(folder: Path, *, port_of_proxy: int | None = None) -> Iterator[ObjectStore]:
    port = free_port()
    with running_server([str(find_moto()), "-H", "127.0.0.1", "-p", str(port)], port, folder):
        request(port, "PUT", "/team-bucket")
        yield ObjectStore("s3://team-bucket/shop", s3_credentials(port_of_proxy or port), port)


def s3_credentials(port: int) -> str:
    return (
        f'["s3://"]\naws_access_key_id = "test"\naws_secret_access_key = "planted-{"secret"}"\n'
        f'aws_endpoint = "http://127.0.0.1:{port}"\naws_region = "us-east-1"\nallow_http = "true"\n'
    )


@contextmanager
def azure_store(folder: Path) -> Iterator[ObjectStore]:
    port = free_port()
    command = [str(find_azurite()), "--silent", "--skipApiVersionCheck", "--location", str(folder)]
    with running_server([*command, "--blobHost", "127.0.0.1", "--blobPort", str(port)], port, folder):
        create_azure_container(port, "team")
        yield ObjectStore("az://team/shop", azure_credentials(port), port)


def azure_credentials(port: int) -> str:
    return (
        f'["az://"]\nazure_storage_account_name = "{_ACCOUNT}"\nazure_storage_account_key = "{_KEY}"\n'
        f'azure_endpoint = "http://127.0.0.1:{port}/{_ACCOUNT}"\nallow_http = "true"\n'
    )


def create_azure_container(port: int, name: str) -> None:
    now = datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    headers = {"x-ms-date": now, "x-ms-version": "2021-12-02"}
    signed = (
        "PUT"
        + "\n" * 12
        + f"x-ms-date:{now}\nx-ms-version:2021-12-02\n/{_ACCOUNT}/{_ACCOUNT}/{name}\nrestype:container"
    )
    digest = hmac.new(base64.b64decode(_KEY), signed.encode(), hashlib.sha256).digest()
    headers["Authorization"] = f"SharedKey {_ACCOUNT}:{base64.b64encode(digest).decode()}"
    assert request(port, "PUT", f"/{_ACCOUNT}/{name}?restype=container", headers) == 201


def request(port: int, method: str, path: str, headers: dict[str, str] | None = None) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, headers=headers or {})
        return connection.getresponse().status
    finally:
        connection.close()


@contextmanager
def running_server(command: Sequence[str], port: int, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=folder)
    try:
        deadline = time.monotonic() + START
        while not is_listening(port):
            assert process.poll() is None, (folder / "server.log").read_text(errors="replace")
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.wait()


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
