"""Compiled prompts: order, budget, pruning and cache marks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunchd.assembly.history import ENTRY_TOKENS, HistoryEntry, HistoryView
from hunchd.assembly.prompt import CompiledPrompt, PromptInputs, compile_prompt
from hunchd.assembly.token_counter import count_tokens
from hunchd.domain.errors import InvalidInput

TOOLS = [
    {"name": "write", "input_schema": {"type": "object", "properties": {"b": {}, "a": {}}}},
    {"name": "bash", "description": "runs"},
]


def entry(turn: int, text: str) -> HistoryEntry:
    return HistoryEntry("user" if turn % 2 else "assistant", text, count_tokens(text) + ENTRY_TOKENS, f"m{turn}", turn)


def history(turns: int, words: int = 40) -> Any:
    """Build views whose condensed part stands for whatever does not fit."""
    entries = [entry(turn, f"turn{turn} " + "word " * words) for turn in range(1, turns + 1)]

    def view(budget: int) -> HistoryView:
        kept, room = list[HistoryEntry](), budget
        for one in reversed(entries[1:]):
            room -= one.tokens
            if room < 0:
                break
            kept.insert(0, one)
        shown = (*entries[:1], *kept)
        return HistoryView(shown, 1, sum(one.tokens for one in shown), 0, 0)

    return view


def prompt(**given: Any) -> CompiledPrompt:
    basic: dict[str, Any] = {"history": history(6), "message": "What now?", "budget": 32_000}
    return compile_prompt(PromptInputs(**basic | given))


def texts(made: CompiledPrompt) -> list[str]:
    return [block["text"] for message in made.messages for block in message["content"]]


def marks(made: CompiledPrompt) -> list[int]:
    blocks = [block for message in made.messages for block in message["content"]]
    return [index for index, block in enumerate(blocks) if "cache_control" in block]


FULL: Mapping[str, Any] = {
    "system": "Always answer in rhyme.",
    "tools": TOOLS,
    "profile": ["- identity: name: Ada"],
    "background": ["- decision: storage: sqlite"],
    "retrieved": ["- cookies are signed (fact, 2026-01)"],
    "volatile": ["Now: Sunday 2026-11-22 03:00 UTC"],
    "task": "two of three files are done",
}


def test_sections_are_ordered_by_stability() -> None:
    whole = "\n".join(texts(prompt(**FULL)))
    order = ["How to read this prompt", "in rhyme", "Ada", "sqlite", "turn1 ", "turn6 ", "2026-11-22"]
    order += ["two of three", "cookies are signed", "What now?"]

    places = [whole.index(one) for one in order]
    assert places == sorted(places)


def page(sections: int) -> str:
    return "## /profile/work\n" + "".join(f"### Part {number}\n{'words ' * 100}\n\n" for number in range(sections))


def test_long_page_is_cut_by_section() -> None:
    made = prompt(profile=[page(60), "- identity: name: Ada"], budget=8_000)
    shown = next(text for text in texts(made) if "# Profile" in text)

    parts = [int(line.split()[-1]) for line in shown.splitlines() if line.startswith("### Part")]
    assert parts == list(range(len(parts)))
    assert 5 < len(parts) < 60
    assert "the rest of this page is not shown" in shown
    assert made.pruned_sections == ("profile",)


def test_page_that_fits_is_whole() -> None:
    made = prompt(profile=[page(20)], budget=32_000)

    assert "Part 19" in "\n".join(texts(made))
    assert made.pruned_sections == ()


def test_pruned_names_sections_that_lack_something() -> None:
    facts = [f"- decision: thing {number}: {'word ' * 20}" for number in range(300)]

    assert prompt(background=facts).pruned_sections == ("background",)
    assert "task" not in prompt(background=facts, history=history(200), budget=2_000).pruned_sections


def test_static_prefix_is_independent_of_user() -> None:
    one = prompt(**FULL)
    other = prompt(
        system=FULL["system"],
        tools=[dict(reversed(list(tool.items()))) for tool in reversed(TOOLS)],
        profile=["- identity: name: Grace"],
        volatile=["Now: Monday"],
        message="Something else",
        history=history(90),
    )

    assert one.prefix_digest == other.prefix_digest
    assert texts(one)[0] == texts(other)[0]
    assert json.dumps(one.tools) == json.dumps(other.tools)
    assert prompt(system="Be brief.").prefix_digest != one.prefix_digest


def test_volatile_text_is_in_last_message_only() -> None:
    made = prompt(**FULL)

    assert "2026-11-22" in made.messages[-1]["content"][0]["text"]
    assert all("2026-11-22" not in json.dumps(message) for message in made.messages[:-1])
    assert made.messages[-1]["content"][-1] == {"type": "text", "text": "What now?"}


def test_cache_marks_are_limited_to_four() -> None:
    made = prompt(**FULL, history=history(30))
    blocks = texts(made)

    assert len(marks(made)) == 4
    assert [blocks[index][:8].split()[0] for index in marks(made)[2:]] == ["turn1", "turn30"]
    assert len(marks(prompt(history=lambda _: HistoryView((), 0, 0, 0, 0)))) == 1


def test_pruning_order_over_budget() -> None:
    long = dict(FULL) | {
        "task": "task " * 60,
        "retrieved": [f"- memory{n} " + "word " * 40 for n in range(6)],
        "history": history(80),
        "message": "word " * 2_000 + "What now?",
    }
    whole = compile_prompt(PromptInputs(budget=32_000, **long))
    needed = whole.token_count
    seen: list[tuple[str, ...]] = []
    for budget in range(needed, whole.sections["prefix"] + whole.sections["message"] + 100, -150):
        made = compile_prompt(PromptInputs(budget=budget, **long))
        assert made.token_count <= budget
        assert "How to read this prompt" in texts(made)[0]
        assert texts(made)[-1].endswith("What now?")
        if "history" in made.pruned_sections:
            assert made.sections["task"] == 0
        if "retrieved" in made.pruned_sections:
            shown = "\n".join(texts(made))
            assert "turn1 " in shown or "history" in made.pruned_sections
            # The least relevant go first.
            assert [f"memory{n} " in shown for n in range(6)] == sorted((f"memory{n} " in shown for n in range(6)), reverse=True)  # fmt: skip  # noqa: E501
        seen.append(made.pruned_sections)
    assert {"task", "history", "retrieved"} <= {name for pruned in seen for name in pruned}


def test_budget_too_small_raises_invalid_input() -> None:
    with pytest.raises(InvalidInput, match="budget") as refused:
        prompt(budget=300, message="word " * 400)

    assert refused.value.field == "budget"


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1_200, 40_000),
    st.integers(0, 60),
    st.lists(st.text(max_size=300), max_size=12),
    st.text(max_size=400),
    st.text(max_size=1_500),
)
def test_prompt_never_exceeds_budget(budget: int, turns: int, lines: list[str], task: str, message: str) -> None:
    given = {"retrieved": lines, "profile": lines, "background": lines, "task": task, "message": message}
    try:
        made = prompt(budget=budget, history=history(max(1, turns)), **given)
    except InvalidInput:
        return

    assert made.token_count <= budget
    shown = sum(count_tokens(text) for text in texts(made)) + ENTRY_TOKENS * (len(made.messages) - 1)
    assert shown <= made.token_count * 1.02 + 8
