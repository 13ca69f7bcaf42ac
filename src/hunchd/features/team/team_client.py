"""Client of the team process, which alone speaks to the object store and holds the member's key."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from hunchd.protocol.child import HelperProcess
from hunchd.protocol.team_records import TeamRecord

# A store that answers within two seconds is slow; one that takes longer than this is as good as gone.
CALL_TIMEOUT_SECONDS: Final = 60.0
CARE_TIMEOUT_SECONDS: Final = 1_800.0  # rewriting the files of a million records


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """Where a team's dataset is, and the file that may hold credentials for it."""

    uri: str
    credentials: Path


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Genuine records, and the number of those that nobody had signed for this team."""

    records: tuple[TeamRecord, ...]
    forged: int


class TeamStore(Protocol):
    """Shared dataset as the sync task uses it."""

    async def create_key(self, key_file: Path) -> str: ...

    async def open(self, address: StoreAddress, *, create: bool) -> list[TeamRecord]: ...

    async def append(
        self, address: StoreAddress, team: str, key_file: Path, records: Sequence[TeamRecord], *, may_exist: bool
    ) -> None: ...

    async def read_version(self, address: StoreAddress) -> int: ...

    def read_since(self, address: StoreAddress, team: str, version: int, until: int) -> AsyncIterator[RecordBatch]: ...

    async def maintain(self, address: StoreAddress, lease: str, holder: str, keep_seconds: float) -> bool: ...


class TeamClient:
    """`TeamStore` in the team process."""

    def __init__(self, helper: HelperProcess) -> None:
        self._helper = helper

    async def create_key(self, key_file: Path) -> str:
        """Create the member's key and return the public one."""
        return str(await self._call("create_key", {"key_file": str(key_file)}))

    async def open(self, address: StoreAddress, *, create: bool) -> list[TeamRecord]:
        """Open or create the dataset; return the records that found a team in it."""
        return msgspec.convert(await self._call("open", _encode(address) | {"create": create}), list[TeamRecord])

    async def append(
        self, address: StoreAddress, team: str, key_file: Path, records: Sequence[TeamRecord], *, may_exist: bool
    ) -> None:
        """Sign and append records; remove from the dataset what they erase."""
        params = {"team": team, "key_file": str(key_file), "may_exist": may_exist, "records": _to_builtins(records)}
        await self._call("append", _encode(address) | params)

    async def read_version(self, address: StoreAddress) -> int:
        """Return the newest version of the dataset."""
        return int(await self._call("read_version", _encode(address)))

    async def read_since(
        self, address: StoreAddress, team: str, version: int, until: int
    ) -> AsyncIterator[RecordBatch]:
        """Yield the records that were added after `version`, up to version `until`."""
        params = _encode(address) | {"team": team, "version": version, "until": until}
        async for item in self._helper.stream("read_since", params):
            yield RecordBatch(tuple(msgspec.convert(item["records"], list[TeamRecord])), int(item["forged"]))

    async def maintain(self, address: StoreAddress, lease: str, holder: str, keep_seconds: float) -> bool:
        """Compact the dataset if nobody else holds the lease; return True if it was done."""
        params = {"lease": lease, "holder": holder, "keep_seconds": keep_seconds}
        return bool(await self._helper.call("maintain", _encode(address) | params, timeout=CARE_TIMEOUT_SECONDS))

    async def _call(self, method: str, params: Any) -> Any:
        return await self._helper.call(method, params, timeout=CALL_TIMEOUT_SECONDS)


def _encode(address: StoreAddress) -> dict[str, object]:
    return {"uri": address.uri, "credentials": str(address.credentials)}


def _to_builtins(records: Sequence[TeamRecord]) -> Any:
    return msgspec.to_builtins(list(records))
