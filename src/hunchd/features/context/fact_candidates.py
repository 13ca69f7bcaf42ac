"""Candidates for a bundle from facts, contradictions and the user's profile, with their sources.

The profile consists of documents about the user. Words "at hand" are those of the current work: the open files, the
branch and the question.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import PurePosixPath

from hunchd.consolidation.contradiction_records import parse_sides
from hunchd.consolidation.staleness import STALE_REASON
from hunchd.core.state.relative_time import format_age
from hunchd.domain.context import ContextCandidate, Focus, Level
from hunchd.domain.facts import slot_of
from hunchd.domain.memory import Kind, Memory, Status, Trust
from hunchd.domain.sharing import is_from_colleague, is_shared
from hunchd.features.context.convention_relevance import (
    NO_TESTS,
    FileTests,
    get_depth,
    get_subject,
    is_convention,
    is_for_agents,
    is_from_project,
    is_repeated_command,
    list_convention_commands,
    names_file,
    narrow_tests,
    says_where,
    select_relevant_facts,
    tells_enough,
)
from hunchd.ingestion.conventions import get_topic, is_on_demand
from hunchd.ingestion.rule_classifier import VAGUE
from hunchd.text.identifiers import split_ascii_letters
from hunchd.text.stemming import strip_plural
from hunchd.text.words import PATH_STOP_WORDS

# Value of each kind, relative to a file that will certainly be needed (1.0).
DECISION_RELEVANT_VALUE = 0.8  # a decision about the current file
DECISION_OTHER_VALUE = 0.3
USER_FACT_VALUE = 0.7  # stated by the user: it is rarely wrong to repeat it
USER_FACT_RELEVANT_VALUE = 0.85  # … and about the current file or task
CONVENTION_VALUE = 0.35
DOUBT_FACTOR = 0.6  # factor for doubtful facts: half as likely to be valid, but worth a look

MOST_STATED_HERE = 10  # maximum of the user's statements about the current work
MOST_STATED_ELSEWHERE = 5  # … and about other things, among them general rules
MAX_CONVENTIONS = 9  # stated by manifests and commands
MIN_SHARED_WORDS = 2  # of a sentence with the question
MAX_SENTENCES = 2  # from guides for people; twice as many for a whole change, like the next two
MAX_AGENT_RULES = 5  # from guides for agents
MAX_OF_TOPIC = 2  # sentences about one topic, in a guide for agents
MAX_SHARED = 6  # shared by colleagues
MAX_TEAM_DECISIONS = 2  # of colleagues, about other things than the open file
MAX_TOOLS_LENGTH = 300  # characters of the line of tools; a longer one would be cut
MAX_DECISIONS = 3  # decisions shown; others are found by search
OUTDATED_AFTER = timedelta(days=3 * 365)  # choices of tools and versions are rarely valid for longer
_TOOL_CHOICE_RULES = frozenset(("at least", "dropped", "replaced", "switched", "switched to", "instead of"))
CONTRADICTION_RELEVANT_VALUE = 0.75  # an open contradiction about the current file
CONTRADICTION_OTHER_VALUE = 0.4
PROFILE_RELEVANT_VALUE = 0.5  # a profile line about the current work
PROFILE_PREFERENCE_VALUE = 0.25  # … and a general preference

MIN_IMPORTANCE = 0.5  # minimum importance of the user's statements; others are found by search
MAX_CONTRADICTIONS = 3
MAX_PROFILE_LINES = 4  # lines
MAX_PROFILE_LINE_LENGTH = 240  # characters in a line; longer lines are stories
MAX_VERBATIM = 240  # characters of a user's statement that is quoted whole
_ABOUT_PEOPLE = ("identity", "person")
_PREFERENCES_PATH = "/profile/preferences"
_DELETED_PATTERN = re.compile(r"[\w./-]{1,120} is gone$|`\w{1,60}` is defined nowhere any more")
_MIN_WORD_LENGTH = 4  # letters
_QUOTE_WORDS = 3  # consecutive words by which a fact quotes an error
_QUOTE_BONUS = 2  # bonus for a quote, counted as shared words, so that it ranks first
_FILE_NAME_PATTERN = re.compile(r"(?<![\w.])[\w@+-]+(?:/[\w.@+-]+)+\.[A-Za-z]\w{0,7}(?![\w/])")
ONLY_ITS_FILES = "only-its-files"  # tag of a statement that applies only to the files among its artifacts
_DECISION_HEAD_PATTERN = re.compile(r"^decision \([^)]*\): ")
_BULLET_PATTERN = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")


def build_fact_candidates(
    focus: Focus,
    facts: Iterable[Memory],
    conflicts: Iterable[Memory],
    profile: Iterable[Memory],
    now: datetime,
    errors: Iterable[str] = (),
    tests: FileTests = NO_TESTS,
) -> list[ContextCandidate]:
    """Build candidates from user statements, conventions, decisions, contradictions and the profile.

    Decisions are included only if they concern the current work or are the newest of the team; profile lines, only
    if they concern it or are preferences. `errors` are the headlines of the current errors; `tests` are those of the
    current file.
    """
    here = select_relevant_facts(_iter_branch_facts(facts, focus.branch), focus.file, focus.open_files, focus.activity)
    at_hand = words_at_hand(focus)
    quoting_ids = _find_quoting_facts(errors, here)
    user_facts = [fact for fact in here if fact.trust is Trust.USER and _applies_to_focus(fact, focus)]
    others = [fact for fact in here if fact.trust is not Trust.USER]
    habits = _select_conventions(
        [fact for fact in others if not (_is_shown_on_match(fact) or fact.id in quoting_ids)], at_hand, focus
    )
    match_only_facts = [fact for fact in others if _is_shown_on_match(fact) or fact.id in quoting_ids]
    spoken_text = " ".join((focus.branch, focus.query, *focus.errors)).casefold()
    decisions = [
        fact for fact in match_only_facts if not (_is_outdated(fact, now) or _is_old_renaming(fact, spoken_text, now))
    ]
    specific_words = at_hand - _find_common_words(decisions)
    query_words = specific_words & extract_words(focus.query)
    shared_counts = {
        fact.id: _count_shared_words(fact, query_words if is_on_demand(fact) else specific_words)
        + (_QUOTE_BONUS if fact.id in quoting_ids else 0)
        for fact in decisions
    }
    matching_decisions = sorted(
        (fact for fact in decisions if shared_counts[fact.id]), key=lambda fact: (-shared_counts[fact.id], fact.id)
    )
    user_candidates = _build_stated_candidates(user_facts, focus, quoting_ids, at_hand, now)
    open_now = [
        _build_contradiction_candidate(*contradiction, user_candidates, now)
        for contradiction in _select_contradictions(conflicts, focus, at_hand)
    ]
    team_decisions = _select_team_decisions(decisions, matching_decisions[:MAX_DECISIONS], focus)
    stated = [*user_candidates.values(), *(_build_decision_candidate(fact, 0) for fact in team_decisions)]
    return [
        *(one for one in stated if one.source.get("names") or not any(_contains_fact_text(it, one) for it in open_now)),
        *_build_habit_candidates(habits, focus.file, tests, now),
        *(_build_decision_candidate(fact, shared_counts[fact.id]) for fact in matching_decisions[:MAX_DECISIONS]),
        *open_now,
        *_build_profile_candidates(profile, at_hand),
    ]


def _select_team_decisions(decisions: Sequence[Memory], matching: Sequence[Memory], focus: Focus) -> list[Memory]:
    """Select the team's newest decisions that share no word with the current work.

    A project's decisions apply to all of its files. Beside a file, there are few of them, so that answers stay short;
    an answer to a question contains none.
    """
    if focus.query:
        return []
    of_team = [fact for fact in decisions if fact.trust is Trust.TEAM and fact.category == "decision"]
    others = [fact for fact in of_team if fact not in matching and fact.importance >= MIN_IMPORTANCE]
    others.sort(key=lambda fact: (-fact.at.timestamp(), fact.id))
    limit = MAX_SHARED if focus.file is None else MAX_TEAM_DECISIONS
    return others[: max(limit - (len(of_team) - len(others)), 0)]


def words_at_hand(focus: Focus) -> frozenset[str]:
    """Return the significant words of the open files, the branch and the question."""
    near = map(_get_folder_and_stem, filter(None, (focus.file, *focus.open_files)))
    return extract_words(" ".join((*near, focus.branch, focus.query)))


def _build_stated_candidates(
    facts: Sequence[Memory], focus: Focus, quoting: Collection[str], at_hand: frozenset[str], now: datetime
) -> dict[str, ContextCandidate]:
    """Build candidates from the user's statements, keyed by the fact's id.

    Statements that quote an error or mention the current work come first. Their number is limited separately from
    the number of other statements, so that statements about other things never displace those about this file. Of
    these, what the user asked to remember comes before what was said in a session; who somebody is has no place here.
    """
    here = [fact for fact in facts if fact.id in quoting or _mentions_focus(fact, focus)]
    here.sort(
        key=lambda fact: (
            fact.id not in quoting,
            not _names_path(fact, focus.file),
            -len(at_hand & extract_words(f"{fact.title} {fact.content}")),
        )
    )
    ids = {fact.id for fact in here}
    elsewhere = [
        fact
        for fact in facts
        if fact.id not in ids and fact.category not in _ABOUT_PEOPLE and _is_relevant_user_fact(fact, at_hand)
    ]
    elsewhere.sort(
        key=lambda fact: (
            bool(_FILE_NAME_PATTERN.search(fact.content)),  # of others than those at hand
            fact.source.get("type") == "session",
            -fact.importance,
            -fact.at.timestamp(),
        )
    )
    return {
        **{
            fact.id: _build_fact_candidate(fact, now, here=True, names_focus=_names_path(fact, focus.file))
            for fact in here[:MOST_STATED_HERE]
        },
        **{fact.id: _build_fact_candidate(fact, now) for fact in elsewhere[:MOST_STATED_ELSEWHERE]},
    }


def _iter_branch_facts(facts: Iterable[Memory], branch: str) -> Iterator[Memory]:
    """Yield the facts that are valid on `branch`.

    These are the facts stated for this branch, and those facts for all branches that no fact stated for this branch
    overrides.
    """
    here = [fact for fact in facts if fact.branch in (None, branch or None)]
    own = {slot_of(replace(fact, branch=None)) for fact in here if fact.branch is not None}
    return (fact for fact in here if fact.branch is not None or fact.id not in own)


def _find_quoting_facts(errors: Iterable[str], facts: Sequence[Memory]) -> frozenset[str]:
    """Return the ids of facts that quote words of an error."""
    runs = frozenset[tuple[str, ...]]().union(*map(_extract_word_runs, errors))
    return frozenset(fact.id for fact in facts if _contains_run(f"{fact.title} {fact.content}", runs))


def _contains_run(text: str, runs: frozenset[tuple[str, ...]]) -> bool:
    folded_text = text.casefold()
    near = {
        run for run in runs if all(word in folded_text for word in run)
    }  # usually none, which saves scanning the text
    return bool(near) and not near.isdisjoint(_extract_word_runs(text))


def _extract_word_runs(text: str) -> frozenset[tuple[str, ...]]:
    """Return every specific run of _QUOTE_WORDS consecutive words in a text.

    A run is specific if it contains a significant word or is a single name, such as `zic::tests::all`.
    """
    word_matches = list(re.finditer(r"\w+", text))
    runs = (word_matches[begin : begin + _QUOTE_WORDS] for begin in range(len(word_matches) - _QUOTE_WORDS + 1))
    spans = ((run, text[run[0].start() : run[-1].end()]) for run in runs)
    return frozenset(
        tuple(word[0].casefold() for word in run) for run, span in spans if extract_words(span) or " " not in span
    )


def _is_shown_on_match(fact: Memory) -> bool:
    """Return True if a fact is shown only when it concerns the current work.

    This is so for decisions, on-demand rules, and facts without a category unless a colleague stated them.
    """
    return _is_decision(fact) or is_on_demand(fact) or (fact.category is None and not is_from_colleague(fact))


def _is_decision(fact: Memory) -> bool:
    """Return True if a record or a commit states a decision."""
    return fact.category == "decision" or fact.source.get("type") == "commit"


def _count_shared_words(fact: Memory, specific_words: frozenset[str]) -> int:
    """Count the significant words that a fact shares with the current work.

    For a decision made by a commit, every word of its subject must be shared, or 0 is returned: a query client is
    not an HTTP client.
    """
    words = specific_words & _get_fact_words(fact)
    subject = extract_words(fact.key or "") if fact.source.get("type") == "commit" else frozenset[str]()
    return 0 if words < subject else len(words)


def _get_fact_words(fact: Memory) -> frozenset[str]:
    """Return the significant words of a fact, with its description."""
    about = " ".join(fact.tags) if is_on_demand(fact) else ""
    return extract_words(f"{fact.title} {fact.content} {about}")


def _is_outdated(fact: Memory, now: datetime) -> bool:
    """Return True for a choice of tool or version that is probably outdated.

    Such a choice was made by a commit longer ago than OUTDATED_AFTER. If the choice were still valid, a file of the
    project would state it.
    """
    return (
        fact.source.get("type") == "commit"
        and fact.source.get("rule") in _TOOL_CHOICE_RULES
        and now - fact.at > OUTDATED_AFTER
    )


def _is_old_renaming(fact: Memory, spoken_text: str, now: datetime) -> bool:
    """Return True if `fact` is a rename older than OUTDATED_AFTER and `spoken_text` mentions neither name.

    By then the code contains only the new name, so the rename matters only to a user who still mentions one of the
    names.
    """
    if fact.source.get("rule") != "renamed" or now - fact.at <= OUTDATED_AFTER:
        return False
    names = ((fact.value or "").casefold(), (fact.key or "").removeprefix("name of ").casefold())
    near = [name for name in names if name and name in spoken_text]  # usually none, which saves compiling a pattern
    return not any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", spoken_text) for name in near)


def _is_relevant_user_fact(fact: Memory, at_hand: frozenset[str]) -> bool:
    return fact.importance >= MIN_IMPORTANCE or bool(at_hand & extract_words(f"{fact.title} {fact.content}"))


def _mentions_focus(fact: Memory, focus: Focus) -> bool:
    """Return True if a fact shares words with the focus."""
    path = PurePosixPath(focus.file or "")
    at_hand = extract_words(f"{path.stem} {focus.branch} {focus.query}")
    return _names_path(fact, focus.file) or bool(at_hand & extract_words(f"{fact.title} {fact.content}"))


def _names_path(fact: Memory, file: str | None) -> bool:
    """Return True if a statement names `file`: by its path, or by the end of its path."""
    text, name = f"{fact.title} {fact.content}", (file or "").rpartition("/")[2]
    if not file or "." not in name or name not in text:
        return False
    mentions = re.findall(rf"(?<![\w/.-])(?:\./)?((?:[\w.@+-]+/)*{re.escape(name)})(?![\w/-])", text)
    return any(f"/{file}".endswith(f"/{mention}") for mention in mentions)


def _applies_to_focus(fact: Memory, focus: Focus) -> bool:
    """Return False for a statement that was restricted to other files than those at hand."""
    at_hand = {focus.file, *focus.open_files} - {None}
    return ONLY_ITS_FILES not in fact.tags or not at_hand or not at_hand.isdisjoint(_get_files(fact))


def _select_contradictions(
    conflicts: Iterable[Memory], focus: Focus, at_hand: frozenset[str]
) -> list[tuple[Memory, bool]]:
    """Select contradictions; True marks those about the current work."""
    ranked_conflicts = []
    for conflict in conflicts:
        here = focus.file in _get_files(conflict) or bool(at_hand & extract_words(conflict.content))
        if not here and focus.file and _names_files(conflict):
            continue  # about other files
        ranked_conflicts.append((conflict, here))
    return sorted(ranked_conflicts, key=lambda one: (not one[1], one[0].id))[:MAX_CONTRADICTIONS]


def _names_files(conflict: Memory) -> bool:
    """Return True if a side speaks of a file. The text of the record also names the files that the sides are from."""
    is_possible = _FILE_NAME_PATTERN.search(conflict.content) is not None
    return is_possible and any(_FILE_NAME_PATTERN.search(side.content) for side in parse_sides(conflict))


def _build_contradiction_candidate(
    conflict: Memory, here: bool, user_candidates: Mapping[str, ContextCandidate], now: datetime
) -> ContextCandidate:
    """Build a candidate that replaces those of both contradicting facts."""
    sides = tuple(str(link["ref"]) for link in conflict.links)
    own = CONTRADICTION_RELEVANT_VALUE if here else CONTRADICTION_OTHER_VALUE
    titles = [f"“{user_candidates[side].source['title']}”" for side in sides if side in user_candidates]
    title = {"title": " or ".join(titles)} if len(titles) == len(sides) else {}
    return ContextCandidate(
        id=conflict.id,
        kind="contradiction",
        tier=1,
        value=max(own, *(user_candidates[side].value for side in sides if side in user_candidates), 0.0),
        forms=(("summary", conflict.content), ("index", conflict.levels.index or conflict.title)),
        reasons=(f"found {format_age(conflict.created, now)}", f"hunch contradictions resolve {conflict.id}"),
        source={"type": "contradiction", "key": conflict.key, "sides": sides, **title},
        trust=conflict.trust,
        paths=_get_files(conflict),
    )


def _contains_fact_text(conflict: ContextCandidate, candidate: ContextCandidate) -> bool:
    """Return True if a contradiction already contains a fact's text."""
    return (
        candidate.id in conflict.source.get("sides", ())
        and candidate.forms[0][1].casefold() in conflict.forms[0][1].casefold()
    )


