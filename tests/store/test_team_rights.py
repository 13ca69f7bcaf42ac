"""The rights of readers, writers and maintainers, as the policies of docs/team.md give them on S3 and Azure."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hunchd.domain.errors import AccessDenied
from hunchd.store.team_dataset import TeamDataset
from tests.object_stores import (
    ObjectStore,
    azure_store,
    create_azure_user,
    create_s3_user,
    enforce_s3_rights,
    find_azurite,
    find_moto,
    s3_store,
)
from tests.store.test_team_dataset import read_ids, row

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

READ, WRITE, MAINTAIN = range(3)
S3_ACTIONS = (("GetObject",), ("GetObject", "PutObject"), ("GetObject", "PutObject", "DeleteObject"))
AZURE_PERMISSIONS = ("rl", "rlcwa", "rlcwad")


class Roles:
    """The dataset as its founder opens it, and the credentials of the other roles."""

    def __init__(self, store: ObjectStore, credentials: list[str]) -> None:
        self._store = store
        self._credentials = credentials

    async def open(self, role: int) -> TeamDataset:
        return await TeamDataset.open(self._store.uri, read_options(self._credentials[role]))


def read_options(credentials: str) -> dict[str, Any]:
    [options] = tomllib.loads(credentials).values()
    return options | {"client_max_retries": "1"}


@pytest.fixture(
    params=[
        pytest.param("s3", marks=pytest.mark.skipif(not find_moto(), reason="moto_server is not installed")),
        pytest.param("azure", marks=pytest.mark.skipif(not find_azurite(), reason="azurite-blob is not installed")),
    ]
)
def roles(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Roles]:
    with (s3_store if request.param == "s3" else azure_store)(tmp_path) as store:
        dataset = asyncio.run(found(store))
        assert dataset == 1
        if request.param == "azure":
            yield Roles(store, [create_azure_user(store.port, each) for each in AZURE_PERMISSIONS])
            return
        names = ("reader", "writer", "maintainer")
        credentials = [create_s3_user(store.port, *each) for each in zip(names, S3_ACTIONS, strict=True)]
        enforce_s3_rights(store.port, credentials[MAINTAIN])
        yield Roles(store, credentials)


async def found(store: ObjectStore) -> int:
    dataset = await TeamDataset.open(store.uri, read_options(store.credentials), create=True)
    await dataset.append([row("a", subject="s1"), row("b", subject="s2")], may_exist=False)
    return len([1 async for _ in dataset.read_since(0, await dataset.read_version())])


async def test_reader_reads_and_cannot_write(roles: Roles) -> None:
    reader = await roles.open(READ)
    version = await reader.read_version()

    assert sorted(await read_ids(reader, 0, version)) == ["a", "b"]
    for write in (reader.append([row("c")], may_exist=False), reader.erase(["a"])):
        with pytest.raises(AccessDenied, match="credentials or permissions do not allow this"):
            await write
    assert await (await roles.open(MAINTAIN)).read_version() == version


async def test_writer_appends_erases_and_claims(roles: Roles) -> None:
    writer = await roles.open(WRITE)

    await writer.append([row("c")], may_exist=True)
    assert await writer.erase(["a"]) == 1

    assert sorted(await read_ids(writer, 0, await writer.read_version())) == ["b", "c"]
    assert await writer.claim_lease("1", "m")


async def test_only_maintainer_drops_old_versions(roles: Roles) -> None:
    writer, maintainer = await roles.open(WRITE), await roles.open(MAINTAIN)
    await writer.append([row("c")], may_exist=False)
    await asyncio.sleep(0.05)

    stats = [await each.compact(keep=timedelta(milliseconds=1)) for each in (writer, maintainer)]

    assert [one["freed_bytes"] > 0 for one in stats] == [False, True]
    assert [one["left_versions"] > 0 for one in stats] == [True, False]
    assert sorted(await read_ids(maintainer, 0, await maintainer.read_version())) == ["a", "b", "c"]
