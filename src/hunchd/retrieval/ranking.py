"""Ranking of hits from memory and store.

Relevance comes first, then bounded boosts; hits that do not answer are dropped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import compress
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from hunchd.domain.memory import Kind, Memory, Status
from hunchd.domain.session import Event
from hunchd.protocol.answers import iso
from hunchd.retrieval.grains import Evidence, Passage, Table, evidence, rarities, spoken
from hunchd.retrieval.moments import Then, agrees, named
from hunchd.retrieval.wording import counted, snippet
from hunchd.store.database.gist import Gist
from hunchd.store.database.hits import Glimpse, Hit
from hunchd.text.stemming import stem_prefix
from hunchd.text.words import terms

Depth = Literal["specific", "shallow", "deep"]

# Unrelated texts have a cosine of about 0 with this kind of model, paraphrases 0.5 and more.
RELATED: Final = 0.35  # sufficient on its own
VAGUE: Final = 0.15  # below, the similarity says nothing
# A text that covers this share of the question answers it, whatever its similarity.
COVERED: Final = 0.5
HALF_COVERED: Final = 0.25  # sufficient with a similarity between vague and related
ENOUGH_WORDS: Final = 8  # of a longer question only this many words count
FRESH: Final = timedelta(days=7)
FRESH_BOOST: Final = 1.2
# Boosts are bounded, so that they decide between close scores and never lift irrelevant hits.
IMPORTANCE: Final = 0.2  # from 0.9 to 1.1
USAGE: Final = 0.1  # maximum effect of citations and ignored displays
OUTDATED: Final = 0.6  # superseded and suspect memories rank behind valid ones
PRINTED: Final = 0.8  # tool calls and results rank behind what people say
SHALLOW_MOST: Final = 5
DEEP_MOST: Final = 20

# Weights of the scores: learned on three long conversations, cross-validated on each of them.
OWN: Final = 2.6
WINDOW: Final = 4.5
WIDE: Final = 6.0
SESSION: Final = 5.6
MEANING: Final = 4.4
MEANING_WINDOW: Final = 5.2
MOST: Final = OWN + WINDOW + WIDE + SESSION + MEANING + MEANING_WINDOW
# Scores of a message on the same scale: speaker, time, length.
SPEAKER: Final = 0.95  # the question names only this speaker
ASKS: Final = -1.0  # a text that ends in a question answers none
MONTH: Final = 3.4  # said in the month that the question names
DAY: Final = 2.8  # said near the named day
LENGTH: Final = 1.0  # times the natural logarithm of its length relative to the mean
USUAL_LENGTH: Final = 15  # words
LONGEST: Final = 60  # words; more add nothing
FIRST_WORDS: Final = 5  # words of a question with full weight
FADING: Final = 8  # further words until the weight is halved
_OF_TOOLS: Final = frozenset({Event.CALL, Event.RESULT})
_GROWS: Final = 3  # maximum growth of a text in lower case; it never shrinks
INDEXED: Final = 8_000  # characters read per text


@dataclass(frozen=True, slots=True)
class Ranked:
    """Memory with its score, snippet and reasons.

    `score` is between 0 and about 1.5.
    """

    memory: Memory | Gist
    score: float
    snippet: str
    reasons: tuple[str, ...]


Counted = tuple[dict[str, int], int]  # count by stem, and length in words


# Kinds with a date of their own; others are as old as their last reading.
_DATED: Final = frozenset((Kind.EPISODE, Kind.MESSAGE, Kind.DOCUMENT, Kind.ERROR))
# Lines of a commit's message that name people, and git's status in front of a changed file.
_SIGNED: Final = re.compile(
    r"(?:co-authored|signed-off|reviewed|acked|tested)-by: |change-id: "
    r"|--HG--$|extra : |rename : \S+ => |branch : |git-svn-id: ",  # left by conversions from other systems
    re.IGNORECASE,
)
_CHANGED: Final = re.compile(r"^[A-Z]\d{0,3} (?=\S)")


def ranked(
    query: str,
    hits: Sequence[Hit | Glimpse],
    *,
    depth: Depth,
    k: int,
    now: datetime,
    counts: Mapping[str, Counted] | None = None,
) -> list[dict[str, Any]]:
    """Return at most `k` results for `query`, best first.

    They are in the API's format. Empty if nothing answers it. `counts` has the results of `counted_in` by id, for
    memories that were counted before.
    """
    return [
        {
            **_told(one.memory, one.snippet),
            "score": round(one.score, 4),
            "reasons": list(one.reasons),
        }
        for one in ranking(query, hits, depth=depth, k=k, now=now, counts=counts)
    ]


def told(query: str, memory: Memory) -> dict[str, Any]:
    """Format a memory as a search result.

    The output does not depend on its rank.
    """
    return _told(memory, snippet(_beside_title(memory), terms(query)))


def _beside_title(memory: Memory | Gist) -> str:
    """Return the text to quote from.

    For commits, the title is shown above it, and sign-off lines do not help readers.
    """
    if memory.kind is not Kind.EPISODE or memory.source.get("type") != "commit":
        return memory.content
    subject, _, rest = memory.content.partition("\n")
    body, _, files = ("\n" + rest).rpartition("\n\n")
    told = [] if subject.startswith(memory.title) else [subject]  # truncated or reworded
    told += [line for line in body.splitlines() if line and not _SIGNED.match(line)]
    told.append(", ".join(_CHANGED.sub("", line) for line in files.splitlines() if not _SIGNED.match(line)))
    return "\n".join(filter(None, told)) or memory.content


def _called_by_caller(memory: Memory | Gist) -> str | None:
    """Return the reference that the caller knows.

    Messages are stored under a key of ours, by their place in the log; the sender knows them by their own reference.
    """
    own = memory.source.get("ref") if memory.kind is Kind.MESSAGE else None
    return own if isinstance(own, str) else memory.ref


def _told(memory: Memory | Gist, shown: str) -> dict[str, Any]:
    return {
        "id": memory.id,
        "ref": _called_by_caller(memory),
        "kind": str(memory.kind),
        "title": memory.title,
        "snippet": shown,
        "source": dict(memory.source),
        **({"at": iso(memory.at)} if memory.kind in _DATED else {}),
    }


def ranking(
    query: str,
    hits: Sequence[Hit | Glimpse],
    *,
    depth: Depth,
    k: int,
    now: datetime,
    counts: Mapping[str, Counted] | None = None,
) -> list[Ranked]:
    """Return the ranked hits as values.

    `hits` includes the neighbours of found messages.
    """
    asked = terms(query)
    found = _answering(query, [stem_prefix(word) for word in asked], hits, now, counts or {})
    found.sort(key=lambda one: (-one.score, one.hit.memory.id))
    if depth == "specific" and any(one.named for one in found):
        found = [one for one in found if one.named]
    return [_shown(asked, one, now) for one in found[: min(k, DEEP_MOST if depth == "deep" else max(k, SHALLOW_MOST))]]


class _Weighed(NamedTuple):
    hit: Hit | Glimpse
    said: Mapping[str, int]  # stems of the question, in the memory's own text
    around: Set[str]  # and in the texts beside it
    named: bool
    score: float


def _answering(
    query: str, roots: Sequence[str], hits: Sequence[Hit | Glimpse], now: datetime, counts: Mapping[str, Counted]
) -> list[_Weighed]:
    """Return the hits that answer the question, with scores.

    `roots` are its word stems.
    """
    if not hits:
        return []
    stems = list(dict.fromkeys(roots))
    if new := [hit.memory for hit in hits if hit.memory.id not in counts]:
        counts = {**counts, **dict(zip([one.id for one in new], counted_in(new, stems), strict=True))}
    passages = [_passage(hit, counts[hit.memory.id]) for hit in hits]
    told = spoken(passages, stems)
    weights = rarities(told, [hit.lexical for hit in hits]) * [emphasis(place) for place in range(len(stems))]
    found = evidence(told, weights)
    then, speaker = named(query), _speaker(stems, hits)
    name = query.strip().strip("`'\"").casefold()
    called = np.array([bool(name) and _is_called(name, hit.memory) for hit in hits], np.bool_)
    worth = [_of_message(hit.memory, one, then, speaker) for hit, one in zip(hits, passages, strict=True)]
    relevance = np.where(called, 1.0, (_relevance(found) + worth) / MOST)
    scores = np.maximum(relevance, 0.0) * [_boost(hit.memory, now) for hit in hits]
    covered = found.said @ [roots.count(root) for root in stems] / max(min(len(roots), ENOUGH_WORDS), 1)
    answers = called | [bool(hit.why) for hit in hits] | _answers(covered, [hit.similarity for hit in hits])
    return [
        _Weighed(hits[at], passages[at].said, set(compress(stems, found.said[at])), bool(called[at]), float(scores[at]))
        for at in np.flatnonzero(answers).tolist()
    ]


def emphasis(place: int) -> float:
    """Return the weight of the word at this place.

    Long questions name their subject first.
    """
    return 1.0 if place < FIRST_WORDS else FADING / (FADING + place - FIRST_WORDS)


def roots_of(query: str) -> list[str]:
    """Return the distinct word stems of a question, in order."""
    return list(dict.fromkeys(map(stem_prefix, terms(query))))


def counted_in(memories: Sequence[Memory | Gist], roots: Sequence[str]) -> list[Counted]:
    """Count the question's stems in each memory, with its length in words."""
    return counted(roots, [_text(memory)[:INDEXED] for memory in memories])