def _get_files(conflict: Memory) -> tuple[str, ...]:
    return tuple(artifact.ref for artifact in conflict.artifacts if artifact.type == "file")


def _build_profile_candidates(pages: Iterable[Memory], at_hand: frozenset[str]) -> Iterator[ContextCandidate]:
    """Yield profile lines that concern the current work, then preferences."""
    lines = []
    for page in sorted(pages, key=lambda page: page.key or ""):
        for number, line in enumerate(page.content.splitlines()):
            text = _BULLET_PATTERN.sub("", line).strip()
            if not 3 < len(text) <= MAX_PROFILE_LINE_LENGTH or text.startswith(("#", "---", "```")):
                continue
            shared_count = len(at_hand & extract_words(text))
            if shared_count or (page.key or "").startswith(_PREFERENCES_PATH):
                lines.append((-shared_count, page.key or "", number, text, page))
    for shared_count, path, number, text, page in sorted(lines, key=lambda one: one[:3])[:MAX_PROFILE_LINES]:
        yield ContextCandidate(
            id=f"{page.id}.l{number}",
            kind="fact",
            tier=1 if shared_count else 3,
            value=PROFILE_RELEVANT_VALUE if shared_count else PROFILE_PREFERENCE_VALUE,
            forms=(("summary", text),),
            reasons=(f"from your {path}",),
            source={"type": "document", "path": path, "document": page.id},
            trust=page.trust,
        )


