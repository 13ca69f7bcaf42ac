"""The team process: exchanges a team's records with the shared dataset.

It also signs and verifies the records. A slow or unreachable object store delays only this process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final

import msgspec

from hunchd.domain.errors import StoreError
from hunchd.domain.json_values import JsonObject
from hunchd.domain.team_address import get_folder
from hunchd.features.team.signing import create_key, is_genuine, keep_genuine, load_key, sign_record
from hunchd.features.team.team_client import Care, RecordBatch
from hunchd.protocol.helper import serve
from hunchd.protocol.team_records import (
    Founding,
    RecordKind,
    TeamRecord,
    compute_team_id,
    decode_payload,
    find_erased_quotations,
)
from hunchd.store.team_credentials import load_store_options
from hunchd.store.team_dataset import TeamDataset

PRIVATE_UMASK: Final = 0o077
IDLE_SECONDS: Final = 120.0  # seconds: longer than the interval between two calls for an active team


def main() -> int:
    """Answer calls until the pipe is closed."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    process = TeamProcess()
    serve(
        {
            "create_key": process.create_key,
            "open": process.open,
            "append": process.append,
            "read_version": process.read_version,
            "read_since": process.read_since,
            "maintain": process.maintain,
        },
        idle_seconds=IDLE_SECONDS,
    )
    return 0


class TeamProcess:
    """Handlers for the calls to the team process."""

    def __init__(self) -> None:
        self._datasets: dict[str, TeamDataset] = {}
        self._writers = 0  # to folders; they agree on one umask, which belongs to the whole process
        self._umask = PRIVATE_UMASK
        self._writer_left = asyncio.Condition()

    async def create_key(self, key_file: str) -> str:
        return create_key(Path(key_file))

    async def open(self, uri: str, credentials: str, create: bool) -> list[TeamRecord]:
        """Open or create the dataset; return its genuine founding records."""
        async with self._share_written_files(uri):
            dataset = self._datasets[uri] = await self._open(uri, credentials, create=create)
        rows = await dataset.find_rows("kind", [str(RecordKind.FOUND)])
        foundings = []
        for record in _parse_rows(rows):
            founding = decode_payload(record, Founding)
            if founding and is_genuine(record, compute_team_id(record.author, founding.nonce)):
                foundings.append(record)
        return foundings

    async def append(
        self, uri: str, credentials: str, team: str, key_file: str, records: list[TeamRecord], may_exist: bool
    ) -> None:
        dataset, key = await self._get(uri, credentials), load_key(Path(key_file))
        signed_records = [sign_record(record, team, key) for record in records]
        erasing = (RecordKind.ERASE, RecordKind.UNRESOLVE)
        subjects = sorted({record.subject for record in signed_records if record.kind in erasing})
        async with self._share_written_files(uri):
            await dataset.append([msgspec.to_builtins(record) for record in signed_records], may_exist=may_exist)
            if subjects:
                stored_records = _parse_rows(await dataset.find_rows("subject", subjects))
                await dataset.erase([record.id for record in list_erased(stored_records, signed_records)])

    async def read_version(self, uri: str, credentials: str) -> int:
        return await (await self._get(uri, credentials)).read_version()

    async def read_since(
        self, uri: str, credentials: str, team: str, version: int, until: int
    ) -> AsyncIterator[RecordBatch]:
        dataset = await self._get(uri, credentials)
        async for rows in dataset.read_since(version, until):
            genuine = await asyncio.to_thread(keep_genuine, _parse_rows(rows), team)
            yield RecordBatch(tuple(genuine), len(rows) - len(genuine))

    async def maintain(self, uri: str, credentials: str, lease: str, holder: str, keep_seconds: float) -> Care:
        dataset = await self._get(uri, credentials)
        async with self._share_written_files(uri):
            if not await dataset.claim_lease(lease, holder):
                return "leased"
            stats = await dataset.compact(keep=timedelta(seconds=keep_seconds))
            await dataset.drop_leases(before=lease)
        return "not allowed" if stats["left_versions"] else "compacted"

    @asynccontextmanager
    async def _share_written_files(self, uri: str) -> AsyncIterator[None]:
        """Give written files the permissions of the shared folder."""
        folder = get_folder(uri)
        if folder is None:
            yield
            return
        umask = await asyncio.to_thread(_read_umask, folder)
        async with self._writer_left:
            await self._writer_left.wait_for(lambda: not self._writers or self._umask == umask)
            self._writers += 1
            self._umask = umask
            os.umask(umask)
        try:
            yield
        finally:
            async with self._writer_left:
                self._writers -= 1
                if not self._writers:
                    os.umask(PRIVATE_UMASK)
                self._writer_left.notify_all()

    async def _get(self, uri: str, credentials: str) -> TeamDataset:
        if uri not in self._datasets:
            self._datasets[uri] = await self._open(uri, credentials, create=False)
        return self._datasets[uri]

    async def _open(self, uri: str, credentials: str, *, create: bool) -> TeamDataset:
        try:
            return await TeamDataset.open(uri, load_store_options(Path(credentials), uri), create=create)
        except StoreError as error:
            if get_folder(uri) is None:
                error.hint = (
                    f"credentials, region and endpoint come from the environment or {credentials}; see docs/team.md"
                )
            raise


def _read_umask(folder: Path) -> int:
    """Return the umask for new files in a folder, which may not exist yet.

    If everybody can create files in the folder, as in /tmp, only the owner of a file may change it.
    """
    mode = next(one for one in (folder, *folder.parents) if one.is_dir()).stat().st_mode
    return ~mode & 0o777 | (0o022 if mode & stat.S_ISVTX else 0)


def list_erased(stored_records: Sequence[TeamRecord], sent_records: Iterable[TeamRecord]) -> list[TeamRecord]:
    """Return the stored records whose text has to go because of the records sent last.

    These are what an author said about an erased subject, and resolutions that were withdrawn or only quote what was
    erased. The older resolutions of the same author go too, or a new member would take them for the latest.
    """
    sent = {record.id: record for record in sent_records}
    erased = {(record.author, record.subject) for record in sent.values() if record.kind is RecordKind.ERASE}
    withdrawals = (record for record in stored_records if record.kind is RecordKind.UNRESOLVE)
    end_clocks: dict[tuple[str, str], int] = {}
    for record in (*withdrawals, *find_erased_quotations(stored_records)):
        end_clocks[record.author, record.subject] = max(
            record.clock, end_clocks.get((record.author, record.subject), 0)
        )
    return [
        record
        for record in stored_records
        if ((record.author, record.subject) in erased and record.id not in sent)
        or (record.kind is RecordKind.RESOLVE and record.clock <= end_clocks.get((record.author, record.subject), -1))
    ]


def _parse_rows(rows: list[JsonObject]) -> list[TeamRecord]:
    """Return the valid records; later versions may write others."""
    records = []
    for row in rows:
        try:
            records.append(msgspec.convert(row, TeamRecord))
        except msgspec.ValidationError:
            continue
    return records


if __name__ == "__main__":
    sys.exit(main())
