"""Candidates from facts, contradictions and the profile, with their sources."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import PurePosixPath

from hunchd.consolidation.doubting import DOUBT
from hunchd.domain.context import Focus, Level, Piece
from hunchd.domain.facts import place_of
from hunchd.domain.memory import Kind, Memory, Status, Trust
from hunchd.domain.sharing import is_shared
from hunchd.engine.answering.convention_place import commands_told, narrowness, says_again, that_matter
from hunchd.engine.state.ages import ago
from hunchd.ingestion.conventions import is_on_demand
from hunchd.text.identifiers import split_ascii_letters
from hunchd.text.stemming import strip_plural
from hunchd.text.words import PATH_STOP_WORDS

# Value of each kind, relative to a file that will certainly be needed (1.0).
DECISION_HERE = 0.8  # a decision about the current file
DECISION_ELSEWHERE = 0.3
TOLD_BY_USER = 0.7  # stated by the user: rarely wrong to repeat
TOLD_HERE = 0.85  # … and about the current file or task
CONVENTION = 0.35
DOUBTED = 0.6  # factor for doubtful facts: half as likely to be valid, but worth a look

MOST_STATED_HERE = 10  # statements of the user about the work at hand
MOST_STATED_ELSEWHERE = 5  # … and about other things: general rules are among them
MOST_CONVENTIONS = 12
MOST_SENTENCES = 4  # of those, sentences of a guide
MOST_SHARED = 6  # of those, shared by colleagues: they must not crowd out what tools enforce
MOST_DECISIONS = 3  # decisions shown; others are found by search
OUTDATED = timedelta(days=3 * 365)  # choices of tools and versions are rarely valid for longer
_OF_ITS_DAY = frozenset(("at least", "dropped", "replaced", "switched", "switched to", "instead of"))
CONTRADICTION_HERE = 0.75  # an open contradiction about the current file
CONTRADICTION_ELSEWHERE = 0.4
PROFILE_HERE = 0.5  # a profile line about the current work
PROFILE_ALWAYS = 0.25  # … and a general preference

LEAST_IMPORTANCE = 0.5  # of the user's statements; others are found by search
MOST_CONTRADICTIONS = 3
MOST_OF_PROFILE = 4  # lines
LONGEST_LINE = 240  # characters of the profile; longer ones are stories
_PREFERENCES = "/profile/preferences"
_GONE = re.compile(r"[\w./-]{1,120} is gone$|`\w{1,60}` is defined nowhere any more")
_SHORTEST_WORD = 4  # letters
_RUN = 3  # consecutive words by which a fact quotes an error
_QUOTED = 2  # bonus for that, in shared words: it ranks first
_DECISION_HEAD = re.compile(r"^decision \([^)]*\): ")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")


def told_pieces(
    focus: Focus,
    facts: Iterable[Memory],
    conflicts: Iterable[Memory],
    profile: Iterable[Memory],
    now: datetime,
    errors: Iterable[str] = (),
) -> list[Piece]:
    """Build candidates from what the user stated, conventions, decisions, profile, contradictions.

    Decisions and profile lines are included only if they concern the current work. `errors` are the first lines of the
    current errors.
    """
    here = that_matter(_on_branch(facts, focus.branch), focus.file, focus.open_files)
    at_hand = words_at_hand(focus)
    quoting = _that_quote(errors, here)
    told = [fact for fact in here if fact.trust is Trust.USER]
    others = [fact for fact in here if fact.trust is not Trust.USER]
    habits = _most_telling([fact for fact in others if not (_waits(fact) or fact.id in quoting)], at_hand)
    waiting = [fact for fact in others if _waits(fact) or fact.id in quoting]
    spoken = " ".join((focus.branch, focus.query, *focus.errors)).casefold()
    decisions = [fact for fact in waiting if not (_is_outdated(fact, now) or _is_forgotten_name(fact, spoken, now))]
    telling = at_hand - _common(decisions)
    asked = telling & words_in(focus.query)
    shared = {
        fact.id: _shared(fact, asked if is_on_demand(fact) else telling) + (_QUOTED if fact.id in quoting else 0)
        for fact in decisions
    }
    speaking = sorted((fact for fact in decisions if shared[fact.id]), key=lambda fact: (-shared[fact.id], fact.id))
    said = _stated(told, focus, quoting, at_hand, now)
    open_now = [_conflict(*found, said, now) for found in _foremost(conflicts, focus, at_hand)]
    return [
        *(piece for piece in said.values() if not any(_quotes(one, piece) for one in open_now)),
        *(_fact(fact, now) for fact in habits),
        *(_decision(fact, shared[fact.id]) for fact in speaking[:MOST_DECISIONS]),
        *open_now,
        *_profile(profile, at_hand),
    ]


def words_at_hand(focus: Focus) -> frozenset[str]:
    """Return the words of the open files, the branch and the question."""
    near = map(_near, filter(None, (focus.file, *focus.open_files)))
    return words_in(" ".join((*near, focus.branch, focus.query)))


def _stated(
    told: Sequence[Memory], focus: Focus, quoting: Collection[str], at_hand: frozenset[str], now: datetime
) -> dict[str, Piece]:
    """Build pieces of what the user stated, by id: first what quotes an error or names the work, then the rest.

    Both are limited, so that facts about other things never push aside what concerns this file.
    """
    here = [fact for fact in told if fact.id in quoting or _speaks_of(fact, focus)]
    here.sort(key=lambda fact: (fact.id not in quoting, -len(at_hand & words_in(f"{fact.title} {fact.content}"))))
    elsewhere = [fact for fact in told if fact not in here and _matters(fact, at_hand)]
    elsewhere.sort(key=lambda fact: (-fact.importance, -fact.at.timestamp()))
    return {
        **{fact.id: _fact(fact, now, here=True) for fact in here[:MOST_STATED_HERE]},
        **{fact.id: _fact(fact, now) for fact in elsewhere[:MOST_STATED_ELSEWHERE]},
    }


def _on_branch(facts: Iterable[Memory], branch: str) -> Iterator[Memory]:
    """Yield the facts that are valid on `branch`.

    Its own, and those of the main line that it does not override.
    """
    here = [fact for fact in facts if fact.branch in (None, branch or None)]
    own = {place_of(replace(fact, branch=None)) for fact in here if fact.branch is not None}
    return (fact for fact in here if fact.branch is not None or fact.id not in own)


def _that_quote(errors: Iterable[str], facts: Sequence[Memory]) -> frozenset[str]:
    """Return the ids of facts that quote a few consecutive words of an error.

    Such as its message, or the name of the test that failed.
    """
    runs = frozenset[tuple[str, ...]]().union(*map(_runs, errors))
    return frozenset(fact.id for fact in facts if _quotes_one(f"{fact.title} {fact.content}", runs))


def _quotes_one(text: str, runs: frozenset[tuple[str, ...]]) -> bool:
    folded = text.casefold()
    near = {run for run in runs if all(word in folded for word in run)}  # usually none, which saves scanning the text
    return bool(near) and not near.isdisjoint(_runs(text))


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    """Return every run of a few consecutive words that is specific.

    A run is specific if it holds a telling word or is one name, such as `zic::tests::all`.
    """
    said = list(re.finditer(r"\w+", text))
    runs = (said[begin : begin + _RUN] for begin in range(len(said) - _RUN + 1))
    spans = ((run, text[run[0].start() : run[-1].end()]) for run in runs)
    return frozenset(
        tuple(word[0].casefold() for word in run) for run, span in spans if words_in(span) or " " not in span
    )


def _waits(fact: Memory) -> bool:
    """Return True if a fact is shown only where it concerns the current work.

    These are decisions, facts without a category, and on-demand rules.
    """
    return _is_decision(fact) or is_on_demand(fact) or (fact.category is None and not is_shared(fact))


def _is_decision(fact: Memory) -> bool:
    """Return True if it was decided once, in a record or commit.

    Otherwise it is a standing practice.
    """
    return fact.category == "decision" or fact.source.get("type") == "commit"


def _shared(fact: Memory, telling: frozenset[str]) -> int:
    """Count the significant words that a decision shares with the current work.

    A commit's choice must match its whole subject: a query client is no http client.
    """
    words = telling & _words_of(fact)
    subject = words_in(fact.key or "") if fact.source.get("type") == "commit" else frozenset[str]()
    return 0 if words < subject else len(words)


def _words_of(fact: Memory) -> frozenset[str]:
    """Return the significant words of a fact.

    For an on-demand rule, also those of its description.
    """
    about = " ".join(fact.tags) if is_on_demand(fact) else ""
    return words_in(f"{fact.title} {fact.content} {about}")


def _is_outdated(fact: Memory, now: datetime) -> bool:
    """Return True if a commit more than OUTDATED_AFTER ago chose the tool or version.

    If it were still valid, a file would say so.
    """
    return fact.source.get("type") == "commit" and fact.source.get("rule") in _OF_ITS_DAY and now - fact.at > OUTDATED


def _is_forgotten_name(fact: Memory, spoken: str, now: datetime) -> bool:
    """Return True for an old renaming that `spoken` does not mention.

    After OUTDATED_AFTER only people who use one of the names see it: the code has only the new one.
    """
    if fact.source.get("rule") != "renamed" or now - fact.at <= OUTDATED:
        return False
    names = ((fact.value or "").casefold(), (fact.key or "").removeprefix("name of ").casefold())
    near = [name for name in names if name and name in spoken]  # usually none, which saves compiling a pattern
    return not any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", spoken) for name in near)


def _matters(fact: Memory, at_hand: frozenset[str]) -> bool:
    return fact.importance >= LEAST_IMPORTANCE or bool(at_hand & words_in(f"{fact.title} {fact.content}"))


def _speaks_of(fact: Memory, focus: Focus) -> bool:
    """Return True if a fact names the current file or task."""
    path = PurePosixPath(focus.file or "")
    said = f"{fact.title} {fact.content}"
    at_hand = words_in(f"{path.stem} {focus.branch} {focus.query}")
    return bool(path.suffix and path.name in said) or bool(at_hand & words_in(said))


def _foremost(conflicts: Iterable[Memory], focus: Focus, at_hand: frozenset[str]) -> list[tuple[Memory, bool]]:
    """Return the open contradictions to show, with True for those about the current work.

    These come first; at most MAX_CONTRADICTIONS.
    """
    found = []
    for conflict in conflicts:
        here = focus.file in _files_of(conflict) or bool(at_hand & words_in(conflict.content))
        found.append((conflict, here))
    return sorted(found, key=lambda one: (not one[1], one[0].id))[:MOST_CONTRADICTIONS]


def _conflict(conflict: Memory, here: bool, said: Mapping[str, Piece], now: datetime) -> Piece:
    """Build the candidate of a contradiction.

    It replaces the user's facts on both sides, so its value is at least theirs.
    """
    sides = tuple(str(link["ref"]) for link in conflict.links)
    own = CONTRADICTION_HERE if here else CONTRADICTION_ELSEWHERE
    return Piece(
        id=conflict.id,
        kind="contradiction",
        tier=1,
        value=max(own, *(said[side].value for side in sides if side in said), 0.0),
        forms=(("summary", conflict.content), ("index", conflict.levels.index or conflict.title)),
        reasons=(f"open since {ago(conflict.created, now)}", f"hunch contradictions resolve {conflict.id}"),
        source={"type": "contradiction", "key": conflict.key, "sides": sides},
        trust=conflict.trust,
        about=_files_of(conflict),
    )


def _quotes(conflict: Piece, said: Piece) -> bool:
    """Return True if a contradiction already contains the text of a fact."""
    return (
        said.id in conflict.source.get("sides", ()) and said.forms[0][1].casefold() in conflict.forms[0][1].casefold()
    )


def _files_of(conflict: Memory) -> tuple[str, ...]:
    return tuple(artifact.ref for artifact in conflict.artifacts if artifact.type == "file")


def _profile(pages: Iterable[Memory], at_hand: frozenset[str]) -> Iterator[Piece]:
    """Yield profile lines that concern the current work, and a few preferences."""
    found = []
    for page in sorted(pages, key=lambda page: page.key or ""):
        for number, line in enumerate(page.content.splitlines()):
            text = _BULLET.sub("", line).strip()
            if not 3 < len(text) <= LONGEST_LINE or text.startswith(("#", "---", "```")):
                continue
            shared = len(at_hand & words_in(text))
            if shared or (page.key or "").startswith(_PREFERENCES):
                found.append((-shared, page.key or "", number, text, page))
    for shared, path, number, text, page in sorted(found, key=lambda one: one[:3])[:MOST_OF_PROFILE]:
        yield Piece(
            id=f"{page.id}.l{number}",
            kind="fact",
            tier=1 if shared else 3,
            value=PROFILE_HERE if shared else PROFILE_ALWAYS,
            forms=(("summary", text),),
            reasons=(f"from your {path}",),
            source={"type": "document", "path": path, "document": page.id},
            trust=page.trust,
        )


def _most_telling(facts: Sequence[Memory], at_hand: frozenset[str]) -> list[Memory]:
    """Select the conventions to show unasked.

    Those that tools enforce come before a guide's sentences; of shared ones, those about the current work come first.
    """
    best = sorted(facts, key=lambda fact: (-fact.importance * fact.confidence, fact.id))
    told = commands_told(facts)
    asked = [fact for fact in best if _is_sentence(fact) and not is_shared(fact) and not says_again(fact.content, told)]
    asked = sorted(asked, key=lambda fact: -narrowness(fact))[:MOST_SENTENCES]  # most specific first
    shared = sorted(filter(is_shared, best), key=lambda fact: -len(at_hand & words_in(f"{fact.title} {fact.content}")))
    enforced = [fact for fact in best if not (_is_sentence(fact) or is_shared(fact))]
    kept = {fact.id for fact in (*enforced, *asked, *shared[:MOST_SHARED])}
    return [fact for fact in best if fact.id in kept][:MOST_CONVENTIONS]


def _is_sentence(fact: Memory) -> bool:
    return fact.category == "instruction" or not (fact.key and fact.value)


def _fact(fact: Memory, now: datetime, *, here: bool = False) -> Piece:
    told = fact.trust is Trust.USER
    useful = TOLD_HERE if here else TOLD_BY_USER if told else CONVENTION
    place = fact.source.get("path") or fact.source.get("type")
    origin = (
        _said_by_user(fact, now) if told else _shared_by(fact) or _heard(fact) or (f"from {place}" if place else "")
    )
    forms: list[tuple[Level, str]] = [("summary", _sentence(fact))]
    if fact.levels.compressed:
        forms.append(("compressed", fact.levels.compressed))
    return Piece(
        id=fact.id,
        kind="decision" if fact.category == "decision" else "fact" if told else "convention",
        tier=1 if told else 3,
        value=useful * (0.5 + fact.importance / 2) * _belief(fact),
        forms=tuple(forms),
        reasons=(*_doubt(fact), *filter(None, (origin,))),
        source=fact.source,
        trust=fact.trust,
    )


def _belief(fact: Memory) -> float:
    """Return the probability that a fact is still valid."""
    return fact.confidence * (DOUBTED if fact.status is Status.SUSPECT else 1.0)


def _doubt(fact: Memory) -> tuple[str, ...]:
    """Return the reason for doubt.

    Only file names are quoted, other words may be untrusted.
    """
    if fact.status is not Status.SUSPECT:
        return ()
    gone = _GONE.match(str(fact.source.get(DOUBT, "")))
    return (f"in doubt: {gone[0]}",) if gone else ("in doubt: what it rests on has changed",)


def _said_by_user(fact: Memory, now: datetime) -> str:
    on_branch = f" on {fact.branch}" if fact.branch else ""
    since = f", {ago(fact.valid_from, now)}" if fact.valid_from else ""
    return f"{'you said so' if fact.source.get('type') == 'session' else 'you asked to remember it'}{on_branch}{since}"


def _heard(fact: Memory) -> str:
    """Describe the source of a client's or session's fact.

    For facts from neither a file nor a commit.
    """
    if fact.source.get("type") == "session":
        return "said in a session"
    if fact.source.get("client") == "mcp":
        return "an agent kept it"
    return "kept by a client" if fact.source.get("type") == "client" else ""


def _shared_by(fact: Memory) -> str:
    """Describe who shared a fact and where, if it was shared."""
    by = fact.source.get("by")
    return f"shared{f' by {by}' if by else ''} in {fact.source.get('path')}" if is_shared(fact) else ""


def _decision(fact: Memory, shared: int) -> Piece:
    text = _DECISION_HEAD.sub("", fact.levels.summary or fact.content)
    return Piece(
        id=fact.id,
        kind="decision" if _is_decision(fact) else "convention" if is_on_demand(fact) else "fact",
        tier=1 if shared > 1 else 3,
        value=(DECISION_HERE if shared > 1 else DECISION_ELSEWHERE) * _belief(fact),
        forms=(("summary", text), ("compressed", fact.title)),
        reasons=(*_doubt(fact), _origin(fact)),
        source=fact.source,
        trust=fact.trust,
    )


def _origin(fact: Memory) -> str:
    if shared := _shared_by(fact):
        return shared
    if sha := fact.source.get("sha"):
        return f"commit {str(sha)[:8]}, {fact.at:%Y-%m}"
    return str(fact.source.get("path") or _heard(fact) or "from the project")


def _near(path: str) -> str:
    """Return a path's folder and file stem.

    Folders further up are common to all files of a project, the suffix to all files of a language.
    """
    folders, _, name = path.rpartition("/")
    return f"{folders.rpartition('/')[2]}/{name.rpartition('.')[0] or name}"


def _common(decisions: Sequence[Memory]) -> frozenset[str]:
    """Return words too frequent in decisions to be specific, such as the project's name."""
    counted = Counter(word for fact in decisions for word in _words_of(fact))
    return frozenset(word for word, count in counted.items() if count > max(MOST_DECISIONS, len(decisions) // 10))


def words_in(text: str) -> frozenset[str]:
    """Return the significant words of a path, branch or sentence.

    Camel case is split: `OwnerController` is about owners.
    """
    words = (word.lower() for word in split_ascii_letters(text) if len(word) >= _SHORTEST_WORD)
    return frozenset(strip_plural(word, shortest=_SHORTEST_WORD) for word in words if word not in PATH_STOP_WORDS)


def _sentence(fact: Memory) -> str:
    if fact.kind is Kind.FACT and fact.key and fact.value and fact.category not in ("decision", "instruction"):
        summary = fact.levels.summary
        return summary if summary.startswith(f"{fact.key}: {fact.value}") else f"{fact.key}: {fact.value}"
    return fact.levels.summary or fact.content or fact.title
