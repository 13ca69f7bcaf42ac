"""Memories as Markdown files that people can review, with YAML front matter.

The files are parsed as untrusted input. The folder determines the category (`.hunch/decisions/…`). The front matter
consists of `name: value` lines for key, value, files, tags, date and author, in this order; the text below the front
matter is the memory in the author's words. The front matter is valid YAML, so that code hosts show it as a table, but
only this subset of YAML is parsed.
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
from hunchd.domain.facts import MIN_CONFIDENCE, MIN_IMPORTANCE, normalize_key
from hunchd.domain.kinds import describe
from hunchd.domain.memory import Kind, Memory
from hunchd.domain.sharing import CATEGORY_FOLDERS, KIND_FOLDERS, SHARED_FOLDER, SUBFOLDERS
from hunchd.protocol.memories import derive_title
from hunchd.text.invisible import remove_invisible

MAX_FILE_BYTES: Final = 64 * 1024  # bytes of a file
MAX_TEXT_CHARACTERS: Final = 15_000  # characters below the front matter: some pages; longer texts are documentation
MAX_KEY_CHARACTERS: Final = 200  # characters
MAX_VALUE_CHARACTERS: Final = 2_000
MAX_LIST_ENTRIES: Final = 50  # files or tags
# However important others rate it, a shared memory does not displace conventions that tools enforce.
MAX_IMPORTANCE: Final = 0.6
_MAX_STEM_CHARACTERS: Final = 60  # characters of a file's name, without the suffix that makes it unique

_PATH: Final = re.compile(
    rf"{re.escape(SHARED_FOLDER)}/(?P<folder>{'|'.join(SUBFOLDERS)})/"
    r"(?P<stem>[a-z0-9][a-z0-9-]{0,79})\.md"
)
_FIELD: Final = re.compile(r"([a-z]+):(?:[ ]+(.*))?")
_ENTRY: Final = re.compile(r"[ ]*-[ ]+(.*)")
_PLAIN_SCALAR: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ./+@_-]*[A-Za-z0-9./+_-])?")
_CONFLICT_MARKER: Final = re.compile(r"^[<>]{7}(?: |$)", re.MULTILINE)
_FRACTION: Final = re.compile(r"0(?:\.\d{1,6})?|1(?:\.0{1,6})?")
_NAME: Final = re.compile(r"[^\W\d_][\w.'’-]*(?: [^\W\d_][\w.'’-]*){0,4}")
_ID: Final = re.compile(r"[A-Za-z0-9]{1,40}")
# Device names reserved by Windows.
_WINDOWS_DEVICE: Final = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFile:
    """Memory in a file that colleagues share through a repository.

    `path` is relative to the repository's root.
    """

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
    id: str = ""  # id of the original memory; only if it has no key


def is_shared_path(path: str) -> bool:
    """Return True if `path` has the form of a shared memory's path.

    `path` is relative to the repository's root.
    """
    return _PATH.fullmatch(path) is not None


def get_stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md")


def build_shared_file(memory: Memory, *, by: str = "") -> SharedFile:
    """Convert a memory to a shared file.

    The origin of the memory is left out: the file mentions no machine, tool or session. `by` is the name of the
    author.
    """
    key, value = strip_invisible_line(memory.key or ""), strip_invisible_line(memory.value or "")
    if not (key and value):
        key = value = ""
    content = strip_invisible(memory.content).strip() or (f"{key}: {value}" if key else "")
    since = memory.valid_from or memory.at
    return SharedFile(
        path=shared_path(memory),
        kind=memory.kind,
        category=memory.category if memory.kind is Kind.FACT else None,
        content=content[:MAX_TEXT_CHARACTERS],
        title=derive_title(content) if key else strip_invisible_line(memory.title)[:MAX_KEY_CHARACTERS],
        key=key[:MAX_KEY_CHARACTERS] or None,
        value=value[:MAX_VALUE_CHARACTERS] or None,
        files=tuple(sorted(one.ref for one in memory.artifacts if one.type == "file" and _is_inside(one.ref))),
        tags=tuple(sorted(filter(None, map(strip_invisible_line, memory.tags)))),
        since=since.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0),
        by=clean_person_name(by),
        confidence=memory.confidence,
        importance=min(memory.importance, MAX_IMPORTANCE),
        id="" if key else memory.id,
    )


def shared_path(memory: Memory) -> str:
    """Return the path of the file that a memory is written to.

    The path is derived from the key, so that memories of two people with the same key share one file.
    """
    folders = {category: folder for folder, category in CATEGORY_FOLDERS.items()}
    folder = describe(memory.kind).shared_folder or folders.get(memory.category, "facts")
    if memory.key and memory.value:
        name = normalize_key(strip_invisible_line(memory.key))
        stem = _slugify(name)
        needs_suffix = stem.replace("-", " ") != name  # otherwise the key follows from the name alone
        hashed_name = name
    else:
        stem, needs_suffix, hashed_name = _slugify(strip_invisible_line(memory.title)), True, memory.id
    if needs_suffix or _WINDOWS_DEVICE.fullmatch(stem):
        stem = f"{stem}-{blake2b(hashed_name.encode('utf-8', 'surrogatepass'), digest_size=3).hexdigest()}"
    return f"{SHARED_FOLDER}/{folder}/{stem}.md"


def render_shared_file(file: SharedFile) -> str:
    """Render the text of the file; equal memories yield equal text."""
    front_matter: list[str] = []
    for name, text in (("key", file.key), ("value", file.value)):
        if text:
            front_matter.append(f"{name}: {_format_scalar(text)}")
    if file.title != derive_title(file.content) and not file.key:
        front_matter.append(f"title: {_format_scalar(file.title)}")
    for name, texts in (("files", file.files), ("tags", file.tags)):
        if texts:
            front_matter += [f"{name}:", *(f"  - {_format_scalar(text)}" for text in texts)]
    if file.since is not None:
        front_matter.append(f"since: {file.since:%Y-%m-%d}")
    if file.by:
        front_matter.append(f"by: {_format_scalar(file.by)}")
    if file.confidence < 1:
        front_matter.append(f"confidence: {file.confidence:g}")
    if file.importance != 0.5:
        front_matter.append(f"importance: {file.importance:g}")
    if file.id:
        front_matter.append(f"id: {file.id}")
    body = "" if file.key and file.content == f"{file.key}: {file.value}" else file.content
    return "\n".join(("---", *front_matter, "---", *(("", body) if body else ()), ""))


def parse_shared_file(path: str, content: bytes) -> SharedFile:
    """Parse the content of a file into a shared memory.

    Raises InvalidInput with a message that is meant for the file's author.
    """
    match = _PATH.fullmatch(path)
    if match is None:
        raise InvalidInput(f"the file is not a .md file in one of the folders {', '.join(SUBFOLDERS)}")
    front_matter, body = _split_front_matter(_decode(content))
    values, lists = _parse_front_matter(front_matter)
    key, value = values.get("key", ""), values.get("value", "")
    if bool(key) != bool(value):
        raise InvalidInput(f"the file has a {'key' if key else 'value'}, but no {'value' if key else 'key'}")
    if len(key) > MAX_KEY_CHARACTERS or len(value) > MAX_VALUE_CHARACTERS:
        raise InvalidInput(
            f"a key may have at most {MAX_KEY_CHARACTERS} characters and a value {MAX_VALUE_CHARACTERS:,}"
        )
    statement = body or (f"{key}: {value}" if key else "")
    if not statement:
        raise InvalidInput("the file is empty: it has neither text nor a key with a value")
    return SharedFile(
        path=path,
        kind=KIND_FOLDERS.get(match["folder"], Kind.FACT),
        category=CATEGORY_FOLDERS.get(match["folder"]),
        content=statement,
        title=values.get("title", "")[:MAX_KEY_CHARACTERS] or derive_title(statement),
        key=key or None,
        value=value or None,
        files=tuple(name for name in lists.get("files", ()) if _is_inside(name)),
        tags=tuple(lists.get("tags", ())),
        since=_parse_day(values.get("since", "")),
        by=clean_person_name(values.get("by", "")),
        confidence=_parse_fraction(values, "confidence", 1.0, MIN_CONFIDENCE, 1.0),
        importance=_parse_fraction(values, "importance", 0.5, MIN_IMPORTANCE, MAX_IMPORTANCE),
        id=values["id"] if _ID.fullmatch(values.get("id", "")) else "",
    )


def strip_invisible(text: str) -> str:
    """Remove escape, control, zero-width and directional characters, which hide or reorder text; normalise the rest."""
    return unicodedata.normalize("NFC", remove_invisible(text).replace("\t", "    "))


def strip_invisible_line(text: str) -> str:
    return " ".join(strip_invisible(text).split())


def clean_person_name(text: str) -> str:
    """Return `text` if it looks like a person's name, otherwise "".

    The name is shown next to the memory.
    """
    name = strip_invisible_line(text)
    return name if len(name) <= 60 and _NAME.fullmatch(name) else ""


def _decode(content: bytes) -> str:
    if len(content) > MAX_FILE_BYTES:
        raise InvalidInput(f"the file is larger than {MAX_FILE_BYTES // 1024} kB")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput("the file is not UTF-8") from None
    if "\0" in text:
        raise InvalidInput("the file contains a zero byte, so it is not a text file")
    if _CONFLICT_MARKER.search(text):
        raise InvalidInput("the file contains conflict markers from an unfinished merge")
    return strip_invisible(text)


def _split_front_matter(text: str) -> tuple[list[str], str]:
    """Split a text into the lines of its front matter and its body."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return [], _check_length(text)
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == "---":
            return lines[1:number], _check_length("\n".join(lines[number + 1 :]))
    raise InvalidInput("the front matter has no closing line ---")


