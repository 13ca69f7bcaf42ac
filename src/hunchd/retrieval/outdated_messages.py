"""Ranking of messages whose statement was later changed or withdrawn.

Such messages are ranked below current facts and marked as outdated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from hunchd.domain.facts import is_over
from hunchd.domain.memory import Memory
from hunchd.protocol.search_results import SearchResult
from hunchd.retrieval.ranking import OUTDATED_FACTOR, build_result

SAID_BEFORE: Final = "said_before"  # type of a link from a fact to the message that said what it replaced


def put_current_first(results: Sequence[SearchResult], facts: Iterable[Memory], now: datetime) -> list[SearchResult]:
    """Rank current facts above the messages that they made outdated.

    Each outdated message gets a lower score and a reason that names the fact that replaced it. That fact is added
    to the results, or rises to the message's former score. If the statement was only withdrawn, no fact takes its
    place.
    """
    successors = {str(link["ref"]): fact for fact in facts for link in fact.links if link.get("type") == SAID_BEFORE}
    result_by_id = {one.id: one for one in results}
    for result in results:
        if (successor := successors.get(result.id)) is None:
            continue
        verb = "withdrawn" if is_over(successor, now) else "replaced"
        reasons = [*result.reasons, f"{verb} later: {successor.title}"]
        result_by_id[result.id] = replace(result, score=round(result.score * OUTDATED_FACTOR, 4), reasons=reasons)
        if not is_over(successor, now):
            current = result_by_id.get(successor.id) or build_result(
                successor, successor.content, 0.0, ["holds instead of what was said earlier"]
            )
            result_by_id[successor.id] = replace(current, score=max(current.score, result.score))
    return sorted(result_by_id.values(), key=lambda one: -one.score)
