"""New collaborators of a project: where they work and what they prefer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from hunchd.domain.context import Piece
from hunchd.domain.history import Unit
from hunchd.domain.memory import Trust
from hunchd.domain.work import is_bot
from hunchd.engine.state.ages import ago
from hunchd.engine.state.project import Collaborator, Project
from hunchd.ingestion.redaction import redact
from hunchd.prediction import people
from hunchd.protocol.answers import iso

NEWS = timedelta(days=14)  # a newcomer is news for two weeks
MOST = 3  # newest collaborators; more at once is a merge of strangers, not a new colleague
UNITS_BEFORE = 20  # below this many units everybody is new
VALUE = 0.45  # a little above a convention
_PERSON = re.compile(r"^(.*?)\s*<([^<>]+)>$")
LONGEST_NAME = 60  # characters


def noticed(project: Project, unit: Unit) -> None:
    """Record the authors of a new unit who were never seen before.

    Call before it is learned.
    """
    predictor = project.predictor
    if predictor is None or len(predictor) < UNITS_BEFORE or is_bot(unit):
        return
    for name, email in _authors(unit):
        known = people.units_by(predictor.state, email, name) > 0 or email.lower() in project.users
        if not known and name:
            joined(project, name, email, datetime.fromtimestamp(unit.at, UTC), author=True)


def joined(project: Project, name: str, email: str, at: datetime, *, author: bool = False) -> None:
    """Record a new collaborator; only the newest MAX_COLLABORATORS are kept."""
    key = (email or name).lower()
    project.joined.pop(key, None)
    project.joined[key] = Collaborator(redact(name).text[:LONGEST_NAME], email, at, author)
    while len(project.joined) > MOST:
        project.joined.popitem(last=False)
    project.touch()


def pieces(project: Project, now: datetime) -> list[Piece]:
    """Build a candidate for each collaborator who joined within NEWS_PERIOD."""
    return [_piece(project, one, now) for one in project.joined.values() if now - one.at <= NEWS]


def _authors(unit: Unit) -> Iterator[tuple[str, str]]:
    yield unit.author, unit.email
    for coauthor in unit.coauthors:
        if found := _PERSON.match(coauthor):
            yield found[1], found[2]


def _piece(project: Project, one: Collaborator, now: datetime) -> Piece:
    places: tuple[str, ...] = ()
    if project.predictor is not None:
        places = people.works_on(project.predictor.state, one.email, one.name)
    short = f"{one.name} joined {ago(one.at, now)}"
    text = short + (f", works on {', '.join(places)}" if places else "")
    if wishes := [fact.content for fact in project.facts.values() if _is_wish_of(fact.category, fact.content, one)]:
        text += f"; {'; '.join(wishes[:2])}"
    return Piece(
        id=f"collaborator:{one.name}",
        kind="collaborator",
        tier=3,
        value=VALUE,
        forms=(("summary", text), ("compressed", short)),
        reasons=("new author on the branch",) if one.author else (),
        source={"type": "history", "at": iso(one.at)},
        trust=Trust.UNTRUSTED,
    )


def _is_wish_of(category: str | None, content: str, one: Collaborator) -> bool:
    return category == "preference" and re.search(rf"\b{re.escape(one.name)}\b", content, re.IGNORECASE) is not None
