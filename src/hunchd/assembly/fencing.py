"""Fencing of untrusted text that is shown next to hunch's own words.

All text from repositories, commands, commit messages and the web passes through this module. There are three
guarantees: nothing invisible or directional survives; nothing can begin a line, a heading, a fence, a tag or one of
hunch's own marks; and untrusted text is enclosed in marks that it cannot contain.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

from hunchd.text.invisible import remove_invisible

# Quotation marks. They are removed from every quoted text, so no text can close its own quotation.
OPEN, CLOSE = "«", "»"
ELLIPSIS = "…"
# Long enough for a trace or a commit message; longer text is cut.
MAX_BLOCK_LINES = 60  # lines
MAX_LINE = 400  # characters

# Type parameters and wildcards of a signature: `<T>`, `<K, V>`, `<T extends Shape>`, `<reified T>`, `<?, ? super T>`.
_TYPE_PARAMETER = (
    r"(?-i:\?\s*[,>]|\?\s+(?:super|extends)\b"
    r"|(?:(?:reified|in|out|const|typename|class)\s+)?(?:[A-Z]\d?|T[A-Z][a-z]\w{0,20})(?:\s*[,>:=]|\s+(?:extends|super)\b))"
)
# A tag or a model's control token. Generic types (`Vec<T>`, `List<String>`) follow a word and stay.
_TAG = re.compile(
    rf"(?<![\w>)\]])<(?!{_TYPE_PARAMETER})(?=[A-Za-z/!?|])"
    rf"|<(?!{_TYPE_PARAMETER})(?=[/!?|])"
    r"|<(?=(?:system|assistant|user|human|developer|instructions?|prompt|context|tools?|function|important|untrusted"
    r"|script|style|iframe|img|svg|a\s)\b)",
    re.IGNORECASE,
)
_CONTROL_TOKEN = re.compile(r"\|>|\[/?INST\]|<</?SYS>>|\[(?=(?:data|end) [0-9a-f]{4,})", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"‹(\w{1,16})>")  # `<path>` in the template of a command
_FENCE = re.compile(r"`{3,}|~{3,}")
# Start of a Markdown block at the beginning of a line.
_BLOCK_START = re.compile(
    r"^([^\S\n]*)(#{1,6}(?=\s|$)|>|[-*_=](?:[^\S\n]*[-*_=]){2,}[^\S\n]*$|\[[^\]\n]{1,500}\]:)", re.MULTILINE
)
_LEADING_MARKS = re.compile(r"^(?:[\s#>*+=|~-]+(?=\s)|[\s#>|]+)")
_SPACES = re.compile(r"\s+")
_JOINTS = re.compile(r"[-_/.+]+")
_FEWEST_WORDS = 3  # between blanks in a name that may be a sentence
_OWN_MARKS = str.maketrans({OPEN: "‹", CLOSE: "›"})


# A text is the same in most bundles of a day, so results are cached.
@lru_cache(maxsize=2048)
def neutralize(text: str, *, keep_quotations: bool = False) -> str:
    """Make headings, fences, tags and hunch's own marks in a text harmless.

    Applying this twice changes nothing further. With `keep_quotations`, hunch's quotation marks are kept.
    """
    safe_text = remove_invisible(text)
    safe_text = _CONTROL_TOKEN.sub(lambda mark: {"|>": "|›", "[": "("}.get(mark.group(), "[…]"), safe_text)
    safe_text = _PLACEHOLDER.sub(r"‹\1›", _TAG.sub("‹", safe_text))
    safe_text = _FENCE.sub(lambda mark: "'" * 3, safe_text)
    safe_text = _BLOCK_START.sub(r"\1\\\2", safe_text)
    return safe_text if keep_quotations else safe_text.translate(_OWN_MARKS)


@lru_cache(maxsize=4096)
def to_single_line(text: str, limit: int = 200, *, keep_quotations: bool = False) -> str:
    """Return the text, made harmless, as one line of at most `limit` characters.

    The text is cut between words if possible. Markdown marks at its beginning are removed.
    """
    flat = _SPACES.sub(" ", neutralize(text[: limit * 4], keep_quotations=keep_quotations)).strip()
    flat = _LEADING_MARKS.sub("", flat).lstrip("\\").strip()
    if len(flat) <= limit:
        return flat
    shortened_text = flat[: limit - 1]
    at_word = shortened_text.rsplit(" ", 1)[0] if " " in shortened_text[limit // 2 :] else shortened_text
    return at_word.rstrip() + ELLIPSIS


def quote(text: str, limit: int = 200) -> str:
    """Quote untrusted text on one line, between marks it cannot contain."""
    return f"{OPEN}{to_single_line(text, limit)}{CLOSE}"


def show_name(name: str, limit: int = 200) -> str:
    """Quote a path, branch or topic that reads like a sentence."""
    return quote(name, limit) if is_sentence(name) else to_single_line(name, limit)


def is_sentence(name: str) -> bool:
    """Return True if a path, branch or topic reads like a sentence."""
    return len(name.split()) >= _FEWEST_WORDS or addresses_a_model(_JOINTS.sub(" ", name))


def fence(text: str, *, provenance: str, nonce: str) -> str:
    """Fence a block of untrusted text.

    The first and last line of the block contain `nonce`, and every line between them has a prefix. Even an author
    who knew the nonce could not close the block, because no line of the text can begin at the margin.
    """
    lines = neutralize(text).strip("\n").split("\n")
    shown_lines = [f"| {line.rstrip()[:MAX_LINE]}".rstrip() for line in lines[:MAX_BLOCK_LINES]]
    if len(lines) > MAX_BLOCK_LINES:
        shown_lines.append(f"| {ELLIPSIS} {len(lines) - MAX_BLOCK_LINES} more lines")
    head = f"[data {nonce}: {to_single_line(provenance, 80) or 'unknown'}]"
    return "\n".join((head, *shown_lines, f"[end {nonce}]"))


def make_nonce(secret: bytes, *parts: str) -> str:
    """Derive eight hexadecimal digits from `parts` with the key `secret`.

    The same parts always yield the same digits.
    """
    message = "\x00".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2s(message, key=secret[:32], digest_size=4).hexdigest()


# Phrases that address a model rather than a reader, in the languages that are most often used for it. This decides
# only about an additional mark: what is untrusted is delimited whether or not it is recognised here.
_INSTRUCTION = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:previous|prior|above|earlier|all|any|your|the|system)\b"
    r"|\byou (?:are now|must now|will now|have been)\b|\bnew instructions?\b|\bsystem prompt\b|\bdeveloper mode\b"
    r"|\b(?:as an?|dear|hey|attention) (?:ai|llm|assistant|agent|model)s?\b|\bdo not (?:tell|inform|mention|reveal)\b"
    r"|(?<!\w-)\b(?:system|assistant|developer)\s*:\s|\bjailbreak|\bact as (?:an?|the)\b|\bexfiltrat"
    r"|\b(?:ignora|olvida|omite)\b.{0,40}\b(?:instrucci|anterior|reglas)|\bignorez?\b.{0,40}\b(?:instructions?|consignes)"
    r"|\b(?:ignoriere|vergiss|missachte)\b.{0,40}\b(?:anweisung|vorherig|regeln)|\bignore as instruç"
    r"|忽略.{0,12}(?:指令|指示|提示|以上|之前)|无视.{0,12}(?:指令|指示)|(?:以前|これまで|上記).{0,12}(?:指示|命令).{0,8}無視"
    r"|игнорируй.{0,30}(?:инструкци|указани)|забудь.{0,30}(?:инструкци|указани)|تجاهل.{0,30}(?:التعليمات|السابقة)",
    re.IGNORECASE | re.DOTALL,
)


# One of these is in every text that the pattern finds; looking for them is a hundred times faster.
_STEMS = (
    *("ignor", "disregard", "forget", "override", "bypass", "you ", "instruct", "system", "developer", "assistant"),
    *("prompt", " ai", " llm", "agent", "model", "do not", "jailbreak", "act as", "exfiltrat", "olvida", "omite"),
    *("vergiss", "missachte", "忽略", "无视", "無視", "игнор", "забудь", "تجاهل"),
)


@lru_cache(maxsize=2048)
def addresses_a_model(text: str) -> bool:
    """Return True if `text` reads like an instruction to a language model."""
    visible_text = remove_invisible(text[:4000])
    lower = visible_text.lower()
    return any(stem in lower for stem in _STEMS) and _INSTRUCTION.search(visible_text) is not None
