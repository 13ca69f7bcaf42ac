"""Hostile strings for every text that the page shows, and where to put them."""

from __future__ import annotations

from typing import Any, Final

from tests.daemon.running import RunningDaemon

OWN: Final = "document.title='owned'"
HOSTILE: Final = (
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
MARKUP: Final = (
    "main img, main script, main iframe, main video, main object, main embed, main style, main link, main meta, "
    "main base, main math, main input[autofocus], main body, main [onerror], main [onload], main [onfocus], "
    "main [ontoggle], main a[href^='javascript']"
)


def store_hostile_texts(daemon: RunningDaemon, project: dict[str, Any]) -> None:
    """Put every string into facts, contradictions, sessions, errors, commands and documents."""
    identifiers = [_store_fact(daemon, project["id"], text, number) for number, text in enumerate(HOSTILE)]
    daemon.post("/contradictions", {"a": identifiers[0], "b": identifiers[1], "note": HOSTILE[2]})
    messages = [
        {"role": role, "content": text, "name": text[:40]} for text in HOSTILE for role in ("user", "assistant")
    ]
    daemon.post("/sessions/hostile/messages", {"project": project["id"], "messages": messages})
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
