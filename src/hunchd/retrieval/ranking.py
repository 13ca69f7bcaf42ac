"""Ranking of hits from memory and store.

Hits are ranked by relevance, with bounded boosts; hits that do not answer the question are dropped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import compress
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from hunchd.domain.facts import ABOUT_USER
from hunchd.domain.kinds import describe
from hunchd.domain.memory import Kind, Memory, Status
from hunchd.domain.session import MessageType
from hunchd.protocol.responses import format_iso
from hunchd.protocol.search_results import SearchResult
from hunchd.retrieval.passage_scoring import (
    Passage,
    PassageScores,
    Table,
    build_term_matrix,
    estimate_rarities,
    score_passages,
)
from hunchd.retrieval.question_kinds import ASKED, ASKED_ABOUT_USER, rate_fact, rate_kinds
from hunchd.retrieval.question_words import count_stems, make_snippet, stem_question
from hunchd.retrieval.time_expressions import TimeExpression, matches_time, parse_time_expression
from hunchd.store.hits import Hit, RankingHit
from hunchd.store.ranking_view import RankingView
from hunchd.text.scripts import has_special_words
from hunchd.text.stemming import stem_prefix
from hunchd.text.words import extract_terms, is_foreign

Depth = Literal["specific", "shallow", "deep"]

# Unrelated texts have a cosine of about 0 with this kind of model, paraphrases 0.5 and more.
MIN_RELATED: Final = 0.35  # sufficient on its own
MIN_VAGUE: Final = 0.15  # below this, the similarity says nothing
# A text that covers this share of the question answers it, whatever its similarity.
MIN_COVERED: Final = 0.5
MIN_COVERED_IF_VAGUE: Final = 0.25  # sufficient with a similarity between vague and related
# The same for a fact of the kind that the question asks for; one about the user answers a question about the user.
MIN_RELATED_IF_ASKED: Final = 0.2
MIN_COVERED_IF_ASKED: Final = 0.2
PAIRS_PER_WORD: Final = 3  # in a script without spaces, this many pairs of characters count as one word
MAX_COUNTED_WORDS: Final = 8  # in a longer question, only this many words count
FRESH_AGE: Final = timedelta(days=7)
FRESH_BOOST: Final = 1.2
# Boosts are bounded, so that they decide between close scores and never lift irrelevant hits.
IMPORTANCE_BOOST: Final = 0.2  # from 0.9 to 1.1
USAGE_BOOST: Final = 0.1  # maximum effect of citations and ignored displays
OUTDATED_FACTOR: Final = 0.6  # superseded and suspect memories rank behind valid ones
TOOL_OUTPUT_FACTOR: Final = 0.8  # tool calls and results rank behind what people say
MAX_SHALLOW: Final = 5
MAX_DEEP: Final = 20

# Weights of the scores: learned on three long conversations, cross-validated on each of them.
OWN_WEIGHT: Final = 2.6
WINDOW_WEIGHT: Final = 4.5
WIDE_WEIGHT: Final = 6.0
SESSION_WEIGHT: Final = 5.6
MEANING_WEIGHT: Final = 4.4
MEANING_WINDOW_WEIGHT: Final = 5.2
MAX_WEIGHT: Final = OWN_WEIGHT + WINDOW_WEIGHT + WIDE_WEIGHT + SESSION_WEIGHT + MEANING_WEIGHT + MEANING_WINDOW_WEIGHT
# Scores of a message on the same scale: speaker, time, length.
SPEAKER_SCORE: Final = 0.95  # the question names only this speaker
QUESTION_SCORE: Final = -1.0  # a text that ends in a question does not answer one
MONTH_SCORE: Final = 3.4  # said in the month that the question names
DAY_SCORE: Final = 2.8  # said near the named day
ASKED_SCORE: Final = 5.0  # a fact of the kind that the question asks for, times the probability of that kind
ASKED_SCORE_WITHOUT_WORD: Final = 2.0  # the same in a foreign language if it shares no word
ABOUT_USER_SCORE: Final = 20.0  # the same if the question is about the user
CHARACTER_SCORE: Final = 12.0  # the same for the share of the question's characters, in a script that has no vectors
MESSAGE_SHARE: Final = 0.6  # of that score, for a message by the user
LAST_SAID_SCORE: Final = 3.0  # of the facts about the user, the newest; of those in several scripts, the question's
LENGTH_FACTOR: Final = 1.0  # times the natural logarithm of its length relative to the mean
MEAN_LENGTH: Final = 15  # words
MAX_LENGTH: Final = 60  # words; more add nothing
FULL_WEIGHT_WORDS: Final = 5  # words of a question with full weight
HALVING_WORDS: Final = 8  # further words after which the weight is halved
_TOOL_EVENTS: Final = frozenset({MessageType.CALL, MessageType.RESULT})
_MAX_LOWER_GROWTH: Final = 3  # maximum growth of a text in lower case; it never shrinks
_WORD_PART: Final = re.compile(r"[0-9a-z]+|[\u30a1-\u30fa\u30fc]{2,}|[\u3400-\u9fff\uac00-\ud7af]")
MAX_INDEXED: Final = 8_000  # characters read per text


@dataclass(frozen=True, slots=True)
class RankedHit:
    """Memory with its score, snippet and reasons.

    `score` is between 0 and about 1.5.
    """

    memory: Memory | RankingView
    score: float
    snippet: str
    reasons: tuple[str, ...]


TermCounts = tuple[dict[str, int], int]  # count by stem, and length in words


# Lines of a commit message that name people, and git's status in front of a changed file.
_SIGNATURE_LINE: Final = re.compile(
    r"(?:co-authored|signed-off|reviewed|acked|tested)-by: |change-id: "
    r"|--HG--$|extra : |rename : \S+ => |branch : |git-svn-id: ",  # left by conversions from other systems
    re.IGNORECASE,
)
_VERSION: Final = re.compile(r"(?<![\w.])\d+(?:\.\d+)+(?![\w])")
OTHER_VERSION_FACTOR: Final = 0.7  # what does not name the version that was asked for ranks behind what does
_CHANGE_STATUS: Final = re.compile(r"^[A-Z]\d{0,3} (?=\S)")


def rank_results(
    query: str,
    hits: Sequence[Hit | RankingHit],
    *,
    depth: Depth,
    k: int,
    now: datetime,
    counts: Mapping[str, TermCounts] | None = None,
) -> list[SearchResult]:
    """Return at most `k` results for `query`, best first.

    Returns an empty list if nothing answers the query. `counts` maps ids to results of `count_memory_stems` for
    memories whose stems were already counted.
    """
    return [
        build_result(one.memory, one.snippet, round(one.score, 4), one.reasons)
        for one in rank_hits(query, hits, depth=depth, k=k, now=now, counts=counts)
    ]


def update_result(result: SearchResult, query: str, memory: Memory) -> SearchResult:
    """Return `result` with the current content of its memory.

    Score and reasons are unchanged.
    """
    snippet = make_snippet(_quotable_text(memory), extract_terms(query))
    return build_result(memory, snippet, result.score, result.reasons)


def _quotable_text(memory: Memory | RankingView) -> str:
    """Return the text of a memory that snippets are taken from.

    For commits, the title is left out because it is shown above the snippet, and sign-off lines are left out
    because they do not help readers.
    """
    if memory.kind is not Kind.EPISODE or memory.source.get("type") != "commit":
        return memory.content
    subject, _, rest = memory.content.partition("\n")
    body, _, files = ("\n" + rest).rpartition("\n\n")
    lines = [] if subject.startswith(memory.title) else [subject]  # truncated or reworded
    lines += [line for line in body.splitlines() if line and not _SIGNATURE_LINE.match(line)]
    lines.append(
        ", ".join(_CHANGE_STATUS.sub("", line) for line in files.splitlines() if not _SIGNATURE_LINE.match(line))
    )
    return "\n".join(filter(None, lines)) or memory.content


def _caller_ref(memory: Memory | RankingView) -> str | None:
    """Return the caller's own reference of a memory.

    Messages are stored under an internal key made from their position in the log; their sender knows them by the
    reference that the sender assigned.
    """
    caller_ref = memory.source.get("ref") if memory.kind is Kind.MESSAGE else None
    return caller_ref if isinstance(caller_ref, str) else memory.ref


def build_result(memory: Memory | RankingView, snippet_text: str, score: float, reasons: Sequence[str]) -> SearchResult:
    """Build the search result for a memory."""
    return SearchResult(
        id=memory.id,
        ref=_caller_ref(memory),
        kind=str(memory.kind),
        title=memory.title,
        snippet=snippet_text,
        source=dict(memory.source),
        at=format_iso(memory.at) if _has_date(memory) else None,
        score=score,
        reasons=list(reasons),
    )


def _has_date(memory: Memory | RankingView) -> bool:
    """Return True if a memory was said or done at a known time.

    For a fact that was read from a file, only the time of the last reading is known.
    """
    return describe(memory.kind).is_dated and not _is_read_in_file(memory)


def _is_read_in_file(memory: Memory | RankingView) -> bool:
    """Return True for a fact that a file in the project currently states."""
    return memory.source.get("type") == "convention"


def rank_hits(
    query: str,
    hits: Sequence[Hit | RankingHit],
    *,
    depth: Depth,
    k: int,
    now: datetime,
    counts: Mapping[str, TermCounts] | None = None,
) -> list[RankedHit]:
    """Return at most `k` ranked hits, best first.

    `hits` must include the neighbours of the messages that were found. If `depth` is "deep", at most MAX_DEEP hits
    are returned. If `depth` is "specific" and the query is exactly the name of some memories, only those memories
    are returned.
    """
    query_terms = extract_terms(query)
    roots = stem_question(query)
    scored_answers = _score_answers(query, roots, hits, now, counts or {})
    scored_answers.sort(key=lambda one: (-one.score, one.hit.memory.id))
    if depth == "specific" and any(one.is_exact_match for one in scored_answers):
        scored_answers = [one for one in scored_answers if one.is_exact_match]
    versions = _find_versions(query)
    return [
        _build_ranked(dict(zip(query_terms, roots, strict=True)), one, now, versions)
        for one in scored_answers[: min(k, MAX_DEEP if depth == "deep" else max(k, MAX_SHALLOW))]
    ]


class _ScoredHit(NamedTuple):
    hit: Hit | RankingHit
    stem_counts: Mapping[str, int]  # counts of the question's stems in the memory's own text
    nearby_stems: Set[str]  # stems that occur in it or in the messages beside it
    is_exact_match: bool
    score: float


def _score_answers(
    query: str, roots: Sequence[str], hits: Sequence[Hit | RankingHit], now: datetime, counts: Mapping[str, TermCounts]
) -> list[_ScoredHit]:
    """Return the hits that answer the question, with scores.

    `roots` are the word stems of the question.
    """
    if not hits:
        return []
    stems = list(dict.fromkeys(roots))
    if uncounted_memories := [hit.memory for hit in hits if hit.memory.id not in counts]:
        counts = {
            **counts,
            **dict(
                zip([one.id for one in uncounted_memories], count_memory_stems(uncounted_memories, stems), strict=True)
            ),
        }
    passages = [_build_passage(hit, counts[hit.memory.id]) for hit in hits]
    matrix = build_term_matrix(passages, stems)
    weights = estimate_rarities(matrix, [hit.lexical for hit in hits]) * [
        get_position_weight(place) for place in range(len(stems))
    ]
    passage_scores = score_passages(matrix, weights)
    time_expression, speaker = parse_time_expression(query), _find_named_speaker(stems, hits)
    name = query.strip().strip("`'\"").casefold()
    is_named = np.array([bool(name) and _is_called(name, hit.memory) for hit in hits], np.bool_)
    message_scores = [
        _score_message(hit.memory, one, time_expression, speaker) for hit, one in zip(hits, passages, strict=True)
    ]
    kind_scores, is_asked, is_about_user = _score_kinds(query, hits, np.asarray(passage_scores.covers.any(axis=1)))
    offsets = kind_scores + message_scores
    relevance = np.where(is_named, 1.0, (_compute_relevance(passage_scores) + offsets) / MAX_WEIGHT)
    scores = np.maximum(relevance, 0.0) * [_compute_boost(hit.memory, now) for hit in hits]
    if versions := _find_versions(query):
        scores *= [1.0 if versions & _find_versions(hit.memory) else OTHER_VERSION_FACTOR for hit in hits]
    coverage = passage_scores.covers @ [roots.count(root) for root in stems] / _count_expected_words(roots, counts)
    is_answer = _find_answers(coverage, [hit.similarity for hit in hits], is_asked)
    is_answer |= is_named | is_about_user | [bool(hit.why) for hit in hits]
    return [
        _ScoredHit(
            hits[at],
            passages[at].counts,
            set(compress(stems, passage_scores.covers[at])),
            bool(is_named[at]),
            float(scores[at]),
        )
        for at in np.flatnonzero(is_answer).tolist()
    ]


def _count_expected_words(roots: Sequence[str], counts: Mapping[str, TermCounts]) -> int:
    """Return how many words of a question a full answer must contain.

    In scripts without spaces, most pairs of characters are not words. Pairs that occur in no candidate are
    therefore ignored, but enough pairs are counted that a single pair is not a full answer to a long question.
    """
    present = {root for stem_counts, _ in counts.values() for root, times in stem_counts.items() if times}
    split = [root for root in roots if has_special_words(root)]
    absent = sum(root not in present for root in split)
    counted = max(len(split) - absent, len(split) // PAIRS_PER_WORD)
    return max(min(len(roots) - len(split) + counted, MAX_COUNTED_WORDS), 1)


def get_position_weight(place: int) -> float:
    """Return the weight of the word at position `place` in the question.

    Earlier words have more weight, because long questions name their subject first.
    """
    return 1.0 if place < FULL_WEIGHT_WORDS else HALVING_WORDS / (HALVING_WORDS + place - FULL_WEIGHT_WORDS)


def list_stems(query: str) -> list[str]:
    """Return the distinct word stems of a question, in order."""
    return list(dict.fromkeys(stem_question(query)))


def count_memory_stems(memories: Sequence[Memory | RankingView], roots: Sequence[str]) -> list[TermCounts]:
    """Count the question's stems in each memory.

    Returns, for each memory, the counts by stem and the number of content words.
    """
    return count_stems(roots, [_searchable_text(memory)[:MAX_INDEXED] for memory in memories])


def _build_passage(hit: Hit | RankingHit, counts: TermCounts) -> Passage:
    memory, (times, length) = hit.memory, counts
    if memory.kind is not Kind.MESSAGE:
        return Passage(times, length, hit.similarity)
    session, number = memory.source.get("session"), memory.source.get("number")
    if not isinstance(number, int) or session is None:
        return Passage(times, length, hit.similarity)
    return Passage(times, length, hit.similarity, str(session), number)


def _find_named_speaker(stems: Sequence[str], hits: Sequence[Hit | RankingHit]) -> str | None:
    """Return the speaker whom the question names, or None.

    Only the speakers of messages among the hits are considered. The result is also None if the question names
    several of them.
    """
    names = {str(name) for hit in hits if hit.memory.kind is Kind.MESSAGE and (name := hit.memory.source.get("name"))}
    named_speakers = [name for name in names if any(stem_prefix(word) in stems for word in extract_terms(name))]
    return named_speakers[0] if len(named_speakers) == 1 else None


def _compute_relevance(scores: PassageScores) -> Table:
    word_score = (
        OWN_WEIGHT * scores.own
        + WINDOW_WEIGHT * scores.window
        + WIDE_WEIGHT * scores.wide
        + SESSION_WEIGHT * scores.session
    )
    similarity, window_similarity = (np.maximum(one, 0.0) for one in (scores.meaning, scores.meaning_window))
    return word_score + MEANING_WEIGHT * similarity + MEANING_WINDOW_WEIGHT * window_similarity


def _score_message(
    memory: Memory | RankingView, passage: Passage, time_expression: TimeExpression | None, speaker: str | None
) -> float:
    """Return the part of a memory's score that is independent of its words.

    It depends on the time that the question names and, for messages, on the speaker, the length, and whether the
    text ends in a question.
    """
    month, day = matches_time(time_expression, memory.at) if time_expression is not None else (False, False)
    score = MONTH_SCORE * month + DAY_SCORE * day
    if memory.kind is not Kind.MESSAGE:
        return score
    score += QUESTION_SCORE * memory.content.rstrip().endswith("?") + SPEAKER_SCORE * (
        speaker is not None and memory.source.get("name") == speaker
    )
    return score + LENGTH_FACTOR * math.log((1 + min(passage.length, MAX_LENGTH)) / (1 + MEAN_LENGTH))


def _find_versions(text: str | Memory | RankingView) -> frozenset[str]:
    return frozenset(_VERSION.findall(text if isinstance(text, str) else _searchable_text(text)[:MAX_INDEXED]))


def _build_ranked(
    roots: Mapping[str, str], scored_hit: _ScoredHit, now: datetime, versions: frozenset[str]
) -> RankedHit:
    words = [word for word, root in roots.items() if root in scored_hit.stem_counts]
    words += sorted(versions & _find_versions(scored_hit.hit.memory)) if versions else ()
    nearby_words = [word for word, root in roots.items() if root in scored_hit.nearby_stems and word not in words]
    reasons = _build_reasons(scored_hit.hit, words, nearby_words, scored_hit.is_exact_match, now)
    return RankedHit(
        scored_hit.hit.memory,
        scored_hit.score,
        make_snippet(_quotable_text(scored_hit.hit.memory), words),
        tuple(reasons),
    )


def _score_kinds(
    query: str, hits: Sequence[Hit | RankingHit], shares_word: npt.NDArray[np.bool_]
) -> tuple[Table, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Score facts of the kind that the question asks for.

    Also returns masks of these facts, and of those that answer a question of the users about themselves. Among the
    second, the newest one in the script of the question comes first.
    """
    facts = {hit.memory.id for hit in hits if hit.memory.kind is Kind.FACT}
    kinds = rate_kinds(query) if facts else {}
    shares = np.array([rate_fact(kinds, hit.memory) if hit.memory.id in facts else 0.0 for hit in hits])
    is_about_user = (shares >= ASKED_ABOUT_USER) & [hit.memory.category in ABOUT_USER for hit in hits]
    order = np.argsort(np.argsort([hit.memory.at.timestamp() for hit in hits])) / len(hits)
    has_same_script = [has_special_words(hit.memory.content) == has_special_words(query) for hit in hits]
    kind_score = np.where(shares_word | (not is_foreign(query)), ASKED_SCORE, ASKED_SCORE_WITHOUT_WORD)
    scores = shares * np.where(is_about_user, ABOUT_USER_SCORE, kind_score)
    scores += is_about_user * LAST_SAID_SCORE * (order + has_same_script)
    if not has_special_words(query):
        return scores, shares >= ASKED, is_about_user
    # The embedding model cannot read the question, so that a fact of its kind may answer it in entirely other words.
    is_stated = (shares >= ASKED) & [hit.memory.source.get("type") == "session" for hit in hits]
    is_said = np.array([hit.memory.source.get("event") == MessageType.USER.value for hit in hits], np.bool_)
    common = _share_parts(query, [hit.memory.content for hit in hits])
    scores += (is_stated + MESSAGE_SHARE * is_said) * CHARACTER_SCORE * common
    is_stated |= is_said & (common >= MIN_COVERED_IF_ASKED)
    return scores, shares >= ASKED, is_about_user | is_stated