def _passage(hit: Hit | Glimpse, counts: Counted) -> Passage:
    memory, (times, length) = hit.memory, counts
    if memory.kind is not Kind.MESSAGE:
        return Passage(times, length, hit.similarity)
    session, number = memory.source.get("session"), memory.source.get("number")
    if not isinstance(number, int) or session is None:
        return Passage(times, length, hit.similarity)
    return Passage(times, length, hit.similarity, str(session), number)


def _speaker(stems: Sequence[str], hits: Sequence[Hit | Glimpse]) -> str | None:
    """Return the only speaker among the hits whom the question names."""
    names = {str(name) for hit in hits if hit.memory.kind is Kind.MESSAGE and (name := hit.memory.source.get("name"))}
    meant = [name for name in names if any(stem_prefix(word) in stems for word in terms(name))]
    return meant[0] if len(meant) == 1 else None


def _relevance(found: Evidence) -> Table:
    words = OWN * found.own + WINDOW * found.window + WIDE * found.wide + SESSION * found.session
    meaning, around = (np.maximum(one, 0.0) for one in (found.meaning, found.meaning_window))
    return words + MEANING * meaning + MEANING_WINDOW * around


def _of_message(memory: Memory | Gist, passage: Passage, then: Then | None, speaker: str | None) -> float:
    """Return a message's score beyond its words."""
    month, day = agrees(then, memory.at) if then is not None else (False, False)
    worth = MONTH * month + DAY * day
    if memory.kind is not Kind.MESSAGE:
        return worth
    worth += ASKS * memory.content.rstrip().endswith("?") + SPEAKER * (
        speaker is not None and memory.source.get("name") == speaker
    )
    return worth + LENGTH * math.log((1 + min(passage.length, LONGEST)) / (1 + USUAL_LENGTH))


