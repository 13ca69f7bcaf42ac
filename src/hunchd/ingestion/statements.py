"""Rule-based extraction of facts from sentences.

Such as "use X instead of Y", "never …" or "renamed A to B". Pure. Precision comes before recall: questions,
suppositions, quotations and experiments state nothing. Commit messages are read more strictly than what a person
says directly, since most of them are about one place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

from hunchd.ingestion import statement_patterns as patterns
from hunchd.ingestion.subjects import is_ordinary, subject_of, subjects
from hunchd.text.sentences import split_prose

# Speaker: the owner who stores it, a participant of a session, or the author of a commit.
Voice = Literal["owner", "turn", "commit"]

LONGEST: Final = 400  # characters of a sentence that may state something
MOST: Final = 12  # statements per text; a text with more is a document
LONGEST_KEY: Final = 80  # characters
_CONFIDENCE: Final[dict[Voice, float]] = {"owner": 1.0, "turn": 0.8, "commit": 0.6}
_BOTH_KNOWN: Final = 0.7  # for a commit that chooses between two tools of the same purpose

_CHANGES = (
    ("renamed", patterns.RENAMED),
    ("in favour of", patterns.FAVOUR),
    ("replaced", patterns.REPLACED),
    ("switched", patterns.SWITCHED),
    ("instead of", patterns.INSTEAD),
    ("instead of", patterns.INSTEAD_FIRST),
    ("switched to", patterns.SWITCHED_TO),
)
_NEVER = frozenset(("never", "do not", "don't", "must not", "mustn't", "should not", "shouldn't"))
_CODE_BLOCK = re.compile(r"```.*?(?:```|\Z)|^(?:>| {4,}|\t).*$", re.DOTALL | re.MULTILINE)
_LEAD = re.compile(
    r"^\s*(?:[-*+•#]+\s+)?(?:(?:feat|fix|docs?|perf|refactor|tests?|build|ci|chore|style|deps)(?:\([^)]*\))?!?:\s*|"
    r"\[[\w ./-]{1,30}\]\s*)",
    re.IGNORECASE,
)
_PLACE = re.compile(r"^[\w./-]{2,30}: (?=[A-Z]?[a-z]+ )")
_POINTS_BACK = re.compile(r"\b(?:it|this|that|these|those|them)\b", re.IGNORECASE)
_TRAILER = re.compile(r"^[A-Z][\w-]+(?:-by|-on|-id|-to): \S|^(?:Co-authored-by|Signed-off-by|Change-Id)", re.I | re.M)


@dataclass(frozen=True, slots=True)
class Stated:
    """Extracted fact with the sentence that supports it."""

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
        """Return the fact as one line."""
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


def stated_in(text: str, voice: Voice) -> list[Stated]:
    """Extract the statements of `text` in order, each key once.

    Of each sentence the most certain reading counts.
    """
    if voice == "commit" and patterns.MACHINE.match(text):
        return []
    found: dict[tuple[str, str], Stated] = {}
    for sentence in _sentences(text, voice):
        if sentence.endswith("?") or patterns.UNSURE.search(sentence):
            continue
        one = next(_read(sentence, voice), None)
        if one is not None:
            found.setdefault((one.category, one.key.casefold()), replace(one, confidence=_certainty(one, voice)))
        if len(found) == MOST:
            break
    return list(found.values())


def _certainty(one: Stated, voice: Voice) -> float:
    if voice == "commit" and one.instead_of and subject_of(one.value) == subject_of(one.instead_of) != "":
        return _BOTH_KNOWN
    return _CONFIDENCE[voice]


def _sentences(text: str, voice: Voice) -> Iterator[str]:
    """Yield the sentences one line each, without code, quotations and trailers."""
    text = _TRAILER.split(_CODE_BLOCK.sub("\n\n", text))[0]
    subject, _, body = text.partition("\n")
    for part in (subject, *split_prose(body)):
        for one in split_prose(part):
            sentence = " ".join(one.split())
            if 6 <= len(sentence) <= LONGEST:
                sentence = _LEAD.sub("", sentence)
                yield (_PLACE if voice == "commit" else patterns.LABEL).sub("", sentence)


def _read(sentence: str, voice: Voice) -> Iterator[Stated]:
    """Yield the possible statements of one sentence, the most certain first."""
    because = patterns.BECAUSE.search(sentence)
    reason = because["why"].strip() if because else ""
    for readings in (_changes, _rules, _facts):
        for one in readings(sentence, voice):
            value = one.value.removesuffix(because[0]).rstrip() if because else one.value
            if one.key and value and len(one.key) <= LONGEST_KEY and not _is_hollow(value):
                yield replace(one, value=value, reason=reason or one.reason)


def _changes(sentence: str, voice: Voice) -> Iterator[Stated]:
    """Yield statements that one thing replaces another."""
    for rule, pattern in _CHANGES:
        found = pattern.search(sentence)
        if found is None or (voice == "commit" and not _of_the_whole(sentence, found, rule)):
            continue
        x, y = _named(found["x"]), _named(found["y"])
        if not x or x.casefold() == y.casefold() or patterns.NEGATED.search(sentence[: found.start()]):
            continue
        if rule == "renamed":
            if _is_telling(x) and _is_telling(y) and (voice != "commit" or (_is_identifier(x) and _is_identifier(y))):
                yield Stated("decision", f"name of {y}", x, sentence, rule, importance=0.3)
        elif subject := _subject(x, y):
            yield Stated(_category(sentence), subject, x, sentence, rule, instead_of=y, importance=0.6)
        elif y and not _is_hollow(y) and (voice != "commit" or _is_api(x, y, rule)):
            yield Stated(_category(sentence), f"in place of {y}", x, sentence, rule, importance=0.4)


def _rules(sentence: str, voice: Voice) -> Iterator[Stated]:
    """Yield rules, decisions and preferences."""
    if (found := patterns.RULE.search(sentence)) and (voice != "commit" or patterns.ASKS.match(sentence)):
        how = found["how"].casefold().replace("’", "'")
        value = "never" if how in _NEVER else "avoid" if how == "avoid" else "always"
        yield Stated("instruction", _lowered(found["what"]), value, sentence, "always or never", importance=0.6)
    if found := patterns.DECIDED.search(sentence):
        what, against = found["what"].strip(), found["how"].casefold() in ("not to", "against")
        if found["how"].casefold() == "on" and (one := _chosen(what, sentence)) is not None:
            yield one
        subject = next((subject_of(word) for word in re.findall(patterns.WORD, what) if _surely(word)), "")
        value = f"not {what}" if against else what
        if subject:
            yield Stated("decision", subject, value, sentence, "decided", importance=0.6)
        if voice != "commit" or _outlives_its_commit(what, sentence):
            yield Stated("decision", _lowered(what), "no" if against else "yes", sentence, "decided", importance=0.6)
    if voice != "commit" and (found := patterns.PREFERS.match(sentence)):
        x, y = _named(found["x"]), _named(found["y"])
        if subject := _subject(x, y):
            yield Stated("preference", subject, x, sentence, "prefers", instead_of=y, importance=0.6)
        if y:
            yield Stated("preference", f"in place of {y}", x, sentence, "prefers", importance=0.6)
        yield Stated("preference", _lowered(x), "preferred", sentence, "prefers", importance=0.6)


def _chosen(what: str, sentence: str) -> Stated | None:
    """Parse the object of "we decided on …".

    Returns None without a purpose or an alternative.
    """
    found = patterns.CHOSEN.match(what)
    if found is None or not (found["k"] or found["y"]):
        return None
    x, y = _named(found["x"]), _named(found["y"])
    key = (subject_of(x) if _surely(x) else "") or _lowered(_named(found["k"])) or f"in place of {y}"
    reason = (found["why"] or "").strip().rstrip(".")
    return Stated("decision", key, x, sentence, "decided on", instead_of=y, reason=reason, importance=0.6)


def _outlives_its_commit(what: str, sentence: str) -> bool:
    """Return True if a decision holds beyond its commit.

    Most decisions there concern the commit itself ("decided to split it up"). One that states its reason and does
    not use pronouns may hold longer.
    """
    return patterns.BECAUSE.search(sentence) is not None and not _POINTS_BACK.search(what)


def _facts(sentence: str, voice: Voice) -> Iterator[Stated]:
    """Yield statements about tools in use, supported versions and names."""
    if voice == "commit" and patterns.TEXT_OF.search(sentence):
        return
    if found := patterns.DROPPED.search(sentence):
        yield Stated("constraint", f"support for {' '.join(found['y'].split())}", "dropped", sentence, "dropped")
    if found := _oldest(sentence, voice):
        runtime = next(filter(None, map(found.groupdict().get, ("a", "b", "c"))))
        name = runtime.casefold().removesuffix(".js")
        value = found["x"] if found["x"].startswith(">") else f">={found['x'].rstrip('+')}"
        # The key is that of manifests, so that the current file replaces an old message.
        yield Stated("convention", name, value, sentence, "at least", importance=0.6)
    if voice == "commit":
        return
    for pattern, key in patterns.ABOUT_ONESELF:
        if found := pattern.match(sentence):
            told = found["x"].strip()
            yield Stated("identity", key or found["k"].casefold(), told, sentence, "about oneself", importance=0.6)
    if found := patterns.USES.match(sentence):
        key = subject_of(found["x"]) or _lowered(found["z"] or "")
        yield Stated("convention", key, _named(found["x"]), sentence, "uses", importance=0.6)
    if found := patterns.WITH.match(sentence):
        key = subject_of(found["x"]) or found["k"].casefold()
        yield Stated("convention", key, _named(found["x"]), sentence, "with", importance=0.6)
    ours = voice == "owner" and sentence[:4].casefold() == "our "
    if (found := patterns.IS.match(sentence)) and (ours or found["k"].casefold() in subjects()):
        yield Stated("convention", _lowered(found["k"]), found["x"], sentence, "is")
    if voice == "owner" and (found := patterns.PAIR.match(sentence)) and not found["x"].startswith("//"):
        yield Stated("convention", _lowered(found["k"]), found["x"].rstrip("."), sentence, "key and value")


def _oldest(sentence: str, voice: Voice) -> re.Match[str] | None:
    """Match the oldest supported version.

    In a commit only if it concerns the whole project.
    """
    found = patterns.LEAST.search(sentence)
    if found is None:
        return patterns.LEAST_LAST.match(sentence)
    return found if voice != "commit" or " in " not in sentence[found.end() :] else None


def _of_the_whole(sentence: str, found: re.Match[str], rule: str) -> bool:
    """Return True if a change concerns the whole project."""
    if found.groupdict().get("z") or patterns.TEXT_OF.search(sentence):
        return False
    if not patterns.START.match(sentence[: found.start()]) or patterns.HERE.match(sentence[found.end() :]):
        return False
    return not (rule == "switched to" and found[0].casefold().startswith("mov"))


def _subject(x: str, y: str) -> str:
    """Return the purpose that both tools serve.

    For a single name only if it is unambiguous.
    """
    mine = subject_of(x)
    if y:
        return mine if mine and mine == subject_of(y) else ""
    return mine if mine and not is_ordinary(x) else ""


def _surely(word: str) -> bool:
    return bool(subject_of(word)) and not is_ordinary(word)


def _category(sentence: str) -> str:
    return "preference" if re.match(r"\W*i\s+(?:\w+\s+)?(?:prefer|like|use)\b", sentence, re.I) else "convention"


def _named(text: str | None) -> str:
    """Strip quotation marks and articles from a name."""
    plain = (text or "").strip().strip("`\"'").strip()
    return re.sub(r"^(?:the|a|an|our|using|just|only)\s+", "", plain, flags=re.I).strip().rstrip(".,:;")


def _lowered(text: str) -> str:
    """Turn running words into a key.

    The first letter becomes lower case unless it begins a name.
    """
    plain = " ".join(text.split()).rstrip(".,:;")
    return plain[:1].lower() + plain[1:] if len(plain) > 1 and not plain[1].isupper() else plain


def _is_hollow(name: str) -> bool:
    return name.casefold() in patterns.HOLLOW


def _is_identifier(name: str) -> bool:
    """Return True if a name can only be an identifier.

    File names count; words and phrases do not.
    """
    return " " not in name and bool(re.search(r"[._/:(@-]\w|\w[_:(]|[a-z][A-Z]|^[A-Z]\w+[A-Z]|\d", name))


def _is_telling(name: str) -> bool:
    return len(name) > 1 and not name[0].isdigit() and not _is_hollow(name) and " " not in name


def _is_api(x: str, y: str, rule: str) -> bool:
    """Return True if one identifier is given up for another.

    Later readers of the old name must know that.
    """
    return rule == "in favour of" and _is_identifier(x) and _is_identifier(y)