def _share_parts(query: str, texts: Sequence[str]) -> Table:
    """Return the share of the question's Han characters and foreign words in each text, by their rarity among these."""
    parts = sorted(set(_WORD_PART.findall(query.lower())))
    contains = np.array([[one in text.lower() for one in parts] for text in texts], np.float64)
    weights = np.log((1 + len(texts)) / (0.5 + contains.sum(axis=0)))
    shares: Table = contains @ weights / max(weights.sum(), 1e-9)
    return shares


def _find_answers(
    coverage: Table, similarities: Sequence[float | None], is_asked: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Return an array that is True for each hit that answers the question.

    A hit may answer the question by words or by meaning. `coverage` is the share of the question's words that each
    hit contains. Less of either is sufficient for a fact of the kind that is asked for.
    """
    similarity = np.array([-1.0 if one is None else one for one in similarities])
    min_coverage = np.where(similarity >= MIN_VAGUE, MIN_COVERED_IF_VAGUE, MIN_COVERED)
    min_coverage = np.where(is_asked, MIN_COVERED_IF_ASKED, min_coverage)
    min_similarity = np.where(is_asked, MIN_RELATED_IF_ASKED, MIN_RELATED)
    is_answer: npt.NDArray[np.bool_] = (similarity >= min_similarity) | (coverage >= min_coverage)
    return is_answer


def _compute_boost(memory: Memory | RankingView, now: datetime) -> float:
    is_current = _is_read_in_file(memory) or _measure_age(memory, now) <= FRESH_AGE
    freshness = FRESH_BOOST if is_current else 1.0
    importance_factor = 1.0 + IMPORTANCE_BOOST * (min(max(memory.importance, 0.0), 1.0) - 0.5)
    usage = memory.usage
    balance = usage.cited - max(0, usage.ignored - usage.cited) * 0.5
    usage_factor = 1.0 + USAGE_BOOST * max(-1.0, min(1.0, balance / 5))
    status_factor = OUTDATED_FACTOR if memory.status in (Status.SUPERSEDED, Status.SUSPECT) else 1.0
    tool_factor = TOOL_OUTPUT_FACTOR if memory.source.get("event") in _TOOL_EVENTS else 1.0
    return freshness * importance_factor * usage_factor * status_factor * tool_factor


def _measure_age(memory: Memory | RankingView, now: datetime) -> timedelta:
    """Return the time since the event that a memory describes.

    The age of patterns, workflows and facts read from files is the maximum, so they never count as recent. The same
    applies to events in the future.
    """
    if not _has_date(memory) or (at := memory.at) > now:
        return timedelta.max
    return now - at


def _is_called(name: str, memory: Memory | RankingView) -> bool:
    """Return True if `name` is exactly the name of the memory.

    `name` must be casefolded; it is compared with the id, ref, key, title and path.
    """
    paths = (artifact.ref for artifact in memory.artifacts if artifact.type == "file")
    for one in (memory.id, memory.ref, memory.key, memory.title, *paths):
        if one is not None and len(one) <= len(name) <= _MAX_LOWER_GROWTH * len(one) and one.casefold() == name:
            return True
    return False


def _build_reasons(
    hit: Hit | RankingHit, words: Sequence[str], nearby_words: Sequence[str], is_exact_match: bool, now: datetime
) -> list[str]:
    memory = hit.memory
    reasons = ["is exactly what was asked for"] if is_exact_match else []
    reasons += hit.why
    if words:
        reasons.append("says " + ", ".join(words[:5]))
    if nearby_words:
        reasons.append("said beside it: " + ", ".join(nearby_words[:5]))
    if hit.similarity is not None and hit.similarity >= MIN_RELATED:
        reasons.append(f"close in meaning ({hit.similarity:.2f})")
    age = _measure_age(memory, now)
    if age <= FRESH_AGE:
        reasons.append("from today" if age < timedelta(days=1) else f"{age.days} days old")
    if memory.usage.cited:
        reasons.append(f"was used {memory.usage.cited} times")
    if memory.status is not Status.ACTIVE:
        reasons.append(str(memory.status.value))
    return reasons


def _searchable_text(memory: Memory | RankingView) -> str:
    if memory.kind is Kind.MESSAGE:  # its title is the speaker and the beginning
        return f"{memory.source.get('name') or ''}\n{memory.content}"
    return "\n".join(filter(None, (memory.title, memory.content, memory.key, memory.value, *memory.tags)))
