"""Memories as Markdown files that people review, with a few `name: value` lines in front.

Parsed as untrusted input. The folder gives the category (`.hunch/decisions/…`), the front matter holds key, value,
files, tags, since when and by whom, in this order; the text below is the memory in its own words. All of it is
valid YAML front matter, so that code hosts show it as a table; only this subset of YAML is parsed.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Final

from hunchd.domain.errors import InvalidInput
from hunchd.domain.facts import LEAST_CONFIDENCE, LEAST_IMPORTANCE, normal_key
from hunchd.domain.memory import Kind, Memory
from hunchd.domain.sharing import FOLDER, FOLDERS, WORKFLOWS
from hunchd.protocol.memories import title_of

LARGEST: Final = 64 * 1024  # bytes of a file
TEXT_LIMIT: Final = 15_000  # characters below the front matter: some pages; longer texts are documentation
KEY_LIMIT: Final = 200  # characters
VALUE_LIMIT: Final = 2_000
LIST_LIMIT: Final = 50  # files or tags
# However important others rate it, a shared memory does not displace conventions that tools enforce.
MOST_IMPORTANCE: Final = 0.6
_STEM: Final = 60  # characters of a file's name without what makes it unique

_PATH: Final = re.compile(
    rf"{re.escape(FOLDER)}/(?P<folder>{'|'.join((*FOLDERS, WORKFLOWS))})/(?P<stem>[a-z0-9][a-z0-9-]{{0,79}})\.md"
)
_FIELD: Final = re.compile(r"([a-z]+):(?:[ ]+(.*))?")
_ENTRY: Final = re.compile(r"[ ]*-[ ]+(.*)")
_PLAIN: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ./+@_-]*[A-Za-z0-9./+_-])?")
_MERGING: Final = re.compile(r"^[<>]{7}(?: |$)", re.MULTILINE)
_SHARE: Final = re.compile(r"0(?:\.\d{1,6})?|1(?:\.0{1,6})?")
_NAME: Final = re.compile(r"[^\W\d_][\w.'’-]*(?: [^\W\d_][\w.'’-]*){0,4}")
_ID: Final = re.compile(r"[A-Za-z0-9]{1,40}")
_LINE_END: Final = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Device names reserved by Windows.
_DEVICES: Final = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFile:
    """Shared memory in a file. `path` is relative to the repository's root."""

    path: str
    kind: Kind
    category: str | None
    content: str
    title: str
    key: str | None = None
    value: str | None = None
    files: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since: datetime | None = None
    by: str = ""
    confidence: float = 1.0
    importance: float = 0.5
    id: str = ""  # of the original memory; only if it has no key


def is_shared_path(path: str) -> bool:
    """Return True if a file at `path` is a shared memory.

    `path` is relative to the root.
    """
    return _PATH.fullmatch(path) is not None


def stem_of(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md")


def shared_file(memory: Memory, *, by: str = "") -> SharedFile:
    """Convert a memory to a shared file, without its origin.

    The file names no place, tool or session.
    """
    key, value = visible_line(memory.key or ""), visible_line(memory.value or "")
    if not (key and value):
        key = value = ""
    content = visible(memory.content).strip() or (f"{key}: {value}" if key else "")
    since = memory.valid_from or memory.at
    return SharedFile(
        path=path_of(memory),
        kind=memory.kind,
        category=memory.category if memory.kind is Kind.FACT else None,
        content=content[:TEXT_LIMIT],
        title=title_of(content) if key else visible_line(memory.title)[:KEY_LIMIT],
        key=key[:KEY_LIMIT] or None,
        value=value[:VALUE_LIMIT] or None,
        files=tuple(sorted(one.ref for one in memory.artifacts if one.type == "file" and _is_inside(one.ref))),
        tags=tuple(sorted(filter(None, map(visible_line, memory.tags)))),
        since=since.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0),
        by=name_of(by),
        confidence=memory.confidence,
        importance=min(memory.importance, MOST_IMPORTANCE),
        id="" if key else memory.id,
    )


