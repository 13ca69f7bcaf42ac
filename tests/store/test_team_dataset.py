"""The shared dataset on a folder, on S3 and on Azure: concurrent writers, incremental reads, erasure, leases."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hunchd.domain.errors import ConfigError, InvalidInput, NotFound
from hunchd.store.team_credentials import load_store_options
from hunchd.store.team_dataset import TeamDataset, _describe_failure
from tests.object_stores import ObjectStore, azure_store, find_azurite, find_moto, s3_store

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

Address = tuple[str, dict[str, str]]


@pytest.fixture(
    params=[
        "folder",
        pytest.param("s3", marks=pytest.mark.skipif(not find_moto(), reason="moto_server is not installed")),
        pytest.param("azure", marks=pytest.mark.skipif(not find_azurite(), reason="azurite-blob is not installed")),
    ]
)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Address]:
    if request.param == "folder":
        yield str(tmp_path / "team"), {}
        return
    with (s3_store if request.param == "s3" else azure_store)(tmp_path) as store:
        yield store.uri, read_options(store)


def read_options(store: ObjectStore) -> dict[str, str]:
    [options] = tomllib.loads(store.credentials).values()
    return dict(options)


@pytest.fixture
async def dataset(address: Address) -> TeamDataset:
    return await TeamDataset.open(*address, create=True)


def row(identifier: str, author: str = "ada", subject: str = "s", payload: str = "") -> dict[str, Any]:
    return {
        "id": identifier,
        "author": author,
        "machine": f"of {author}",
        "clock": 1,
        "version": 1,
        "kind": "state",
        "subject": subject,
        "payload": payload,
        "signature": "",
    }


async def read_ids(dataset: TeamDataset, since: int, until: int) -> list[str]:
    return [one["id"] async for batch in dataset.read_since(since, until) for one in batch]


async def test_append_by_many_writers_loses_nothing(address: Address, dataset: TeamDataset) -> None:
    writers = [await TeamDataset.open(*address) for _ in range(4)]

    async def write(number: int) -> None:
        for index in range(5):
            await writers[number].append([row(f"{number}-{index}")], may_exist=False)

    await asyncio.gather(*map(write, range(4)))

    ids = await read_ids(dataset, 0, await dataset.read_version())
    assert sorted(ids) == sorted(f"{number}-{index}" for number in range(4) for index in range(5))


async def test_read_since_version_returns_only_newer(dataset: TeamDataset) -> None:
    first = await dataset.append([row("a"), row("b")], may_exist=False)
    second = await dataset.append([row("c")], may_exist=False)

    assert await read_ids(dataset, first, second) == ["c"]
    await dataset.compact(keep=timedelta(milliseconds=1))
    newest = await dataset.read_version()
    assert newest > second
    assert await read_ids(dataset, first, newest) == ["c"]
    assert await read_ids(dataset, second, newest) == []


async def test_append_retry_adds_nothing_twice(dataset: TeamDataset) -> None:
    await dataset.append([row("a")], may_exist=False)

    await dataset.append([row("a"), row("b")], may_exist=True)

    assert sorted(await read_ids(dataset, 0, await dataset.read_version())) == ["a", "b"]


async def test_lease_is_given_once(address: Address, dataset: TeamDataset) -> None:
    others = [await TeamDataset.open(*address) for _ in range(3)]

    granted = await asyncio.gather(*(one.claim_lease("0001", "m") for one in others))

    assert sorted(granted) == [False, False, True]
    assert await dataset.claim_lease("0002", "m")
    await dataset.drop_leases(before="0002")
    assert await dataset.claim_lease("0001", "m")


async def test_open_missing_dataset_raises_not_found(address: Address) -> None:
    with pytest.raises(NotFound):
        await TeamDataset.open(*address)


async def test_erase_removes_bytes_after_compaction(tmp_path: Path) -> None:
    folder = tmp_path / "team"
    dataset = await TeamDataset.open(str(folder), {}, create=True)
    await dataset.append([row(str(number), subject=f"s{number}") for number in range(300)], may_exist=False)
    await dataset.append([row("x", payload="needle-in-here"), row("y", "bob", payload="hay")], may_exist=False)

    assert await dataset.erase(["x"]) == 1
    for _ in range(2):
        await asyncio.sleep(0.01)
        await dataset.compact(keep=timedelta(milliseconds=1))

    assert not any(b"needle-in-here" in file.read_bytes() for file in folder.rglob("*") if file.is_file())
    assert len(await read_ids(dataset, 0, await dataset.read_version())) == 301


async def test_compact_after_others_commit_succeeds(address: Address, dataset: TeamDataset) -> None:
    other = await TeamDataset.open(*address)
    for number in range(3):
        await other.append([row(str(number), subject=str(number))], may_exist=False)
    await other.compact(keep=timedelta(days=1))
    await other.append([row("3")], may_exist=False)
    await asyncio.sleep(0.05)

    stats = await dataset.compact(keep=timedelta(milliseconds=1))

    assert stats["left_versions"] == 0
    assert len(await read_ids(dataset, 0, await dataset.read_version())) == 4


async def test_open_other_scheme_is_refused() -> None:
    with pytest.raises(InvalidInput):
        await TeamDataset.open("http://example.org/x", {})


def test_credentials_of_longest_prefix_are_used(tmp_path: Path) -> None:
    file = tmp_path / "team-credentials.toml"
    file.touch(mode=0o600)
    file.write_text('["s3://"]\naws_region = "a"\n["s3://team"]\naws_region = "b"\n')

    assert load_store_options(file, "s3://team/x")["aws_region"] == "b"
    assert load_store_options(file, "s3://other/x")["aws_region"] == "a"
    assert load_store_options(tmp_path / "missing", "/folder") == {}


@pytest.mark.parametrize("name", ["aws_endpoint", "azure_endpoint"])
def test_unencrypted_endpoint_has_to_be_allowed(name: str, tmp_path: Path) -> None:
    file = tmp_path / "team-credentials.toml"
    file.touch(mode=0o600)
    file.write_text(f'["s3://"]\n{name} = "http://127.0.0.1:1"\n')
    with pytest.raises(ConfigError, match="not encrypted") as refused:
        load_store_options(file, "s3://team/x")

    line = str(refused.value.hint).partition("add the line ")[2].partition(" to ")[0]
    file.write_text(file.read_text() + line)

    assert load_store_options(file, "s3://team/x")[name] == "http://127.0.0.1:1"


def test_long_failure_keeps_its_end() -> None:
    place = '" })) }, location: Location { file: "/root/.cargo/store.rs", line: 9 }, backtrace: None }'
    text = f"lance error: {'retried ' * 99}URL scheme is not allowed{place}"
    error = _describe_failure("s3://team/x", ValueError(text))

    assert error.message.endswith("URL scheme is not allowed")
    assert len(error.message) < 400


def test_credentials_that_others_can_read_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "team-credentials.toml"
    file.write_text('["s3://"]\n')
    file.chmod(0o644)

    with pytest.raises(ConfigError, match="other users can read"):
        load_store_options(file, "s3://team/x")
