"""Client of the team process.

Only that process has access to the object store and the member's key.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Final, Literal, TypeVar

from hunchd.protocol.child import HelperProcess
from hunchd.protocol.team_records import TeamRecord

AnswerT = TypeVar("AnswerT")
Care = Literal["compacted", "leased", "not allowed"]  # leased: by another machine; not allowed: to delete old versions

# A store that takes two seconds to answer is slow; one that takes longer than this counts as unreachable.
CALL_TIMEOUT_SECONDS: Final = 60.0
CARE_TIMEOUT_SECONDS: Final = 1_800.0  # enough to rewrite the files of a million records


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """Address of a team's dataset, with its credentials file."""

    uri: str
    credentials: Path


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Records with a valid signature, and how many had none."""

    records: tuple[TeamRecord, ...]
    forged: int


class TeamClient:
    """Client of the shared dataset, for the synchronisation."""

    def __init__(self, helper: HelperProcess) -> None:
        self._helper = helper

    async def create_key(self, key_file: Path) -> str:
        """Create the member's private key unless it exists; return the public key."""
        return await self._call("create_key", {"key_file": str(key_file)}, str)

    async def open(self, address: StoreAddress, *, create: bool) -> list[TeamRecord]:
        """Open or create the dataset; return its founding records."""
        return await self._call("open", {**_encode(address), "create": create}, list[TeamRecord])

    async def append(
        self, address: StoreAddress, team: str, key_file: Path, records: Sequence[TeamRecord], *, may_exist: bool
    ) -> None:
        """Sign and append records.

        Records that the new ones erase are deleted from the dataset. `may_exist` is True if some of the new records
        may already have been appended.
        """
        params = {"team": team, "key_file": str(key_file), "may_exist": may_exist, "records": records}
        await self._call("append", {**_encode(address), **params}, NoneType)

    async def read_version(self, address: StoreAddress) -> int:
        """Return the newest version of the dataset."""
        return await self._call("read_version", _encode(address), int)

    async def read_since(
        self, address: StoreAddress, team: str, version: int, until: int
    ) -> AsyncIterator[RecordBatch]:
        """Yield the records that were added after `version`, up to version `until`."""
        params = {**_encode(address), "team": team, "version": version, "until": until}
        async for batch in self._helper.stream("read_since", params, RecordBatch):
            yield batch

    async def maintain(self, address: StoreAddress, lease: str, holder: str, keep_seconds: float) -> Care:
        """Compact the dataset unless another machine holds the lease."""
        params = {**_encode(address), "lease": lease, "holder": holder, "keep_seconds": keep_seconds}
        care: Care = await self._helper.call("maintain", params, Care, timeout=CARE_TIMEOUT_SECONDS)  # type: ignore[arg-type]
        return care

    async def _call(self, method: str, params: Mapping[str, Any], answer: type[AnswerT]) -> AnswerT:
        return await self._helper.call(method, params, answer, timeout=CALL_TIMEOUT_SECONDS)


def _encode(address: StoreAddress) -> dict[str, str]:
    return {"uri": address.uri, "credentials": str(address.credentials)}
