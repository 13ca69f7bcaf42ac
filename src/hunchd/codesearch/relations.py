"""Chunks that use, test or describe a definition, found by the mentions of its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from hunchd.codesearch.chunks import ChunkClass
from hunchd.codesearch.index import Array, CodeIndex
from hunchd.codesearch.query import CodeQuery, Relation
from hunchd.codesearch.roles import Role
from hunchd.codesearch.terms import extract_identifier_terms, find_identifiers, hash_name

TARGETS: Final = 5  # definitions that the question may describe
MOST_MENTIONS: Final = 60  # chunks that contain a name: a name with more is a common word
# Log odds that a chunk gains by mentioning the definition, or loses by being it. On 91 questions "what uses …" and 51
# "which test covers …" about 12 repositories, values from 3 to 5 find equally much.
RELATION_GAIN: Final = 4.0
OTHER_ROLE: Final = 2.0  # log odds that a chunk loses if a test or a document is asked for and it is none
_ROLES: Final[Mapping[Relation, tuple[Role, ...]]] = {
    "uses": (Role.SOURCE, Role.EXAMPLE, Role.TEST),
    "tests": (Role.TEST,),
    "describes": (Role.DOCS,),
}


Target = tuple[str, int, float]  # name that the question may be about, term of its mentions, and probability


def find_targets(index: CodeIndex, query: CodeQuery, candidates: Array, scores: Array) -> list[Target]:
    """Return the names in the question, or those of the definitions that fit it best, the most probable last."""
    if names := [name for name in query.symbols if len(index.find_mentions(hash_name(name)))]:
        return [(name, (0, *extract_identifier_terms(find_identifiers(name)[-1]))[-1], 1.0) for name in names]
    is_source = index.roles[index.chunk_files[candidates]] == Role.SOURCE
    is_source &= index.chunk_classes[candidates] != ChunkClass.TEST
    fit = np.flatnonzero((index.chunk_names[candidates] > 0) & is_source)
    best = fit[np.argsort(scores[fit], kind="stable")[-TARGETS:]]
    odds = np.exp(scores[best] - scores[best].max(initial=0.0))
    targets: list[Target] = []
    for chunk, weight in zip(candidates[best].tolist(), (odds / max(float(odds.sum()), 1e-6)).tolist(), strict=True):
        segment, number = index.locate_chunk(chunk)
        targets.append((segment.get_texts(number)[0], int(index.chunk_names[chunk]), weight))
    return [one for one in targets if len(index.find_mentions(one[1])) <= MOST_MENTIONS]


def rate_relations(index: CodeIndex, relation: Relation, targets: list[Target]) -> tuple[Array, dict[int, str]]:
    """Return what mentioning the targets adds to the score of each chunk, and the name that each mentions."""
    gains, related_names = np.zeros(len(index.chunk_files), "<f4"), dict[int, str]()
    fits = np.isin(index.roles, _ROLES[relation])[index.chunk_files]
    if relation == "tests":
        fits |= index.chunk_classes == ChunkClass.TEST
    for name, term, weight in targets:
        mentions = index.find_mentions(term)
        is_definition = index.chunk_names[mentions] == term
        if relation == "uses":
            gains[mentions[is_definition]] -= RELATION_GAIN * weight
        users = mentions[~is_definition & fits[mentions]]
        gains[users] += RELATION_GAIN * weight
        related_names |= dict.fromkeys(users.tolist(), name)
    return (gains if relation == "uses" else gains - OTHER_ROLE * ~fits), related_names
