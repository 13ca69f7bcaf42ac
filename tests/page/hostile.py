"""Hostile strings for every text that the page shows, and where to put them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.daemon.running import RunningDaemon
from tests.page.histories import Change, make_history

OWN: Final = "document.title='owned'"
_BY_HAND: Final = (
    f"<script>{OWN}</script>",
    f'<img src=x onerror="{OWN}">',
    f"<svg onload={OWN}>",
    f"<svg><script>{OWN}</script></svg>",
    f'<iframe src="javascript:parent.{OWN}"></iframe>',
    f'<iframe srcdoc="<script>parent.{OWN}</script>"></iframe>',
    f'"><script>{OWN}</script>',
    f"'><img src=x onerror={OWN}>",
    f"</pre><script>{OWN}</script><pre>",
    f"</title><script>{OWN}</script>",
    f"</textarea><script>{OWN}</script>",
    f"<!--><script>{OWN}</script>-->",
    f"<body onload={OWN}>",
    f"<details open ontoggle={OWN}>",
    f"<input autofocus onfocus={OWN}>",
    f"<video><source onerror={OWN}></video>",
    f"<math><mtext><img src=x onerror={OWN}></mtext></math>",
    f'<a href="javascript:{OWN}">click</a>',
    f"[click](javascript:{OWN})",
    f'![x](x"onerror="{OWN})',
    f"`<img src=x onerror={OWN}>`",
    f"**<img src=x onerror={OWN}>**",
    f"# <script>{OWN}</script>",
    f"- <script>{OWN}</script>",
    "<style>*{display:none}</style>",
    '<link rel=stylesheet href="//evil.example/x.css">',
    '<meta http-equiv="refresh" content="0;url=//evil.example">',
    '<base href="//evil.example/">',
    '<form action="//evil.example"><button>Undo</button></form>',
    '<object data="//evil.example"></object>',
    '<embed src="//evil.example">',
    "{{constructor.constructor('return 1')()}}",
    "${alert(1)}",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\u202egnp.exe\u202c",
    '{"__proto__": {"html": "<b>x</b>"}}',
)
_TAGS: Final = (
    "img src=x",
    "svg",
    "body",
    "input autofocus",
    "video src=x",
    "audio src=x",
    "details open",
    "select autofocus",
    "textarea autofocus",
    "marquee",
    "iframe",
    "object data=x",
    "embed src=x",
    "a href=x",
    "math",
    "style",
    "p class=toast",
    "video autoplay src=x",
    "button autofocus",
    "table background=x",
)
_EVENTS: Final = (
    "onerror",
    "onload",
    "onfocus",
    "onclick",
    "onmouseover",
    "onpointerenter",
    "ontoggle",
    "onanimationstart",
)
_ENDS: Final = (
    '"',
    "'",
    ">",
    '">',
    "'>",
    "-->",
    "]]>",
    "</script>",
    "</title>",
    "</style>",
    "</textarea>",
    "</svg>",
    "\\u003e",
    "`",
)
_PAYLOADS: Final = (
    f"<script>{OWN}</script>",
    f"<img src=x onerror={OWN}>",
    f"<svg onload={OWN}>",
    f" onfocus={OWN} autofocus x=",
)
_SCHEMES: Final = (
    "javascript:",
    "JaVaScRiPt:",
    "java\tscript:",
    " javascript:",
    "data:text/html,",
    "vbscript:",
    "blob:",
    "//evil.example/",
)
_PLACES: Final = (
    '<a href="{}">x</a>',
    "[x]({})",
    "![x]({})",
    "<{}>",
    '<form action="{}"><button>Undo</button></form>',
    "[x]: {}",
)
_SIGNS: Final = (
    "\u202e",
    "\u2066",
    "\u200b",
    "\ufeff",
    "\x1b[31m",
    "\x07",
    "\u2028",
    "\ud7ff",
    "\U000e0041",
    "a\u0301" * 30,
)


def _combine() -> Iterator[str]:
    yield from _BY_HAND
    yield from (f"<{tag} {event}={OWN}>" for tag in _TAGS for event in _EVENTS)
    yield from (f"{end}{payload}" for end in _ENDS for payload in _PAYLOADS)
    yield from (place.format(f"{scheme}{OWN}") for scheme in _SCHEMES for place in _PLACES)
    yield from (f"{sign}<b>{number}</b>{sign}" for number, sign in enumerate(_SIGNS))
    yield from (f"{'<div>' * depth}{'#' * depth} deep {depth}" for depth in (10, 40, 100))


HOSTILE: Final = tuple(dict.fromkeys(_combine()))
MARKUP: Final = (
    "main img, main script, main iframe, main video, main object, main embed, main style, main link, main meta, "
    "main base, main math, main input[autofocus], main body, main [onerror], main [onload], main [onfocus], "
    "main [ontoggle], main a[href^='javascript']"
)


def make_hostile_repository(folder: Path) -> Path:
    """Create a repository with the strings as commit messages, author, file names, code, scripts and instructions."""
    changes: list[Change] = []
    for number, text in enumerate(HOSTILE):
        name = "".join(sign for sign in text if sign not in "/\0")[:120].strip(". ") or f"n{number}"
        content = f"# {text}\ndef f{number}(x):\n    return {text!r}\n"
        changes.append((text, {f"code/{name}.py": content, "shop/basket.py": content}))
    scripts = json.dumps({"scripts": {text[:60]: text for text in HOSTILE}})
    rules = "\n".join(f"- Always use {text}" for text in HOSTILE)
    changes.append(("Scripts and rules", {"package.json": scripts, "CONTRIBUTING.md": rules, "AGENTS.md": rules}))
    return make_history(folder, changes, seconds=86_400, author=f"img src=x onerror={OWN}")


def store_hostile_texts(daemon: RunningDaemon, project: dict[str, Any]) -> None:
    """Put every string into facts, contradictions, sessions, errors, commands and documents."""
    identifiers = [_store_fact(daemon, project["id"], text, number) for number, text in enumerate(HOSTILE)]
    daemon.post("/contradictions", {"a": identifiers[0], "b": identifiers[1], "note": HOSTILE[2]})
    messages = [
        {"role": role, "content": text, "name": text[:40]} for text in HOSTILE for role in ("user", "assistant")
    ]
    for start in range(0, len(messages), 100):
        batch = messages[start : start + 100]
        daemon.post("/sessions/hostile/messages", {"project": project["id"], "messages": batch})
    signals: list[dict[str, Any]] = []
    for text in HOSTILE:
        signals.append({"kind": "error", "project": project["path"], "text": f"ValueError: {text}", "command": text})
        signals.append({"kind": "file_opened", "project": project["path"], "path": text.replace("/", "")[:80]})
        signals.append({"kind": "command_finished", "project": project["path"], "command": text, "exit_code": 1})
    for start in range(0, len(signals), 50):
        daemon.request("POST", "/signals", {"signals": signals[start : start + 50]})
    daemon.request("PUT", "/documents/reference/hostile.md", {"content": "\n\n".join(HOSTILE), "tags": ["<b>"]})


def _store_fact(daemon: RunningDaemon, project: str, text: str, number: int) -> str:
    draft = {
        "kind": "fact", "project": project, "title": text, "content": text, "category": "decision",
        "key": f"hostile_{number}", "value": text,
    }  # fmt: skip
    return str(daemon.post("/memories", draft)["ids"][0])