def _shown(asked: Sequence[str], one: _Weighed, now: datetime) -> Ranked:
    words = [word for word in asked if stem_prefix(word) in one.said]
    beside = [word for word in asked if stem_prefix(word) in one.around and word not in words]
    reasons = _reasons(one.hit, words, beside, one.named, now)
    return Ranked(one.hit.memory, one.score, snippet(_beside_title(one.hit.memory), words), tuple(reasons))


def _answers(covered: Table, similarities: Sequence[float | None]) -> npt.NDArray[np.bool_]:
    """Return for each hit if it covers or means enough.

    `covered` is the share of the question that it says.
    """
    near = np.array([-1.0 if one is None else one for one in similarities])
    enough = np.where(near >= VAGUE, HALF_COVERED, COVERED)
    found: npt.NDArray[np.bool_] = (near >= RELATED) | (covered >= enough)
    return found


def _boost(memory: Memory | Gist, now: datetime) -> float:
    fresh = FRESH_BOOST if _age(memory, now) <= FRESH else 1.0
    important = 1.0 + IMPORTANCE * (min(max(memory.importance, 0.0), 1.0) - 0.5)
    usage = memory.usage
    balance = usage.cited - max(0, usage.ignored - usage.cited) * 0.5
    used = 1.0 + USAGE * max(-1.0, min(1.0, balance / 5))
    outdated = OUTDATED if memory.status in (Status.SUPERSEDED, Status.SUSPECT) else 1.0
    printed = PRINTED if memory.source.get("event") in _OF_TOOLS else 1.0
    return fresh * important * used * outdated * printed


def _age(memory: Memory | Gist, now: datetime) -> timedelta:
    """Return the time since it happened.

    Patterns and workflows are never news.
    """
    if memory.kind in (Kind.PATTERN, Kind.WORKFLOW) or (at := memory.at) > now:
        return timedelta.max
    return now - at


def _is_called(name: str, memory: Memory | Gist) -> bool:
    """Return True if `name` names the memory exactly.

    In lower case it is the memory's id, ref, key, title or path.
    """
    paths = (artifact.ref for artifact in memory.artifacts if artifact.type == "file")
    for one in (memory.id, memory.ref, memory.key, memory.title, *paths):
        if one is not None and len(one) <= len(name) <= _GROWS * len(one) and one.casefold() == name:
            return True
    return False


def _reasons(hit: Hit | Glimpse, words: Sequence[str], beside: Sequence[str], named: bool, now: datetime) -> list[str]:
    memory = hit.memory
    reasons = ["is exactly what was asked for"] if named else []
    reasons += hit.why
    if words:
        reasons.append("says " + ", ".join(words[:5]))
    if beside:
        reasons.append("said beside it: " + ", ".join(beside[:5]))
    if hit.similarity is not None and hit.similarity >= RELATED:
        reasons.append(f"close in meaning ({hit.similarity:.2f})")
    age = _age(memory, now)
    if age <= FRESH:
        reasons.append("from today" if age < timedelta(days=1) else f"{age.days} days old")
    if memory.usage.cited:
        reasons.append(f"was used {memory.usage.cited} times")
    if memory.status is not Status.ACTIVE:
        reasons.append(str(memory.status.value))
    return reasons


def _text(memory: Memory | Gist) -> str:
    if memory.kind is Kind.MESSAGE:  # its title is the speaker and the beginning
        return f"{memory.source.get('name') or ''}\n{memory.content}"
    return "\n".join(filter(None, (memory.title, memory.content, memory.key, memory.value, *memory.tags)))
