"""Which of several statements about one subject holds, in words, beside the results of a search."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from hunchd.consolidation.contradiction_records import parse_sides
from hunchd.domain.facts import get_source_name, get_valid_from
from hunchd.domain.memory import Memory
from hunchd.protocol.search_results import SearchResult

MAX_QUOTE: Final = 60  # characters of the other statement


def describe_standing(
    results: Sequence[SearchResult], conflicts: Iterable[Memory], histories: Iterable[Sequence[Memory]]
) -> list[SearchResult]:
    """Say of each fact what it replaced or what contradicts it; a source's last word comes before its earlier ones.

    `conflicts` are open contradictions; each of `histories` is a fact with all that it replaced.
    """
    result_by_id, reasons = {one.id: one for one in results}, defaultdict[str, list[str]](list)
    about_results = (one for one in conflicts if any(link.get("ref") in result_by_id for link in one.links))
    for earlier, later in (sorted(parse_sides(one), key=get_valid_from) for one in about_results):
        is_last_word = get_source_name(earlier) == get_source_name(later) != ""
        word = "said later than" if is_last_word else "contradicts"
        reasons[later.id].append(f"to decide: {word} {_quote(earlier, get_valid_from(earlier))}")
        word = "said before" if is_last_word else "contradicts"
        reasons[earlier.id].append(f"to decide: {word} {_quote(later, get_valid_from(later))}")
        first, second = result_by_id.get(earlier.id), result_by_id.get(later.id)
        if is_last_word and first is not None and second is not None and first.score > second.score:
            result_by_id |= {
                first.id: replace(first, score=second.score),
                second.id: replace(second, score=first.score),
            }
    for head, *before in histories:
        reasons[head.id] += (
            [] if reasons[head.id] or not before else [f"holds since {_format_time(get_valid_from(head))}"]
        )
        reasons[head.id] += [f"replaced {_quote(one, one.valid_to)}" for one in before]
    described_results = [replace(one, reasons=[*reasons[one.id], *one.reasons]) for one in result_by_id.values()]
    return sorted(described_results, key=lambda one: -one.score)


def _quote(memory: Memory, moment: datetime | None) -> str:
    text = " ".join(memory.title.split())
    text = text if len(text) <= MAX_QUOTE else f"{text[:MAX_QUOTE]}…"
    return f"“{text}”" + (f" ({_format_time(moment)})" if moment else "")


def _format_time(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"