def _select_conventions(facts: Sequence[Memory], at_hand: frozenset[str], focus: Focus) -> list[Memory]:
    """Select the conventions that are shown without being asked for.

    A sentence in a guide is shown if a reviewer would quote it, or if it names the current file. Twice as many
    sentences are shown if there is no current file or if a change is being reviewed. Among the facts that
    colleagues shared, those about the current work are preferred.
    """
    best = sorted(facts, key=lambda fact: (-fact.importance * fact.confidence, fact.id))
    convention_commands = list_convention_commands(facts)
    guide_sentences = [
        fact
        for fact in best
        if _is_sentence(fact)
        and (get_topic(fact) != VAGUE or names_file(fact, focus.file) or says_where(fact))
        and not is_from_colleague(fact)
        and not is_repeated_command(fact.content, convention_commands)
    ]
    guide_sentences.sort(key=lambda fact: (not names_file(fact, focus.file), *_rank_sentence(fact, at_hand)))
    is_whole_change = focus.file is None or focus.activity == "reviewing"
    more = 2 if is_whole_change else 1
    about_work = [
        fact for fact in guide_sentences if is_whole_change or not is_from_project(fact) or _is_about_work(fact, focus)
    ]
    guide_sentences = [
        *_limit_topics(filter(is_for_agents, about_work), more * MAX_AGENT_RULES, more * MAX_OF_TOPIC),
        *_limit_topics((fact for fact in about_work if not is_for_agents(fact)), more * MAX_SENTENCES, more),
    ]
    shared_facts = sorted(
        filter(is_from_colleague, best), key=lambda fact: -len(at_hand & extract_words(f"{fact.title} {fact.content}"))
    )
    enforced_conventions = [fact for fact in best if not (_is_sentence(fact) or is_from_colleague(fact))]
    selected_ids = {
        fact.id for fact in (*enforced_conventions[:MAX_CONVENTIONS], *guide_sentences, *shared_facts[:MAX_SHARED])
    }
    return [fact for fact in best if fact.id in selected_ids]