def path_of(memory: Memory) -> str:
    """Return the path of a memory's file.

    It follows from the key, so that two people with the same key share a file.
    """
    folders = {category: folder for folder, category in FOLDERS.items()}
    folder = WORKFLOWS if memory.kind is Kind.WORKFLOW else folders.get(memory.category, "facts")
    if memory.key and memory.value:
        name = normal_key(visible_line(memory.key))
        stem = _slug(name)
        unique = stem.replace("-", " ") != name  # otherwise the key follows from the name alone
        mark = name
    else:
        stem, unique, mark = _slug(visible_line(memory.title)), True, memory.id
    if unique or _DEVICES.fullmatch(stem):
        stem = f"{stem}-{blake2b(mark.encode('utf-8', 'surrogatepass'), digest_size=3).hexdigest()}"
    return f"{FOLDER}/{folder}/{stem}.md"


def text_of(file: SharedFile) -> str:
    """Render the file's text; the same memory gives the same text."""
    front: list[str] = []
    for name, text in (("key", file.key), ("value", file.value)):
        if text:
            front.append(f"{name}: {_scalar(text)}")
    if file.title != title_of(file.content) and not file.key:
        front.append(f"title: {_scalar(file.title)}")
    for name, texts in (("files", file.files), ("tags", file.tags)):
        if texts:
            front += [f"{name}:", *(f"  - {_scalar(text)}" for text in texts)]
    if file.since is not None:
        front.append(f"since: {file.since:%Y-%m-%d}")
    if file.by:
        front.append(f"by: {_scalar(file.by)}")
    if file.confidence < 1:
        front.append(f"confidence: {file.confidence:g}")
    if file.importance != 0.5:
        front.append(f"importance: {file.importance:g}")
    if file.id:
        front.append(f"id: {file.id}")
    said = "" if file.key and file.content == f"{file.key}: {file.value}" else file.content
    return "\n".join(("---", *front, "---", *(("", said) if said else ()), ""))


def parsed(path: str, content: bytes) -> SharedFile:
    """Parse a file into a shared memory.

    Raises InvalidInput, in words for the file's author.
    """
    place = _PATH.fullmatch(path)
    if place is None:
        raise InvalidInput(f"it is not a .md file in one of the folders {', '.join((*FOLDERS, WORKFLOWS))}")
    front, body = _parts(_decoded(content))
    told, lists = _fields(front)
    key, value = told.get("key", ""), told.get("value", "")
    if bool(key) != bool(value):
        raise InvalidInput(f"it has a {'key' if key else 'value'}, but no {'value' if key else 'key'}")
    if len(key) > KEY_LIMIT or len(value) > VALUE_LIMIT:
        raise InvalidInput(f"a key may have {KEY_LIMIT} characters, a value {VALUE_LIMIT:,}")
    said = body or (f"{key}: {value}" if key else "")
    if not said:
        raise InvalidInput("it is empty: it has no text, and no key with a value")
    return SharedFile(
        path=path,
        kind=Kind.WORKFLOW if place["folder"] == WORKFLOWS else Kind.FACT,
        category=FOLDERS.get(place["folder"]),
        content=said,
        title=told.get("title", "")[:KEY_LIMIT] or title_of(said),
        key=key or None,
        value=value or None,
        files=tuple(name for name in lists.get("files", ()) if _is_inside(name)),
        tags=tuple(lists.get("tags", ())),
        since=_day(told.get("since", "")),
        by=name_of(told.get("by", "")),
        confidence=_share(told, "confidence", 1.0, LEAST_CONFIDENCE, 1.0),
        importance=_share(told, "importance", 0.5, LEAST_IMPORTANCE, MOST_IMPORTANCE),
        id=told["id"] if _ID.fullmatch(told.get("id", "")) else "",
    )


