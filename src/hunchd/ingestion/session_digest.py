"""Rule-based summary of a session: decisions, instructions, preferences, actions, insights.

The summary is extractive: every point in it is a sentence from the session with its turn number, so nothing can be
invented. The same turns always yield the same points. Tool output has a low weight because nobody vouches for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final

from hunchd.domain.session import Digest, Message, MessageType, Point, PointKind, Turn
from hunchd.ingestion import session_statements
from hunchd.ingestion.own_words import extract_user_text
from hunchd.ingestion.personal_data import holds_contact_data
from hunchd.ingestion.statement_classifier import compute_probabilities

MAX_SENTENCE: Final = 360  # characters; longer ones are lists or code
MIN_WORDS: Final = 3
MAX_SENTENCES: Final = 60  # per message: decisions are near its beginning or end, not inside a pasted file

# Weights by kind. A user's statement counts more than an assistant's because it is final.
_WEIGHT_BY_KIND: Final[dict[PointKind, tuple[float, float]]] = {  # (user, assistant)
    "decision": (0.9, 0.7),
    "instruction": (0.85, 0.3),
    "preference": (0.8, 0.3),
    "insight": (0.55, 0.5),
    "action": (0.4, 0.35),
    "question": (0.3, 0.1),
}
_KIND_BY_LABEL: Final[dict[str, PointKind]] = {
    **dict.fromkeys(("decision", "change", "withdrawal", "constraint"), "decision"),
    **dict.fromkeys(("preference", "identity"), "preference"),
    **dict.fromkeys(("action", "goal", "request"), "action"),
    **dict.fromkeys(("insight", "person"), "insight"),
    "instruction": "instruction",
}
_REASON_BONUS: Final = 0.06  # bonus if the sentence gives a reason
_EDIT_WEIGHT: Final = 0.3
_RUN_WEIGHT: Final = 0.15
_COMMIT_WEIGHT: Final = 0.5
_FAILURE_WEIGHT: Final = 0.35

_WORD = re.compile(r"[^\W_][\w'-]*")

_PAST_ACTIONS = (
    "added|changed|created|updated|removed|deleted|fixed|renamed|moved|implemented|wrote|rewrote|refactored|installed|"
    "committed|merged|released|configured|extracted|replaced|reverted|bumped|tested|documented|split|verified|made|ran"
)
_ACTION = re.compile(
    rf"^(?:(?:i|we)(?:'ve| have)?(?: now| also| just)? )?(?:{_PAST_ACTIONS})\b"
    rf"|\b(?:i|we)(?:'ve| have) (?:now |also )?(?:{_PAST_ACTIONS})\b",
    re.IGNORECASE,
)
_FINISHED_LEAD = re.compile(r"^(?:done|finished|completed|all set|ready)\s*[:,.!-]\s*(?=\S)", re.IGNORECASE)
_REASON = re.compile(r"\b(?:because|since|so that|due to|as it|otherwise|in order to|reason)\b", re.IGNORECASE)
_HEDGE = re.compile(
    r"\b(?:maybe|perhaps|might|could we|should we|shall we|what if|would it|not sure|if we|wonder)\b|\?\s*$",
    re.IGNORECASE,
)
_FAILURE = re.compile(
    r"^.{0,40}(?<!\.)\b(?:FAILED|ERROR|Error|Exception|panicked|fatal|Traceback)\b(?!\().*|"
    r"^=+ .*\b(?:failed|passed|error)\b.*|"
    r"^test result: .*",
    re.MULTILINE,
)
_COMMIT_MESSAGE = re.compile(r"git commit\b.*?-m\s+(['\"])(?P<message>.+?)\1", re.DOTALL)
_EDIT_TOOL = re.compile(r"edit|write|update|patch|create|replace|insert|apply", re.IGNORECASE)
_RUN_TOOL = re.compile(r"bash|shell|run|exec|command|terminal|test", re.IGNORECASE)
_PATH_ARGUMENTS = ("file_path", "path", "filePath", "file", "target_file", "notebook_path", "absolute_path")


def digest_turns(turns: Sequence[Turn]) -> Digest:
    """Summarize consecutive turns (at least one) as a digest; repeated edits to a file count once."""
    points: list[Point] = []
    edit_by_text: dict[str, Point] = {}
    for turn in turns:
        for message in turn.messages:
            match message.event:
                case MessageType.USER | MessageType.ASSISTANT:
                    points += extract_points(message, turn.number)
                case MessageType.CALL:
                    if (action := _summarize_call(message, turn.number)) is not None and edit_by_text.get(
                        action.text
                    ) is None:
                        edit_by_text[action.text] = action
                        points.append(action)
                case MessageType.RESULT:
                    points += _extract_failure(message, turn.number)
    return Digest(turns[0].number, turns[-1].number, tuple(points), sum(turn.tokens for turn in turns))


def extract_points(message: Message, turn: int) -> Iterator[Point]:
    """Yield the points in a message, at most one for each sentence, and none for contact data."""
    by_user = message.event is MessageType.USER
    for sentence in split_sentences(extract_user_text(message.text) if by_user else message.text):
        kind = classify_sentence(sentence, by_user=by_user)
        if kind is not None and not holds_contact_data(sentence):
            weight = _WEIGHT_BY_KIND[kind][0 if by_user else 1]
            if kind in ("decision", "instruction", "preference") and _REASON.search(sentence):
                weight += _REASON_BONUS
            yield Point(kind, sentence, turn, message.id, round(weight, 3), by_user)


@lru_cache(maxsize=1 << 11)  # a history is folded again for each budget
def classify_sentence(sentence: str, *, by_user: bool) -> PointKind | None:
    """Return the kind of point that a sentence makes, or None if it is not worth keeping.

    Sentences are read by the classifier of statements, in any of its
    languages; what the assistant reports as done, by its words.
    """
    if by_user and sentence.rstrip().endswith(("?", "？")):
        return "question"
    if not by_user and (_HEDGE.search(sentence) or _ACTION.search(sentence) or _FINISHED_LEAD.search(sentence)):
        return None if _HEDGE.search(sentence) else "action"
    shares = compute_probabilities(sentence)
    kind = _KIND_BY_LABEL.get(max(shares, key=lambda label: shares[label]))
    return kind if by_user or kind in ("decision", "insight") else None


def split_sentences(text: str) -> list[str]:
    """Split prose into sentences of medium length, without code; of a long text, take the first and last ones."""
    sentences = (one.replace("**", "") for one in session_statements.split_sentences(text))
    results = [one for one in sentences if len(one) <= MAX_SENTENCE and len(_WORD.findall(one)) >= MIN_WORDS]
    if len(results) <= MAX_SENTENCES:
        return results
    half = MAX_SENTENCES // 2
    return [*results[:half], *results[-half:]]


def get_main_argument(message: Message) -> str:
    """Return the main argument of a tool call, on one line.

    The main argument is a path, a command or the like. If the call has none, the whole text of the call is returned.
    """
    given = message.data.get("input") or message.data.get("arguments") or message.data
    inputs = given if isinstance(given, dict) else {}
    for name in (*_PATH_ARGUMENTS, "relativePath", "command", "cmd", "query", "pattern", "url"):
        value = inputs.get(name)
        if isinstance(value, str) and value.strip():
            return " ".join(value.split())
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return " ".join(" ".join(value).split())
    return " ".join(message.text.split())


def _summarize_call(message: Message, turn: int) -> Point | None:
    tool, argument = message.name or "", get_main_argument(message)
    if (commit := _COMMIT_MESSAGE.search(message.text) or _COMMIT_MESSAGE.search(argument)) is not None:
        subject = " ".join(commit["message"].split("\n")[0].split())
        return Point("action", f"committed: {subject}", turn, message.id, _COMMIT_WEIGHT)
    if _EDIT_TOOL.search(tool) and argument:
        path = str(PurePosixPath(argument[:300]))
        return Point("action", f"edited {path}", turn, message.id, _EDIT_WEIGHT)
    if _RUN_TOOL.search(tool) and argument:
        return Point("action", f"ran {argument[:120]}", turn, message.id, _RUN_WEIGHT)
    return None


def _extract_failure(message: Message, turn: int) -> Iterator[Point]:
    """Yield a point for the last failure that a tool's result reports.

    The point quotes the line that reports the failure, which may also be the summary of a test run. Results of
    tools that read files are skipped, since code may mention failures although nothing has failed.
    """
    if message.name and not _RUN_TOOL.search(message.name):
        return
    lines = _FAILURE.findall(message.text[-4_000:])
    if lines:
        line = " ".join(lines[-1].split())[:160]
        yield Point("insight", f"{message.name or 'a tool'} said: {line}", turn, message.id, _FAILURE_WEIGHT)
