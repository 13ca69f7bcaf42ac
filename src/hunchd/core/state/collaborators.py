"""New collaborators of a project, with the files they work on and their preferences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from hunchd.core.state.project import Collaborator, Project
from hunchd.core.state.relative_time import format_age
from hunchd.domain.context import ContextCandidate
from hunchd.domain.history import Unit
from hunchd.domain.memory import Trust
from hunchd.domain.unit_classification import is_bot
from hunchd.ingestion.redaction import redact
from hunchd.prediction import authors
from hunchd.protocol.responses import format_iso

NEWS_PERIOD = timedelta(days=14)  # a new collaborator is mentioned for two weeks
MAX_COLLABORATORS = 3  # newest collaborators; more at once come with a merge from outsiders
MIN_UNITS = 20  # with fewer units, every author would count as new
COLLABORATOR_VALUE = 0.45  # slightly above that of a convention
_PERSON_PATTERN = re.compile(r"^(.*?)\s*<([^<>]+)>$")
MAX_NAME_LENGTH = 60  # characters


def detect_collaborators(project: Project, unit: Unit) -> None:
    """Record the authors who appear for the first time.

    `unit` is a new unit of work. This must be called before the predictor learns the unit.
    """
    predictor = project.predictor
    if predictor is None or len(predictor) < MIN_UNITS or is_bot(unit):
        return
    for name, email in _iter_authors(unit):
        is_known = authors.count_units(predictor.state, email, name) > 0 or email.lower() in project.user_emails
        if not is_known and name:
            add_collaborator(project, name, email, datetime.fromtimestamp(unit.at, UTC), author=True)


def add_collaborator(project: Project, name: str, email: str, at: datetime, *, author: bool = False) -> None:
    """Record a new collaborator, keeping only the newest MAX_COLLABORATORS.

    `author` is True if the collaborator was detected as the author of a commit.
    """
    key = (email or name).lower()
    project.collaborators.pop(key, None)
    project.collaborators[key] = Collaborator(redact(name).text[:MAX_NAME_LENGTH], email, at, author)
    while len(project.collaborators) > MAX_COLLABORATORS:
        project.collaborators.popitem(last=False)
    project.bump_revision()


def build_collaborator_candidates(project: Project, now: datetime) -> list[ContextCandidate]:
    """Build a bundle candidate for each collaborator who joined within NEWS_PERIOD."""
    return [
        _build_candidate(project, one, now) for one in project.collaborators.values() if now - one.at <= NEWS_PERIOD
    ]


def _iter_authors(unit: Unit) -> Iterator[tuple[str, str]]:
    yield unit.author, unit.email
    for coauthor in unit.coauthors:
        if match := _PERSON_PATTERN.match(coauthor):
            yield match[1], match[2]


def _build_candidate(project: Project, one: Collaborator, now: datetime) -> ContextCandidate:
    works_on: tuple[str, ...] = ()
    if project.predictor is not None:
        works_on = authors.list_main_folders(project.predictor.state, one.email, one.name)
    short = f"{one.name} joined {format_age(one.at, now)}"
    text = short + (f", works on {', '.join(works_on)}" if works_on else "")
    if wishes := [
        fact.content for fact in project.facts.values() if _is_preference_of(fact.category, fact.content, one)
    ]:
        text += f"; {'; '.join(wishes[:2])}"
    return ContextCandidate(
        id=f"collaborator:{one.name}",
        kind="collaborator",
        tier=3,
        value=COLLABORATOR_VALUE,
        forms=(("summary", text), ("compressed", short)),
        reasons=("new author on the branch",) if one.author else (),
        source={"type": "history", "at": format_iso(one.at)},
        trust=Trust.UNTRUSTED,
    )


def _is_preference_of(category: str | None, content: str, one: Collaborator) -> bool:
    return category == "preference" and re.search(rf"\b{re.escape(one.name)}\b", content, re.IGNORECASE) is not None