def _is_about_work(fact: Memory, focus: Focus) -> bool:
    """Return True for a sentence about the open file or its folder, or with several words of the question.

    Beside a single file, readers called every other sentence noise: for people in forty answers, for agents in eight.
    """
    shared_words = extract_words(focus.query) & extract_words(fact.content)
    return names_file(fact, focus.file) or get_depth(fact) > 0 or len(shared_words) >= MIN_SHARED_WORDS


def _rank_sentence(fact: Memory, at_hand: frozenset[str]) -> tuple[int, int, float]:
    """Return a sort key for a sentence in a guide.

    Sentences for the most specific folder come first, then those that share words with the current work, then those
    that a reviewer would most probably quote.
    """
    return -get_depth(fact), -len(at_hand & extract_words(fact.content)), -fact.importance


def _limit_topics(sentences: Iterable[Memory], limit: int, per_topic: int) -> list[Memory]:
    """Return the first `limit` sentences, with at most `per_topic` about each topic."""
    counts: Counter[str] = Counter()
    result: list[Memory] = []
    for fact in sentences:
        # Topics are recognised by English words, so rules in other languages count as rules about different topics.
        topic = get_topic(fact) or ("" if fact.content.isascii() else fact.content)
        counts[topic] += 1
        if counts[topic] <= per_topic and len(result) < limit:
            result.append(fact)
    return result


