"""Rule-based extraction of facts from sentences.

Examples of such sentences are "use X instead of Y", "never …" and "renamed A to B". Precision is more important
than recall: questions, suppositions, quotations and experiments are not taken as statements. Commit messages are
interpreted more strictly than what a person says directly, since most of them concern one place in the code. These
are pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

from hunchd.ingestion import statement_patterns as patterns
from hunchd.ingestion.tool_purposes import find_purpose, is_ordinary_word, list_purposes
from hunchd.text.sentences import split_prose

# Speaker: the owner who stores the text, a participant in a session, or the author of a commit.
Voice = Literal["owner", "turn", "commit"]

MAX_SENTENCE: Final = 400  # characters of a sentence that may state something
MAX_STATEMENTS: Final = 12  # statements per text; a text with more is a document
MAX_KEY: Final = 80  # characters
_CONFIDENCE: Final[dict[Voice, float]] = {"owner": 1.0, "turn": 0.8, "commit": 0.6}
_TWO_TOOLS_CONFIDENCE: Final = 0.7  # for a commit that chooses between two tools of the same purpose

_CHANGES = (
    ("renamed", patterns.RENAMED_TO),
    ("in favour of", patterns.IN_FAVOUR_OF),
    ("replaced", patterns.REPLACED_BY),
    ("switched", patterns.SWITCHED_FROM_TO),
    ("instead of", patterns.INSTEAD),
    ("instead of", patterns.INSTEAD_FIRST),
    ("switched to", patterns.SWITCHED_TO),
)
_NEVER = frozenset(("never", "do not", "don't", "must not", "mustn't", "should not", "shouldn't"))
_CODE_BLOCK = re.compile(r"```.*?(?:```|\Z)|^(?:>| {4,}|\t).*$", re.DOTALL | re.MULTILINE)
_LEAD_IN = re.compile(
    r"^\s*(?:[-*+•#]+\s+)?(?:(?:feat|fix|docs?|perf|refactor|tests?|build|ci|chore|style|deps)(?:\([^)]*\))?!?:\s*|"
    r"\[[\w ./-]{1,30}\]\s*)",
    re.IGNORECASE,
)
_PATH_PREFIX = re.compile(r"^[\w./-]{2,30}: (?=[A-Z]?[a-z]+ )")
_BACK_REFERENCE = re.compile(r"\b(?:it|this|that|these|those|them)\b", re.IGNORECASE)
_TRAILER = re.compile(r"^[A-Z][\w-]+(?:-by|-on|-id|-to): \S|^(?:Co-authored-by|Signed-off-by|Change-Id)", re.I | re.M)


@dataclass(frozen=True, slots=True)
class ExtractedStatement:
    """Fact extracted from a sentence, with the sentence that supports it."""

    category: str
    key: str
    value: str
    text: str
    rule: str
    instead_of: str = ""
    reason: str = ""
    confidence: float = 1.0
    importance: float = 0.5

    @property
    def line(self) -> str:
        """Return the fact as one line, with the rejected alternative and the reason."""
        other = f", not {self.instead_of}" if self.instead_of else ""
        because = f" (because {self.reason})" if self.reason else ""
        return f"{self._head}{other}{because}"

    @property
    def _head(self) -> str:
        if self.category == "instruction":
            return f"{self.value} {self.key}"
        if self.rule == "decided" and self.value in ("yes", "no"):
            return self.key if self.value == "yes" else f"not: {self.key}"
        return f"{self.key}: {self.value}"


def extract_statements(text: str, voice: Voice) -> list[ExtractedStatement]:
    """Extract the statements in `text` in order, at most one for each key.

    `voice` is who speaks: the owner of the memory, a participant in a session, or the author of a commit. If a
    sentence can be interpreted in several ways, the most certain interpretation is used.
    """
    if voice == "commit" and patterns.GENERATED_MESSAGE.match(text):
        return []
    statement_by_key: dict[tuple[str, str], ExtractedStatement] = {}
    for sentence in _split_sentences(text, voice):
        if sentence.endswith("?") or patterns.UNCERTAINTY.search(sentence):
            continue
        one = next(_read_sentence(sentence, voice), None)
        if one is not None:
            statement_by_key.setdefault(
                (one.category, one.key.casefold()), replace(one, confidence=_rate_confidence(one, voice))
            )
        if len(statement_by_key) == MAX_STATEMENTS:
            break
    return list(statement_by_key.values())


def _rate_confidence(one: ExtractedStatement, voice: Voice) -> float:
    if voice == "commit" and one.instead_of and find_purpose(one.value) == find_purpose(one.instead_of) != "":
        return _TWO_TOOLS_CONFIDENCE
    return _CONFIDENCE[voice]


def _split_sentences(text: str, voice: Voice) -> Iterator[str]:
    """Yield the sentences in `text`, each on one line.

    Code, quotations and commit trailers are left out.
    """
    text = _TRAILER.split(_CODE_BLOCK.sub("\n\n", text))[0]
    subject, _, body = text.partition("\n")
    for part in (subject, *split_prose(body)):
        for one in split_prose(part):
            sentence = " ".join(one.split())
            if 6 <= len(sentence) <= MAX_SENTENCE:
                sentence = _LEAD_IN.sub("", sentence)
                yield (_PATH_PREFIX if voice == "commit" else patterns.LABEL).sub("", sentence)


def _read_sentence(sentence: str, voice: Voice) -> Iterator[ExtractedStatement]:
    """Yield the possible statements in a sentence, the most certain first."""
    because = patterns.REASON.search(sentence)
    reason = because["why"].strip() if because else ""
    for readings in (_read_changes, _read_rules, _read_facts):
        for one in readings(sentence, voice):
            value = one.value.removesuffix(because[0]).rstrip() if because else one.value
            if one.key and value and len(one.key) <= MAX_KEY and not _is_hollow(value):
                yield replace(one, value=value, reason=reason or one.reason)


def _read_changes(sentence: str, voice: Voice) -> Iterator[ExtractedStatement]:
    """Yield the statements in a sentence that say that one thing replaces another."""
    for rule, pattern in _CHANGES:
        match = pattern.search(sentence)
        if match is None or (voice == "commit" and not _concerns_whole_project(sentence, match, rule)):
            continue
        x, y = _clean_name(match["x"]), _clean_name(match["y"])
        if not x or x.casefold() == y.casefold() or patterns.NEGATION.search(sentence[: match.start()]):
            continue
        if rule == "renamed":
            if (
                _is_distinctive(x)
                and _is_distinctive(y)
                and (voice != "commit" or (_is_identifier(x) and _is_identifier(y)))
            ):
                yield ExtractedStatement("decision", f"name of {y}", x, sentence, rule, importance=0.3)
        elif subject := _common_purpose(x, y):
            yield ExtractedStatement(_classify(sentence), subject, x, sentence, rule, instead_of=y, importance=0.6)
        elif y and not _is_hollow(y) and (voice != "commit" or _is_identifier_change(x, y, rule)):
            yield ExtractedStatement(_classify(sentence), f"in place of {y}", x, sentence, rule, importance=0.4)


def _read_rules(sentence: str, voice: Voice) -> Iterator[ExtractedStatement]:
    """Yield the rules, decisions and preferences that a sentence states."""
    if (match := patterns.RULE.search(sentence)) and (voice != "commit" or patterns.PRESCRIPTION.match(sentence)):
        modality = match["how"].casefold().replace("’", "'")
        value = "never" if modality in _NEVER else "avoid" if modality == "avoid" else "always"
        yield ExtractedStatement(
            "instruction", _make_key(match["what"]), value, sentence, "always or never", importance=0.6
        )
    if match := patterns.DECIDED_ON.search(sentence):
        what, against = match["what"].strip(), match["how"].casefold() in ("not to", "against")
        if match["how"].casefold() == "on" and (one := _read_chosen(what, sentence)) is not None:
            yield one
        subject = next(
            (find_purpose(word) for word in re.findall(patterns.WORD, what) if _is_unambiguous_tool(word)), ""
        )
        value = f"not {what}" if against else what
        if subject:
            yield ExtractedStatement("decision", subject, value, sentence, "decided", importance=0.6)
        if voice != "commit" or _outlives_commit(what, sentence):
            yield ExtractedStatement(
                "decision", _make_key(what), "no" if against else "yes", sentence, "decided", importance=0.6
            )
    if voice != "commit" and (match := patterns.PREFERENCE.match(sentence)):
        x, y = _clean_name(match["x"]), _clean_name(match["y"])
        if subject := _common_purpose(x, y):
            yield ExtractedStatement("preference", subject, x, sentence, "prefers", instead_of=y, importance=0.6)
        if y:
            yield ExtractedStatement("preference", f"in place of {y}", x, sentence, "prefers", importance=0.6)
        yield ExtractedStatement("preference", _make_key(x), "preferred", sentence, "prefers", importance=0.6)


def _read_chosen(what: str, sentence: str) -> ExtractedStatement | None:
    """Parse the rest of a sentence that begins "we decided on …".

    Returns None if the rest names neither a purpose nor an alternative.
    """
    match = patterns.CHOSEN_OPTION.match(what)
    if match is None or not (match["k"] or match["y"]):
        return None
    x, y = _clean_name(match["x"]), _clean_name(match["y"])
    key = (
        (find_purpose(x) if _is_unambiguous_tool(x) else "") or _make_key(_clean_name(match["k"])) or f"in place of {y}"
    )
    reason = (match["why"] or "").strip().rstrip(".")
    return ExtractedStatement("decision", key, x, sentence, "decided on", instead_of=y, reason=reason, importance=0.6)


def _outlives_commit(what: str, sentence: str) -> bool:
    """Return True if a decision probably holds beyond the commit that states it.

    Most decisions in commit messages concern the commit itself ("decided to split it up"). A decision that states
    its reason and uses no pronouns may hold longer.
    """
    return patterns.REASON.search(sentence) is not None and not _BACK_REFERENCE.search(what)


def _read_facts(sentence: str, voice: Voice) -> Iterator[ExtractedStatement]:
    """Yield statements about tools in use, supported versions, and people."""
    if voice == "commit" and patterns.ABOUT_TEXT.search(sentence):
        return
    if match := patterns.DROPPED_OPTION.search(sentence):
        yield ExtractedStatement(
            "constraint", f"support for {' '.join(match['y'].split())}", "dropped", sentence, "dropped"
        )
    if match := _match_oldest_version(sentence, voice):
        runtime = next(filter(None, map(match.groupdict().get, ("a", "b", "c"))))
        name = runtime.casefold().removesuffix(".js")
        value = match["x"] if match["x"].startswith(">") else f">={match['x'].rstrip('+')}"
        # Manifests use the same key, so that the current file replaces an old message.
        yield ExtractedStatement("convention", name, value, sentence, "at least", importance=0.6)
    if voice == "commit":
        return
    for pattern, key in patterns.SELF_DESCRIPTIONS:
        if match := pattern.match(sentence):
            description = match["x"].strip()
            yield ExtractedStatement(
                "identity", key or match["k"].casefold(), description, sentence, "about oneself", importance=0.6
            )
    if match := patterns.USE.match(sentence):
        key = find_purpose(match["x"]) or _make_key(match["z"] or "")
        yield ExtractedStatement("convention", key, _clean_name(match["x"]), sentence, "uses", importance=0.6)
    if match := patterns.WITH.match(sentence):
        key = find_purpose(match["x"]) or match["k"].casefold()
        yield ExtractedStatement("convention", key, _clean_name(match["x"]), sentence, "with", importance=0.6)
    ours = voice == "owner" and sentence[:4].casefold() == "our "
    if (match := patterns.DEFINITION.match(sentence)) and (ours or match["k"].casefold() in list_purposes()):
        yield ExtractedStatement("convention", _make_key(match["k"]), match["x"], sentence, "is")
    if voice == "owner" and (match := patterns.KEY_VALUE.match(sentence)) and not match["x"].startswith("//"):
        yield ExtractedStatement("convention", _make_key(match["k"]), match["x"].rstrip("."), sentence, "key and value")


def _match_oldest_version(sentence: str, voice: Voice) -> re.Match[str] | None:
    """Match a statement about the oldest supported version of something.

    In a commit message, the statement counts only if it concerns the whole project. Returns None if there is no
    such statement.
    """
    match = patterns.MINIMUM_VERSION.search(sentence)
    if match is None:
        return patterns.MINIMUM_VERSION_REVERSED.match(sentence)
    return match if voice != "commit" or " in " not in sentence[match.end() :] else None


def _concerns_whole_project(sentence: str, match: re.Match[str], rule: str) -> bool:
    """Return True if a change in a commit message concerns the whole project."""
    if match.groupdict().get("z") or patterns.ABOUT_TEXT.search(sentence):
        return False
    if not patterns.SENTENCE_START.match(sentence[: match.start()]) or patterns.LOCAL_SCOPE.match(
        sentence[match.end() :]
    ):
        return False
    return not (rule == "switched to" and match[0].casefold().startswith("mov"))


def _common_purpose(x: str, y: str) -> str:
    """Return the purpose that two tools have in common, or "".

    If `y` is empty, returns the purpose of `x`, unless that name is also an everyday word.
    """
    purpose = find_purpose(x)
    if y:
        return purpose if purpose and purpose == find_purpose(y) else ""
    return purpose if purpose and not is_ordinary_word(x) else ""


def _is_unambiguous_tool(word: str) -> bool:
    return bool(find_purpose(word)) and not is_ordinary_word(word)


def _classify(sentence: str) -> str:
    return "preference" if re.match(r"\W*i\s+(?:\w+\s+)?(?:prefer|like|use)\b", sentence, re.I) else "convention"


def _clean_name(text: str | None) -> str:
    """Strip quotation marks, articles and final punctuation from a name."""
    stripped_text = (text or "").strip().strip("`\"'").strip()
    return re.sub(r"^(?:the|a|an|our|using|just|only)\s+", "", stripped_text, flags=re.I).strip().rstrip(".,:;")


def _make_key(text: str) -> str:
    """Turn a phrase into a key.

    The first letter is changed to lower case, unless the second letter is upper case as in an acronym.
    """
    collapsed_text = " ".join(text.split()).rstrip(".,:;")
    return (
        collapsed_text[:1].lower() + collapsed_text[1:]
        if len(collapsed_text) > 1 and not collapsed_text[1].isupper()
        else collapsed_text
    )


def _is_hollow(name: str) -> bool:
    return name.casefold() in patterns.HOLLOW_WORDS


def _is_identifier(name: str) -> bool:
    """Return True if a name can only be an identifier or a file name.

    Ordinary words and phrases do not qualify.
    """
    return " " not in name and bool(re.search(r"[._/:(@-]\w|\w[_:(]|[a-z][A-Z]|^[A-Z]\w+[A-Z]|\d", name))


def _is_distinctive(name: str) -> bool:
    return len(name) > 1 and not name[0].isdigit() and not _is_hollow(name) and " " not in name


def _is_identifier_change(x: str, y: str, rule: str) -> bool:
    """Return True if a statement says that one identifier replaces another.

    Readers who later come across the old name need to know this.
    """
    return rule == "in favour of" and _is_identifier(x) and _is_identifier(y)
