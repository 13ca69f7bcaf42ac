"""The team process: exchanges a team's records with the shared dataset, signs and verifies them.

A slow or absent store is felt here and nowhere else.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import msgspec

from hunchd.features.team.signing import create_key, is_genuine, keep_genuine, load_key, sign_record
from hunchd.protocol.helper import serve
from hunchd.protocol.team_records import RecordKind, TeamRecord, compute_team_id, decode_founding
from hunchd.store.team_credentials import load_store_options
from hunchd.store.team_dataset import TeamDataset

IDLE_SECONDS: Final = 120.0  # seconds: longer than the interval between two questions of an active team


def main() -> int:
    """Serve until the pipe closes."""
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
    """Handlers of the calls; datasets stay open, by address."""

    def __init__(self) -> None:
        self._datasets: dict[str, TeamDataset] = {}

    async def create_key(self, params: Mapping[str, Any]) -> str:
        return create_key(Path(params["key_file"]))

    async def open(self, params: Mapping[str, Any]) -> Any:
        """Open or create the dataset; return the records by which somebody founded a team there."""
        dataset = await self._open(params, create=params["create"])
        self._datasets[params["uri"]] = dataset
        rows = await dataset.find_rows("kind", str(RecordKind.FOUND))
        foundings = []
        for record in _parse_rows(rows):
            founding = decode_founding(record)
            if founding and is_genuine(record, compute_team_id(record.author, founding.nonce)):
                foundings.append(record)
        return msgspec.to_builtins(foundings)

    async def append(self, params: Mapping[str, Any]) -> None:
        dataset, team = await self._get(params), params["team"]
        key = load_key(Path(params["key_file"]))
        records = [sign_record(record, team, key) for record in _parse_rows(params["records"])]
        await dataset.append([msgspec.to_builtins(record) for record in records], may_exist=params["may_exist"])
        erasures = [record for record in records if record.kind is RecordKind.ERASE]
        if erasures:
            subjects = sorted({record.subject for record in erasures})
            keep = [record.id for record in records if record.subject in subjects]
            await dataset.erase(erasures[0].author, subjects, keep)

    async def read_version(self, params: Mapping[str, Any]) -> int:
        return await (await self._get(params)).read_version()

    async def read_since(self, params: Mapping[str, Any]) -> AsyncIterator[Any]:
        dataset = await self._get(params)
        async for rows in dataset.read_since(params["version"], params["until"]):
            records = _parse_rows(rows)
            genuine = await asyncio.to_thread(keep_genuine, records, params["team"])
            yield {"records": msgspec.to_builtins(genuine), "forged": len(rows) - len(genuine)}

    async def maintain(self, params: Mapping[str, Any]) -> bool:
        dataset, lease = await self._get(params), params["lease"]
        if not await dataset.claim_lease(lease, params["holder"]):
            return False
        await dataset.compact(keep=timedelta(seconds=params["keep_seconds"]))
        await dataset.drop_leases(before=lease)
        return True

    async def _get(self, params: Mapping[str, Any]) -> TeamDataset:
        if params["uri"] not in self._datasets:
            self._datasets[params["uri"]] = await self._open(params, create=False)
        return self._datasets[params["uri"]]

    async def _open(self, params: Mapping[str, Any], *, create: bool) -> TeamDataset:
        options = load_store_options(Path(params["credentials"]), params["uri"])
        return await TeamDataset.open(params["uri"], options, create=create)


def _parse_rows(rows: Sequence[Mapping[str, Any]]) -> list[TeamRecord]:
    """Return the rows that are records; what a later version wrote, or nobody should have, is skipped."""
    records = []
    for row in rows:
        try:
            records.append(msgspec.convert(row, TeamRecord))
        except msgspec.ValidationError:
            continue
    return records


if __name__ == "__main__":
    sys.exit(main())