def _is_sentence(fact: Memory) -> bool:
    return fact.category == "instruction" or not (fact.key and fact.value)


def _build_habit_candidates(
    habits: Sequence[Memory], file: str | None, file_tests: FileTests, now: datetime
) -> list[ContextCandidate]:
    """Build the candidates for conventions and rules.

    If there is a current file, the commands are joined into one line, because most commands are the same for every
    file; the command for the tests comes first.
    """
    candidates = [(fact, _build_fact_candidate(fact, now, file=file, tests=file_tests)) for fact in habits]
    if file is None:
        return [candidate for _, candidate in candidates]
    informative_pairs = [
        (fact, candidate) for fact, candidate in candidates if tells_enough(fact, candidate.forms[0][1])
    ]
    others = [candidate for fact, candidate in informative_pairs if not _is_tool(fact)]
    tests = [candidate for fact, candidate in informative_pairs if _is_tool(fact) and get_subject(fact) == "tests"]
    without = {"tests", "run everything"} if tests else {"tests"}
    tools = [candidate for fact, candidate in informative_pairs if _is_tool(fact) and get_subject(fact) not in without]
    return [*others, *_join_tools([*tests, *tools])]


def _is_tool(fact: Memory) -> bool:
    return is_convention(fact) and fact.status is not Status.SUSPECT