def visible(text: str) -> str:
    """Remove characters that hide or reorder text: escapes, controls, zero-width and directional ones."""
    plain = _LINE_END.sub("\n", text).replace("\t", "    ")
    if plain.isascii() and plain.replace("\n", "").isprintable():
        return plain
    return unicodedata.normalize("NFC", "".join(each for each in plain if each == "\n" or _shows(each)))


def visible_line(text: str) -> str:
    return " ".join(visible(text).split())


def name_of(text: str) -> str:
    """Return a person's name if it looks like one, else "".

    It is shown beside the memory.
    """
    name = visible_line(text)
    return name if len(name) <= 60 and _NAME.fullmatch(name) else ""


def _shows(character: str) -> bool:
    return character.isprintable() and not 0xFE00 <= ord(character) <= 0xFE0F and ord(character) < 0xE0000


def _decoded(content: bytes) -> str:
    if len(content) > LARGEST:
        raise InvalidInput(f"it is larger than {LARGEST // 1024} kB")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput("it is not UTF-8") from None
    if "\0" in text:
        raise InvalidInput("it contains a zero byte, so it is not text")
    if _MERGING.search(text):
        raise InvalidInput("it contains conflict markers of an unfinished merge")
    return visible(text)


def _parts(text: str) -> tuple[list[str], str]:
    """Split a text into the lines of its front matter and the body."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return [], _bounded(text)
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == "---":
            return lines[1:number], _bounded("\n".join(lines[number + 1 :]))
    raise InvalidInput("the front matter is not closed by ---")


def _bounded(text: str) -> str:
    text = text.strip()
    if len(text) > TEXT_LIMIT:
        raise InvalidInput(f"its text is longer than {TEXT_LIMIT:,} characters")
    return text


def _fields(front: list[str]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return single values and lists by name.

    Unknown names are left to later versions.
    """
    told: dict[str, str] = {}
    lists: dict[str, list[str]] = {}
    name = ""
    for line in _said(front):
        if (field := _FIELD.fullmatch(line)) is not None:
            name = field[1]
            if name in told or name in lists:
                raise InvalidInput(f"it sets '{name}' twice")
            text = _unquoted(field[2] or "")
            if text:
                told[name] = text
            else:
                lists[name] = []
        elif (entry := _ENTRY.fullmatch(line)) is not None and name in lists:
            if len(lists[name]) >= LIST_LIMIT:
                raise InvalidInput(f"'{name}' has more than {LIST_LIMIT} entries")
            lists[name].append(_unquoted(entry[1])[:KEY_LIMIT])
        else:
            raise InvalidInput(f"this line is neither 'name: value' nor a list entry: {line[:60]!a}")
    return told, lists


def _said(front: list[str]) -> Iterator[str]:
    return (line.rstrip() for line in front if line.strip() and not line.lstrip().startswith("#"))


def _scalar(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == "'":
        return visible_line(text[1:-1].replace("''", "'"))
    if not text.startswith('"'):
        return visible_line(text)
    try:
        told = json.loads(text)
    except ValueError:
        told = None
    if not isinstance(told, str):
        raise InvalidInput(f"invalid quoted text: {text[:60]!a}")
    return visible_line(told)


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text.casefold()).encode("ascii", "ignore").decode()
    words = re.findall(r"[a-z0-9]+", plain)
    slug = "-".join(words)
    return (slug if len(slug) <= _STEM else slug[:_STEM].rpartition("-")[0] or slug[:_STEM]) or "note"


def _is_inside(path: str) -> bool:
    """Return True if a path stays below the root."""
    parts = path.split("/")
    return len(path) <= 500 and "\\" not in path and ":" not in path and not {"", ".", ".."} & set(parts)


def _day(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None


def _share(told: dict[str, str], name: str, default: float, least: float, most: float) -> float:
    if name not in told:
        return default
    if not _SHARE.fullmatch(told[name]):
        raise InvalidInput(f"'{name}' must be a number from 0 to 1; got {told[name][:40]!a}")
    return min(max(float(told[name]), least), most)
