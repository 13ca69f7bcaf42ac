"""Requests to change settings and projects, and responses about settings and checks."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from hunchd.protocol.struct_decoding import Name, Request


class SettingAnswer(Struct, frozen=True, kw_only=True):
    section: str
    name: str
    value: Annotated[str, Meta(description="value in effect, as written in TOML")]
    written: Annotated[str, Meta(description="value in the file, which takes effect at the next start")]
    default: str
    origin: Annotated[Literal["default", "file"], Meta(description="file: the file sets a different value")]
    about: str
    allowed: Annotated[str, Meta(description="the allowed values, in words")]


class SettingsAnswer(Struct, frozen=True, kw_only=True):
    file: Annotated[str, Meta(description="file in which settings are changed; the daemon reads it when it starts")]
    problem: Annotated[str, Meta(description="reason why the file cannot be read; empty if it can")]
    items: list[SettingAnswer]


class SettingChange(Request, frozen=True, kw_only=True):
    """Request to write a setting to the configuration file."""

    section: Name
    name: Name
    value: Annotated[Name | None, Meta(description="as written in TOML; null: the default")] = None


class ProjectChange(Request, frozen=True, kw_only=True):
    """Request to pause or resume a project."""

    paused: bool


class CheckAnswer(Struct, frozen=True, kw_only=True):
    name: str
    verdict: Literal["ok", "note", "bad"]
    finding: str
    advice: str
    fixable: Annotated[bool, Meta(description="true: POST /doctor/fix repairs it")]


class DoctorAnswer(Struct, frozen=True, kw_only=True):
    checks: list[CheckAnswer]
