"""Table of kinds: complete, and all that a new kind needs, as CONTRIBUTING.md says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hunchd.cli.commands import KINDS as COMMAND_KINDS
from hunchd.domain.kinds import KINDS, select_kinds
from hunchd.domain.memory import Kind

PACKAGE = Path(__file__).parents[2] / "src" / "hunchd"
# The kind that the test makes up: it has everything that only some kinds have.
MEMBER = '    NOTE = "note"\n'
ROW = """    Kind.NOTE: KindDescriptor(
        is_preloaded=True, answers_queries=True, is_dated=True, is_forgettable=True, is_shortened=True,
        merges_duplicates=True, rests_on_code=True, states_claims=True, is_shared=True, shared_folder="notes",
    ),
"""

SCRIPT = """
import asyncio, json, sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation import aging
from hunchd.consolidation.contradictions.candidate_search import is_statement
from hunchd.consolidation.extractive_summary import Vocabulary
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Memory, Trust
from hunchd.domain.sharing import explain_not_shared
from hunchd.features.context.context_service import QUERIED_KINDS
from hunchd.protocol import shared_files
from hunchd.protocol.child import HelperProcess
from hunchd.protocol.memories import memory_from_json, memory_to_json, parse_draft
from hunchd.store.client import StoreClient, build_command, build_environment
from hunchd.store.port import RankedQuery, StoreQuery

NOW = datetime(2026, 3, 1, tzinfo=UTC)
OLD = NOW - timedelta(days=200)
TEXT = "The heron counts its fish every morning. " * 20
note = Memory(id="n1", kind=Kind("note"), title="The heron", content=TEXT, at=OLD, created=OLD, updated=OLD,
              project="p", trust=Trust.PROJECT, source={"type": "test"})

async def main() -> dict:
    line = build_command(Path(sys.argv[1]), idle_after=60, model="minilm-int8", embedding=False, model_idle_after=60)
    child = HelperProcess(line, name="the store process", env=build_environment())
    store, said = StoreClient(child), {}
    try:
        await store.put([note])
        said["stored"] = await store.get(["n1"], "p") == [note]
        only = Filters(project="p", kinds=(Kind("note"),))
        said["found"] = [hit.memory.id for hit in (await store.search(StoreQuery("heron", only, 5))).hits]
        ranked = await store.search_ranked(RankedQuery("heron", only, 5, results=5, now=NOW, embedding_wait=0), ())
        said["result"] = {name: getattr(ranked.results[0], name) for name in ("kind", "at")}
        said["exported"] = memory_from_json(json.loads(json.dumps(memory_to_json(note)))) == note
        said["draft"] = parse_draft({"kind": "note", "content": "x", "project": "p"}).kind
        await store.delete(["n1"], "p")
        await store.purge("p")
        said["files"] = [str(path) for path in Path(sys.argv[1]).rglob("*") if path.is_file() and b"heron" in path.read_bytes()]
    finally:
        await child.stop()
    settings = replace(ConsolidationSettings(), forget_share=1.0)
    said["summarised"] = [one.after[0].source["shown_as"] for one in aging.plan_compression([note], Vocabulary(), settings, NOW)]
    [archived] = [one.after[0] for one in aging.plan_forgetting({"n1": note}, settings, NOW)]
    said["archived"] = str(archived.status)
    said["erasable"] = [one.id for one in aging.iter_erasable([archived], NOW + timedelta(days=40))]
    said["statement"] = is_statement(note)
    said["queried"] = Kind("note") in QUERIED_KINDS
    said["not_shared"] = explain_not_shared(note, project="p", branch=None, now=NOW)
    file = shared_files.build_shared_file(note)
    said["shared"] = [file.path.split("/")[1], shared_files.parse_shared_file(file.path, shared_files.render_shared_file(file).encode()).kind]
    return said

print(json.dumps(asyncio.run(main())))
"""  # noqa: E501


def test_every_kind_has_a_row() -> None:
    assert tuple(KINDS) == tuple(Kind)


def test_commands_know_the_kinds() -> None:
    assert select_kinds(lambda one: not one.is_detected_only) == COMMAND_KINDS


def copy_package(folder: Path) -> None:
    """Copy the package by links, with one more kind in the files that the recipe names."""
    (folder / "hunchd" / "domain").mkdir(parents=True)
    for source in [*PACKAGE.iterdir(), *(PACKAGE / "domain").glob("*.py")]:
        if source.name not in ("domain", "__pycache__"):
            (folder / "hunchd" / source.relative_to(PACKAGE)).symlink_to(source)
    for name, mark, text in (("memory.py", "\n\nclass Scope", MEMBER), ("kinds.py", "}\n\n\ndef describe", ROW)):
        content = (PACKAGE / "domain" / name).read_text("utf-8")
        assert mark in content
        (folder / "hunchd" / "domain" / name).unlink()
        (folder / "hunchd" / "domain" / name).write_text(content.replace(mark, text + mark, 1), "utf-8")


@pytest.mark.process
def test_made_up_kind_goes_everywhere(tmp_path: Path) -> None:
    copy_package(tmp_path)
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "data")]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode == 0, run.stderr[-2_000:]
    answer: dict[str, Any] = json.loads(run.stdout)
    assert answer == {
        "stored": True,
        "found": ["n1"],
        "result": {"kind": "note", "at": "2025-08-13T00:00:00Z"},
        "exported": True,
        "draft": "note",
        "files": [],
        "summarised": ["compressed"],
        "archived": "archived",
        "erasable": ["n1"],
        "statement": True,
        "queried": True,
        "not_shared": "",
        "shared": ["notes", "note"],
    }