def _join_tools(tools: Sequence[ContextCandidate]) -> Iterator[ContextCandidate]:
    """Yield one line of `tools`, as far as they fit."""
    line = ""
    places: dict[str, None] = {}
    for one in tools:
        longer = f"{line} · {one.forms[0][1]}" if line else one.forms[0][1]
        if line and len(longer) > MAX_TOOLS_LENGTH:
            break
        line = longer
        places |= dict.fromkeys(one.source.get("origins") or [str(one.source.get("path", ""))])
    if tools:
        yield replace(
            tools[0],
            forms=(("summary", line), ("compressed", tools[0].forms[0][1])),
            reasons=(f"from {', '.join(places)}",),
            source={**tools[0].source, "facts": [one.id for one in tools]},
        )


def _build_fact_candidate(
    fact: Memory,
    now: datetime,
    *,
    here: bool = False,
    names_focus: bool = False,
    file: str | None = None,
    tests: FileTests = NO_TESTS,
) -> ContextCandidate:
    is_user_fact = fact.trust is Trust.USER
    useful = USER_FACT_RELEVANT_VALUE if here else USER_FACT_VALUE if is_user_fact else CONVENTION_VALUE
    place = fact.source.get("path") or fact.source.get("type")
    origin = (
        _format_user_origin(fact, now)
        if is_user_fact
        else _format_shared_origin(fact) or _format_client_origin(fact) or (f"from {place}" if place else "")
    )
    forms: list[tuple[Level, str]] = [("summary", narrow_tests(_render_sentence(fact), fact, file, tests))]
    if fact.levels.compressed:
        forms.append(("compressed", fact.levels.compressed))
    return ContextCandidate(
        id=fact.id,
        kind="decision" if fact.category == "decision" else "fact" if is_user_fact else "convention",
        tier=1 if is_user_fact else 3,
        value=useful * (0.5 + fact.importance / 2) * _get_probability(fact),
        forms=tuple(forms),
        reasons=(*_format_doubt(fact), *filter(None, (origin,))),
        source={**fact.source, "title": fact.title, "category": fact.category, "here": here, "names": names_focus},
        trust=fact.trust,
    )


