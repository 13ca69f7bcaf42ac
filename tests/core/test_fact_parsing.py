"""Tests of fact parsing: redaction first, consistent text, key and value."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hunchd.core.memory.drafts import draft_to_memory, redact_memory
from hunchd.core.memory.fact_parsing import complete_patch, parse_draft
from hunchd.domain.memory import Kind, Memory, Trust
from hunchd.protocol.memories import MemoryDraft, derive_title

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECRET = "x9Kq2vLmT7" + "pRz4WbN8yHc3"


def draft(content: str, **fields: object) -> MemoryDraft:
    return MemoryDraft(kind=Kind.FACT, title=content, content=content, **fields)  # type: ignore[arg-type]


def fact(**fields: object) -> Memory:
    told = {"key": "package manager", "value": "npm", "content": "we use npm", "title": "we use npm"} | fields
    return Memory(id="m1", kind=Kind.FACT, at=NOW, created=NOW, updated=NOW, **told)  # type: ignore[arg-type]


def test_parse_draft_secret_is_never_value() -> None:
    for one in (
        parse_draft(draft(f"api_key: {SECRET}")),
        parse_draft(draft(f"login: the password is {SECRET}", key="login")),
    ):
        assert SECRET not in f"{one.key} {one.value} {one.levels}"
    patched = complete_patch(fact(), {"content": f"package manager: token={SECRET}"})
    assert SECRET not in f"{patched['value']} {patched['title']} {patched['levels']}"


def test_redact_memory_removes_keyed_secret_from_text() -> None:
    long = "word " * 15 + SECRET
    for content in (SECRET, f"staging has {SECRET}", "see below", long):
        kept = draft_to_memory(parse_draft(draft(content, key="api_key", value=SECRET)), "p1", NOW)
        edited = redact_memory(replace(fact(key="api_key"), value=SECRET, content=content, title=derive_title(content)))

        assert kept.value == edited.value == "[redacted:secret]"
        assert SECRET[:6] not in f"{kept} {edited}"


def test_parse_draft_keeps_original_wording() -> None:
    one = parse_draft(draft("we use pnpm, not npm"))

    assert (one.key, one.value, one.content) == ("package manager", "pnpm", "we use pnpm, not npm")
    assert one.source["instead_of"] == "npm"
    assert one.levels.summary == "package manager: pnpm, not npm"


def test_parse_draft_untrusted_statement_is_unchanged() -> None:
    assert parse_draft(draft("we use pnpm, not npm", trust=Trust.UNTRUSTED)).key is None


def test_parse_draft_key_without_value_extracts_it() -> None:
    assert parse_draft(draft("we use pnpm, not npm", key="package manager")).value == "pnpm"
    assert parse_draft(draft("owner: Ada", key="owner")).value == "Ada"
    assert parse_draft(draft("rule number 7", key="rule 7")).value == "rule number 7"


def test_patch_keeps_text_key_value_consistent() -> None:
    by_value = complete_patch(fact(), {"value": "yarn"})
    by_text = complete_patch(fact(), {"content": "we use yarn"})

    assert (by_value["content"], by_value["title"]) == ("package manager: yarn", "package manager: yarn")
    assert (by_text["value"], by_text["content"]) == ("yarn", "we use yarn")
    assert complete_patch(fact(), {"tags": ("a",)}) == {"tags": ("a",)}