def _check_length(text: str) -> str:
    text = text.strip()
    if len(text) > MAX_TEXT_CHARACTERS:
        raise InvalidInput(f"the text of the file is longer than {MAX_TEXT_CHARACTERS:,} characters")
    return text


def _parse_front_matter(lines: list[str]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return the single values and the lists, each keyed by field name.

    Unknown fields are accepted, because later versions may add some.
    """
    values: dict[str, str] = {}
    lists: dict[str, list[str]] = {}
    name = ""
    for line in _significant_lines(lines):
        if (field := _FIELD.fullmatch(line)) is not None:
            name = field[1]
            if name in values or name in lists:
                raise InvalidInput(f"the field '{name}' is set twice")
            text = _unquote(field[2] or "")
            if text:
                values[name] = text
            else:
                lists[name] = []
        elif (entry := _ENTRY.fullmatch(line)) is not None and name in lists:
            if len(lists[name]) >= MAX_LIST_ENTRIES:
                raise InvalidInput(f"the list '{name}' has more than {MAX_LIST_ENTRIES} entries")
            lists[name].append(_unquote(entry[1])[:MAX_KEY_CHARACTERS])
        else:
            raise InvalidInput(f"this line is neither 'name: value' nor a list entry: {line[:60]!a}")
    return values, lists


def _significant_lines(lines: list[str]) -> Iterator[str]:
    return (line.rstrip() for line in lines if line.strip() and not line.lstrip().startswith("#"))


def _format_scalar(text: str) -> str:
    return text if _PLAIN_SCALAR.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _unquote(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == "'":
        return strip_invisible_line(text[1:-1].replace("''", "'"))
    if not text.startswith('"'):
        return strip_invisible_line(text)
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, str):
        raise InvalidInput(f"invalid quoted text: {text[:60]!a}")
    return strip_invisible_line(value)


def _slugify(text: str) -> str:
    ascii_text = unicodedata.normalize("NFKD", text.casefold()).encode("ascii", "ignore").decode()
    words = re.findall(r"[a-z0-9]+", ascii_text)
    slug = "-".join(words)
    return (
        slug
        if len(slug) <= _MAX_STEM_CHARACTERS
        else slug[:_MAX_STEM_CHARACTERS].rpartition("-")[0] or slug[:_MAX_STEM_CHARACTERS]
    ) or "note"


def _is_inside(path: str) -> bool:
    """Return True if the path stays inside the repository."""
    parts = path.split("/")
    return len(path) <= 500 and "\\" not in path and ":" not in path and not {"", ".", ".."} & set(parts)


def _parse_day(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None


def _parse_fraction(values: dict[str, str], name: str, default: float, minimum: float, maximum: float) -> float:
    if name not in values:
        return default
    if not _FRACTION.fullmatch(values[name]):
        raise InvalidInput(f"'{name}' must be a number from 0 to 1; got {values[name][:40]!a}")
    return min(max(float(values[name]), minimum), maximum)