def _get_probability(fact: Memory) -> float:
    """Return the probability that a fact is still valid."""
    return fact.confidence * (DOUBT_FACTOR if fact.status is Status.SUSPECT else 1.0)


def _format_doubt(fact: Memory) -> tuple[str, ...]:
    """Return the reason why a fact is in doubt.

    Returns () if the fact is not in doubt. The reason quotes only file names, because other words may come from an
    untrusted source.
    """
    if fact.status is not Status.SUSPECT:
        return ()
    deletion = _DELETED_PATTERN.match(str(fact.source.get(STALE_REASON, "")))
    return (f"in doubt: {deletion[0]}",) if deletion else ("in doubt: what it rests on has changed",)


def _format_user_origin(fact: Memory, now: datetime) -> str:
    on_branch = f" on {fact.branch}" if fact.branch else ""
    since = f", {format_age(fact.valid_from or fact.at, now)}"
    return f"{'you said so' if fact.source.get('type') == 'session' else 'you asked to remember it'}{on_branch}{since}"


def _format_client_origin(fact: Memory) -> str:
    """Describe which client or session stored a fact, if any."""
    if fact.source.get("type") == "session":
        return "said in a session"
    if fact.source.get("client") == "mcp":
        return "an agent kept it"
    return "kept by a client" if fact.source.get("type") == "client" else ""


def _format_shared_origin(fact: Memory) -> str:
    """Describe who shared a fact, and where, or return ""."""
    by = fact.source.get("by")
    if fact.trust is Trust.TEAM:
        return f"{by} said so, {fact.at:%Y-%m}"
    return f"shared{f' by {by}' if by else ''} in {fact.source.get('path')}" if is_shared(fact) else ""


def _build_decision_candidate(fact: Memory, shared_count: int) -> ContextCandidate:
    text = _DECISION_HEAD_PATTERN.sub("", fact.levels.summary or fact.content)
    return ContextCandidate(
        id=fact.id,
        kind="decision" if _is_decision(fact) else "convention" if is_on_demand(fact) else "fact",
        tier=1 if shared_count > 1 else 3,
        value=(DECISION_RELEVANT_VALUE if shared_count > 1 else DECISION_OTHER_VALUE) * _get_probability(fact),
        forms=(("summary", text), ("compressed", fact.title)),
        reasons=(*_format_doubt(fact), _format_origin(fact)),
        source=fact.source,
        trust=fact.trust,
    )


def _format_origin(fact: Memory) -> str:
    if origin := _format_shared_origin(fact):
        return origin
    if sha := fact.source.get("sha"):
        return f"commit {str(sha)[:8]}, {fact.at:%Y-%m}"
    return str(fact.source.get("path") or _format_client_origin(fact) or "from the project")


def _get_folder_and_stem(path: str) -> str:
    """Return the names of a file and its folder, without the file's suffix.

    Most files of a project share the folders further up, and all files in a language share the suffix.
    """
    folders, _, name = path.rpartition("/")
    return f"{folders.rpartition('/')[2]}/{name.rpartition('.')[0] or name}"


def _find_common_words(decisions: Sequence[Memory]) -> frozenset[str]:
    """Return the words too frequent in decisions to be specific."""
    word_counts = Counter(word for fact in decisions for word in _get_fact_words(fact))
    return frozenset(word for word, count in word_counts.items() if count > max(MAX_DECISIONS, len(decisions) // 10))


@lru_cache(maxsize=2048)  # the same facts are considered for every file
def extract_words(text: str) -> frozenset[str]:
    """Return the significant words of a path, branch name or sentence.

    Camel case is split: `OwnerController` contains the word "owner".
    """
    words = (word.lower() for word in split_ascii_letters(text) if len(word) >= _MIN_WORD_LENGTH)
    return frozenset(strip_plural(word, shortest=_MIN_WORD_LENGTH) for word in words if word not in PATH_STOP_WORDS)


def _render_sentence(fact: Memory) -> str:
    """Return the text of a fact: the user's own words if they are short, otherwise a summary."""
    if fact.trust is Trust.USER and fact.content.strip() and len(fact.content) <= MAX_VERBATIM:
        return " ".join(fact.content.split())
    if fact.kind is Kind.FACT and fact.key and fact.value and fact.category not in ("decision", "instruction"):
        summary = fact.levels.summary
        return summary if summary.startswith(f"{fact.key}: {fact.value}") else f"{fact.key}: {fact.value}"
    return fact.levels.summary or fact.content or fact.title
