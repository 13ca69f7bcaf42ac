from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from opened_doors import Daemon, daemon_at


@pytest.fixture
async def daemon(hunchd_home: Path) -> AsyncIterator[Daemon]:
    async with daemon_at(hunchd_home) as daemon:
        yield daemon
