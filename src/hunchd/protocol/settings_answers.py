"""Answer to GET /settings."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct


class SettingAnswer(Struct, frozen=True, kw_only=True):
    section: str
    name: str
    value: Annotated[str, Meta(description="as written in TOML")]
    default: str
    origin: Annotated[Literal["default", "file"], Meta(description="file: the file gives another value")]
    about: str


class SettingsAnswer(Struct, frozen=True, kw_only=True):
    file: Annotated[str, Meta(description="where settings are changed; the daemon reads it when it starts")]
    items: list[SettingAnswer]
