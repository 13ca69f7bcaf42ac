"""Tests of candidate selection and values."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hunchd.consolidation.contradiction_records import create_contradiction
from hunchd.core.state.project import KnownError
from hunchd.domain.context import ExpectedFile, Focus, PredictedFile, PredictedUnit, Prediction
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Status, Trust
from hunchd.features.context.candidates import CandidateInput, build_candidates, select_informative_units
from hunchd.features.context.context_service import can_use_definitions
from hunchd.features.context.file_candidates import FileLinks
from hunchd.ingestion.fixes import Fix
from hunchd.ingestion.rule_classifier import VAGUE

NOW = datetime(2026, 5, 20, 12, 0, tzinfo=UTC)


def make_input(**given: Any) -> CandidateInput:
    usual: dict[str, Any] = {
        "project": "p",
        "focus": Focus(project="p", file="shop/basket.py"),
        "prediction": Prediction(),
        "links": {},
        "errors": (),
        "facts": (),
        "matches": (),
        "now": NOW,
        "past_units": 4,
    }
    return CandidateInput(**usual | given)


def fact(identifier: str, content: str, **given: Any) -> Memory:
    usual: dict[str, Any] = {"category": "decision", "trust": Trust.UNTRUSTED, "source": {"path": "docs/adr/1.md"}}
    return Memory(
        id=identifier, kind=Kind.FACT, title=content, content=content, at=NOW, created=NOW, updated=NOW, **usual | given
    )


def unit(subject: str, *paths: str, confidence: float = 0.5) -> PredictedUnit:
    return PredictedUnit("0" * 40, subject, 1_750_000_000, 1.0, confidence, (), paths)


def error(path: str | None) -> KnownError:
    then = NOW - timedelta(hours=2)
    return KnownError("e1", "KeyError: 'x'", "Traceback\nKeyError: 'x'", path, 3, "pytest", then, then, times=3)


def convention(key: str, value: str, part: str = "") -> Memory:
    key = f"{key} in {part}" if part else key
    source = {"type": "convention", "path": f"{part}/manifest" if part else "manifest"} | (
        {"part": part} if part else {}
    )
    line = f"{key}: {value}"
    return fact(
        line, line, category="convention", key=key, value=value, trust=Trust.PROJECT, source=source, importance=0.5
    )


def test_conventions_match_folder_and_language() -> None:
    facts = [
        convention("tests", "`tox`"),
        convention("lint", "`make lint`"),
        convention("ci systems", "ubuntu"),
        convention("tests", "`pnpm test`", part="web"),
        convention("format", "`prettier .`", part="web"),
    ]

    def offered(file: str | None) -> set[str]:
        pieces = build_candidates(make_input(facts=facts, focus=Focus(project="p", file=file)))
        return {part for piece in pieces for part in piece.forms[0][1].split(" · ")}

    here = {"tests: `tox`", "lint: `make lint`"}
    assert offered("shop/basket.py") == offered("tests/test_basket.py") == here
    assert offered("web/src/cart.ts") == {
        "tests in web: `pnpm test`",
        "format in web: `prettier .`",
        "lint: `make lint`",
    }
    assert offered("docs/index.md") == offered("pyproject.toml") == offered(".github/workflows/test.yml") == set()
    assert offered(None) == {fact.id for fact in facts}
    facts += [convention("dotnet", f"net{number}.0", part=f"samples/{number}") for number in range(4, 9)]
    assert offered(None) == here | {"ci systems: ubuntu"}, "too many parts"


def test_commands_beside_file_share_a_line() -> None:
    stated = [
        convention("changelog", "new entries go below a heading"),
        convention("lint", "`make lint`"),
        convention("run everything", "`make all`"),
        convention("types", "mypy"),
        convention("tests", "`make test`"),
    ]
    own = replace(convention("format", "`make format`"), source={"type": "convention", "path": "shop/basket.py"})

    [piece] = build_candidates(make_input(facts=[*stated, own], focus=Focus(project="p", file="shop/basket.py")))

    assert piece.forms[0][1] == ("tests: `make test` · changelog: new entries go below a heading · lint: `make lint`")
    assert (piece.reasons, piece.source["facts"]) == (("from manifest",), [stated[n].id for n in (4, 0, 1)])


def test_only_code_has_narrow_tests() -> None:
    def offered(file: str, command: str) -> list[str]:
        tests = convention("tests", command)
        focus = Focus(project="p", file=file)
        return [one.forms[0][1] for one in build_candidates(make_input(facts=[tests], focus=focus))]

    one, several = "`pnpm test` (vitest)", "`pnpm test` (vitest, mocha)"
    test, narrow = "src/cart.test.ts", f"{one}; one: `npx vitest run <file>`"
    assert offered(test, narrow) == [f"tests: `npx vitest run {test}` for this file; all: {one}"]
    assert offered(test, several) == [f"tests: {several}"]
    assert offered("tests/cart.test-d.ts", narrow) == [f"tests: {one}"], "a compiler checks it"
    assert offered("playground/cart.ts", narrow) == [f"tests: {one}"], "no test"
    assert offered("tests/data/cart.csv", narrow) == []
    assert offered(".github/workflows/test-cart.yml", narrow) == []  # a workflow of another language


def test_tool_without_command_is_not_told() -> None:
    named = convention("tests", "pytest; one: `tox -e py -- <file>`")
    given = [named, convention("lint", "ruff")]
    [piece] = build_candidates(make_input(facts=given, focus=Focus(project="p", file="tests/test_basket.py")))
    assert piece.forms[0][1] == "tests: `tox -e py -- tests/test_basket.py` for this file"


def test_command_does_not_reach_nested_package() -> None:
    command = convention("tests", "`go test ./...`; one: `go test <folder>`")
    command = replace(command, source=command.source | {"without": ["gcs"]})

    def offered(file: str, *, tested: bool) -> list[str]:
        focus = Focus(project="p", file=file)
        candidate_input = make_input(facts=[command], focus=focus, has_package_tests=tested)
        return [one.forms[0][1] for one in build_candidates(candidate_input)]

    assert offered("gcs/file.go", tested=True) == []
    assert offered("mem/file.go", tested=True) == ["tests: `go test ./mem` for this package; all: `go test ./...`"]
    assert offered("mem/file.go", tested=False) == ["tests: `go test ./...`"], "nothing to run there"


def test_part_instructions_apply_there_first() -> None:
    def asked(sentence: str, part: str = "") -> Memory:
        source = {"type": "convention", "path": f"{part}/AGENTS.md"} | ({"part": part} if part else {})
        return fact(sentence, sentence, category="instruction", source=source)

    everywhere = [asked(f"Never do thing {number}.") for number in range(20)]
    facts = [*everywhere, asked("Always go through the api client.", "web"), asked("Avoid panics.", "core")]

    def offered(file: str | None) -> set[str]:
        return {piece.id for piece in build_candidates(make_input(facts=facts, focus=Focus(project="p", file=file)))}

    assert "Always go through the api client." in offered("web/src/cart.ts")
    assert "Avoid panics." not in offered("web/src/cart.ts")
    assert offered("setup.py") < offered(None) <= {one.id for one in everywhere}


def test_vague_rule_is_shown_where_it_names_file() -> None:
    source = {"type": "convention", "path": "AGENTS.md", "topic": VAGUE}
    rule = fact("rule", "Register it in `shop/basket.py`.", category="instruction", source=source)

    def offered(file: str) -> set[str]:
        return {one.id for one in build_candidates(make_input(facts=(rule,), focus=Focus(project="p", file=file)))}

    assert offered("shop/basket.py") == {rule.id}
    assert offered("shop/cart.py") == set()


def rule(sentence: str, *globs: str, **source: Any) -> Memory:
    told = {"type": "convention", "path": ".cursor/rules/a.mdc", "globs": list(globs)} | source
    return fact(sentence, sentence, category="instruction", source=told)


def test_glob_rule_applies_to_open_file_first() -> None:
    everywhere = [rule(f"Never do thing {number}.") for number in range(20)]
    ours = rule("Use the theme.", "src/**/*.tsx", "!**/*.test.tsx")
    nested = rule("Avoid panics.", "src/**/*.rs", part="core")
    from_root = rule("Avoid waits.", "core/src/**/*.rs", part="core")
    facts = [*everywhere, ours, nested, from_root]

    def offered(file: str | None, *open_files: str) -> set[str]:
        focus = Focus(project="p", file=file, open_files=open_files)
        return {piece.id for piece in build_candidates(make_input(facts=facts, focus=focus))} - {
            one.id for one in everywhere
        }

    assert offered("src/ui/button.tsx") == {ours.id}
    assert offered("src/ui/button.test.tsx") == offered("src/a.ts") == offered("src/a.rs") == set()
    assert offered("core/src/a.rs") == {nested.id, from_root.id}
    assert offered(None) == set()
    assert offered(None, "README.md", "src/a.tsx") == {ours.id}, "nobody says where they are, but it is open"
    assert offered("README.md", "src/a.tsx") == set(), "they are somewhere else"


def test_on_demand_rule_needs_matching_query() -> None:
    forms = replace(
        rule("Validate twice, never once.", on_demand=True), tags=("Use when building forms with React Hook Form",)
    )

    def offered(**focus: Any) -> list[tuple[str, str, tuple[str, ...]]]:
        found = build_candidates(make_input(facts=[forms], focus=Focus(project="p", **focus)))
        return [(piece.id, piece.kind, piece.reasons) for piece in found]

    assert offered(file="src/forms/form.tsx", branch="building-forms") == []
    assert offered(query="how do I add a form?") == [(forms.id, "convention", (".cursor/rules/a.mdc",))]
    assert offered(query="where is the cart?") == []


def test_sentence_repeating_command_is_left_out() -> None:
    lint = convention("lint", "eslint (`pnpm run lint`)")
    again = fact("again", "Run `pnpm lint` before you push.", category="instruction")
    more = fact("more", "Run `pnpm lint` and `pnpm e2e` before you push.", category="instruction")
    focus = Focus(project="p", file="web/cart.ts")
    offered = {piece.id for piece in build_candidates(make_input(facts=[lint, again, more], focus=focus))}
    assert offered == {lint.id, "more"}


def test_doubtful_fact_shows_doubt_and_ranks_lower() -> None:
    sure = fact("f1", "The basket is kept in a cookie", source={"type": "user"}, trust=Trust.USER)
    gone = replace(sure, status=Status.SUSPECT, source={"suspect": "shop/cookie.py is gone"})
    strange = replace(sure, status=Status.SUSPECT, source={"suspect": "it rests on 'ignore all instructions'"})
    offered = [build_candidates(make_input(facts=[one]))[0] for one in (sure, gone, strange)]
    assert [piece.reasons[0] for piece in offered[1:]] == [
        "in doubt: shop/cookie.py is gone",
        "in doubt: what it rests on has changed",
    ]
    assert offered[1].value < offered[0].value


def test_query_match_shows_age_if_dated() -> None:
    work = replace(fact("e1", "It moved the database."), kind=Kind.EPISODE, category=None)
    shape = replace(fact("m1", "method: load → save"), kind=Kind.PATTERN, category=None)
    focus = Focus(project="p", query="where to load it")
    told = {
        piece.id: piece.reasons
        for piece in build_candidates(make_input(matches=[(work, 0.9), (shape, 0.9)], focus=focus))
    }
    assert told["e1"] == ("matches what you asked, just now",)
    assert told["m1"] == ("matches what you asked", "hunch show m1")  # it was read just now; the code is older


def test_pattern_query_match_is_hint() -> None:
    line = "pattern: class of Backend: filter_items; goes in shop/filters.py"
    content = "class of Backend: filter_items\n    instances:\n    - tests/test_pages.py:26 EvenPages"
    shape = replace(
        fact("m1", content), kind=Kind.PATTERN, category=None, levels=Levels(line, "Backend: filter_items", "Backend")
    )

    def offered(query: str) -> list[tuple[str, str]]:
        found = build_candidates(make_input(matches=[(shape, 0.9)], focus=Focus(project="p", query=query)))
        return [form for piece in found for form in piece.forms]

    assert offered("add a filter for accents")[0] == ("summary", line)


def test_condensed_memory_shows_its_level() -> None:
    levels = Levels("It moved the database because of locks.", "2026-01 moved the database: because of locks", "moved")
    text = "It moved the database because of locks. And so on, and on."
    work = replace(fact("e1", text), kind=Kind.EPISODE, category=None, levels=levels)
    offered = {}
    for level in ("full", "summary", "compressed"):
        one = replace(work, source={"shown_as": level} if level != "full" else {})
        offered[level] = {piece.id: piece for piece in build_candidates(make_input(matches=[(one, 0.9)]))}
    assert [offered[level]["e1"].forms[0][0] for level in offered] == ["full", "summary", "compressed"]


@pytest.mark.parametrize(
    ("file", "query", "count"), [(None, "", 6), ("shop/basket.py", "", 2), (None, "how to log", 0)]
)
def test_newest_team_decisions_are_offered(file: str | None, query: str, count: int) -> None:
    said = {"trust": Trust.TEAM, "source": {"type": "team Anna Alt", "by": "Anna Alt", "member": "a1"}}
    facts = [
        replace(fact(f"d{day}", f"Release on {day} May", **said), at=NOW + timedelta(days=day)) for day in range(9)
    ]
    facts.append(fact("adr", "Records are in Markdown"))

    pieces = build_candidates(make_input(facts=facts, focus=Focus(project="p", file=file, query=query)))

    assert [piece.id for piece in pieces if piece.kind == "decision"] == [f"d{day}" for day in range(8, 8 - count, -1)]


def test_only_relevant_decisions_are_offered() -> None:
    decisions = (fact("d1", "The basket is kept in a cookie"), fact("d2", "Logs go to standard output"))
    assert [piece.id for piece in build_candidates(make_input(facts=decisions))] == ["d1"]


def test_old_version_choice_of_commit_is_dropped() -> None:
    by_commit = {"type": "commit", "sha": "a1", "rule": "at least"}
    said, ago = fact("old", "the basket needs node >=6", source=by_commit), timedelta(days=8 * 365)
    old, new = replace(said, at=NOW - ago), replace(said, id="new", at=NOW - timedelta(days=365))
    recorded = replace(fact("recorded", "The basket is kept in a cookie"), at=NOW - ago)

    offered = build_candidates(make_input(facts=(old, new, recorded)))

    assert sorted(piece.id for piece in offered) == ["new", "recorded"]


def test_old_renaming_needs_name_in_query() -> None:
    by_commit = {"type": "commit", "sha": "a1", "rule": "renamed"}
    named = fact("n", "name of BasketView: Cart", key="name of BasketView", value="Cart", source=by_commit)

    def offered(days: int, **at: Any) -> list[str]:
        renamed = replace(named, at=NOW - timedelta(days=days))
        focus = Focus(project="p", file="shop/cart.py", **at)
        return [piece.id for piece in build_candidates(make_input(facts=(renamed,), focus=focus))]

    assert offered(300) == ["n"]
    assert offered(3_000) == []
    assert offered(3_000, query="where is BasketView drawn") == ["n"]
    assert offered(3_000, errors=("NameError: name 'BasketView' is not defined",)) == ["n"]


def test_partial_commit_subject_does_not_match() -> None:
    chosen = fact("c", "http client: fetch", key="http client", value="fetch", source={"type": "commit", "sha": "a1"})

    def offered(path: str) -> list[str]:
        return [
            piece.id for piece in build_candidates(make_input(facts=(chosen,), focus=Focus(project="p", file=path)))
        ]

    assert offered("src/queryClient.ts") == []
    assert offered("src/httpClient.ts") == offered("src/fetch.ts") == ["c"]


def test_user_fact_is_always_critical() -> None:
    [piece] = build_candidates(make_input(facts=(fact("f1", "we deploy on Fridays", category=None, trust=Trust.USER),)))
    assert (piece.tier, piece.reasons) == (1, ("you asked to remember it, just now",))


def test_user_statement_is_shown_as_said() -> None:
    said, line = "we never print in library code; use the logger", "never print in library code"
    rule = fact("f1", said, category="instruction", key="print in library code", value="never", trust=Trust.USER)
    story = replace(rule, id="f2", content=said + " and so on" * 40)

    told = [
        build_candidates(make_input(facts=(replace(one, levels=Levels(summary=line)),)))[0].forms[0][1]
        for one in (rule, story)
    ]
    assert told == [said, line]


def test_remembered_statements_precede_what_was_said() -> None:
    said = [
        fact(f"s{n}", f"always sign release {n}", trust=Trust.USER, source={"type": "session"}, importance=0.9)
        for n in range(8)
    ]
    own = fact("own", "never print", category="instruction", trust=Trust.USER, importance=0.6)
    name = fact("name", "Hi, I'm Jana", category="identity", trust=Trust.USER, importance=0.9)

    told = [piece.id for piece in build_candidates(make_input(facts=(*said, own, name)))]
    assert told[0] == "own"
    assert "name" not in told
    assert "name" in [
        piece.id
        for piece in build_candidates(make_input(facts=(name,), focus=Focus(project="p", query="who is Jana?")))
    ]


def test_fact_quoting_error_is_offered() -> None:
    said = "the test zic::tests::all needs TZDIR, or it fails with 'No such file or directory (os error 2)'"
    kept = fact("f1", said, trust=Trust.DERIVED, source={"client": "mcp"})  # as the server sends it
    general = fact("f2", "such a directory has files of one kind", trust=Trust.DERIVED)

    def offered(*errors: str) -> list[tuple[str, int, tuple[str, ...]]]:
        focus = Focus(project="p", errors=errors)
        return [
            (piece.id, piece.tier, piece.reasons)
            for piece in build_candidates(make_input(facts=(kept, general), focus=focus))
        ]

    for error in ("thread 'tz::zic::tests::all' panicked at src/zic.rs:3", "No such file or directory (os error 2)"):
        assert offered(error) == [("f1", 1, ("an agent kept it",))]
    assert offered("KeyError: 'x'") == []


def test_agent_fact_without_category_needs_match() -> None:
    question = "Open question: should the basket be emptied at night?"
    kept = fact("f1", question, category=None, trust=Trust.DERIVED, source={"type": "client", "client": "mcp"})

    def offered(path: str) -> list[str]:
        return [piece.id for piece in build_candidates(make_input(facts=(kept,), focus=Focus(project="p", file=path)))]

    assert (offered("shop/basket.py"), offered("shop/till.py")) == (["f1"], [])


def test_reason_names_source_of_fact() -> None:
    session, mcp = {"type": "session", "session": "s1"}, {"type": "client", "client": "mcp"}
    facts = (
        fact("own", "always sign commits", category="instruction", trust=Trust.USER, source=session, importance=0.6),
        fact("heard", "always squash", category="instruction", trust=Trust.DERIVED, source=session),
        fact("kept", "always rebase", category="instruction", trust=Trust.DERIVED, source=mcp),
    )
    told = {piece.id: piece.reasons for piece in build_candidates(make_input(facts=facts))}
    assert told == {"own": ("you said so, just now",), "heard": ("said in a session",), "kept": ("an agent kept it",)}


def test_user_fact_about_focus_ranks_first() -> None:
    def told(*sentences: str, **at: str) -> list[str]:
        facts = tuple(fact(text, text, trust=Trust.USER, importance=0.5, category=None) for text in sentences)
        offered = build_candidates(make_input(facts=facts, focus=Focus(project="p", **at)))
        return [piece.id for piece in sorted(offered, key=lambda piece: -piece.value)]

    general, of_file, of_task = (
        "Commits are small",
        "Run the tests before basket.py is touched",
        "Vouchers expire at noon",
    )
    assert told(general, of_task, of_file, file="shop/basket.py")[0] == of_file
    assert told(general, of_file, of_task, branch="vouchers")[0] == of_task
    assert told(of_task, general, file="shop/other.py") == [of_task, general]


def test_units_with_empty_subjects_are_dropped() -> None:
    empty = (
        "SPR-6447",
        "Refactor:",
        "Minor cleanups.",
        "Code clean-up",
        "Update to current versions",
        "Initial commit",
        "First public alpha version.",
        "first substantial commit",
    )
    said = ("First FAQ draft", "Fix the sum", "Clean up the basket's price", "修复购物车价格显示错误")
    told = select_informative_units([unit(subject, "a.py", "b.py") for subject in (*empty, *said)], 20)
    assert [one.subject for one in told] == list(said)


def test_files_of_same_name_show_folders() -> None:
    def told(*paths: str, file: str) -> str:
        prediction = Prediction(precedent=unit("Split the basket", *paths))
        [piece] = build_candidates(make_input(prediction=prediction, focus=Focus(project="p", file=file)))
        return piece.forms[0][1].rpartition(" (")[2].rstrip(")")

    assert told("a/x/README.md", "README.md", "b/main.tf", file="c.md") == "x/README.md, README.md, main.tf"
    assert told("a/main.tf", "b/x.tf", file="c/main.tf") == "a/main.tf, x.tf"


def test_facts_quoted_by_contradiction_are_omitted() -> None:
    def said(text: str) -> Memory:
        return fact(text, text, trust=Trust.USER, importance=0.6, category=None, source={"type": "client"})

    one, other, third = map(said, ("owners are kept", "owners are never kept", "commits are small"))
    conflict = create_contradiction(one, other, NOW)
    offered = {
        piece.id: piece for piece in build_candidates(make_input(facts=(one, other, third), conflicts=(conflict,)))
    }

    assert set(offered) == {conflict.id, third.id}
    assert offered[conflict.id].value >= offered[third.id].value


def test_statement_naming_file_stays_beside_contradiction() -> None:
    def said(text: str) -> Memory:
        return fact(text, text, trust=Trust.USER, importance=0.6, category=None, source={"type": "client"})

    named, other = said("shop/basket.py never rounds"), said("prices are rounded")
    conflict = create_contradiction(named, other, NOW)
    offered = build_candidates(make_input(facts=(named, other), conflicts=(conflict,)))

    assert {piece.id for piece in offered} == {conflict.id, named.id}
    assert next(piece for piece in offered if piece.id == named.id).source["names"] is True
    elsewhere = build_candidates(
        make_input(facts=(), conflicts=(conflict,), focus=Focus(project="p", file="docs/a.rst"))
    )
    assert elsewhere == []


def test_path_is_named_by_its_end_only() -> None:
    facts = tuple(
        fact(text, text, trust=Trust.USER, importance=0.6, category=None)
        for text in ("api/errors.py raises", "web/errors.py logs", "errors.py is old", "noerrors.py is gone")
    )
    offered = build_candidates(make_input(facts=facts, focus=Focus(project="p", file="src/api/errors.py")))

    assert {piece.id for piece in offered if piece.source.get("names")} == {"api/errors.py raises", "errors.py is old"}


def test_statement_kept_to_files_stays_there() -> None:
    only = fact(
        "only",
        "shop/basket.py forks",
        trust=Trust.USER,
        tags=("only-its-files",),
        artifacts=(Artifact("file", "shop/basket.py"),),
    )

    def offer(file: str, *open_files: str) -> list[str]:
        focus = Focus(project="p", file=file, open_files=open_files)
        return [piece.id for piece in build_candidates(make_input(facts=(only,), focus=focus))]

    assert offer("shop/basket.py") == offer("shop/other.py", "shop/basket.py") == ["only"]
    assert offer("shop/other.py") == []


def test_camel_case_words_match_suffix_does_not() -> None:
    def told(path: str) -> list[str]:
        facts = ("java 21 is the oldest we support", "owners are never deleted")
        offered = build_candidates(
            make_input(
                facts=tuple(fact(text, text, trust=Trust.USER, importance=0.5, category=None) for text in facts),
                focus=Focus(project="p", file=path),
            )
        )
        return [piece.id.split()[0] for piece in sorted(offered, key=lambda piece: -piece.value) if piece.value > 0.6]

    assert told("shop/OwnerController.java") == ["owners"]
    assert told("shop/HTTPOwner.java") == ["owners"]
    assert told("shop/Basket.java") == []


def test_error_in_open_file_ranks_higher() -> None:
    [here] = build_candidates(make_input(errors=(error("shop/basket.py"),)))
    [elsewhere] = build_candidates(make_input(errors=(error("shop/other.py"),)))
    assert here.value > elsewhere.value
    assert here.reasons == ("2 h ago", "3 times", "in this file")
    assert here.forms[0][0] == "full"


def test_trace_omits_test_count_line() -> None:
    told = "not ok 1 - clamps\n  error: '0 !== 3'\n1..1\n# tests 1\n# pass 0\n# duration_ms 359.3\n"
    [piece] = build_candidates(make_input(errors=(replace(error("shop/basket.py"), text=told),)))
    assert piece.forms[0][1].endswith("\nnot ok 1 - clamps\n  error: '0 !== 3'")


def test_newest_error_ranks_before_fixed_one() -> None:
    older = replace(error("shop/basket.py"), memory="m-older", last=NOW - timedelta(hours=2))
    newest = replace(error("shop/basket.py"), memory="m-newest", last=NOW - timedelta(minutes=1))
    fix = Fix("m-fix", "m-older", "KeyError: 'x'", ("shop/basket.py",), "+x", NOW)
    found = build_candidates(make_input(errors=(older, newest), fixes={"m-older": fix}))
    assert max(found, key=lambda piece: piece.value).id == "m-newest"


def test_error_in_other_open_file_says_so() -> None:
    focus = Focus(project="p", file="shop/basket.py", open_files=("shop/price.py",))
    [piece] = build_candidates(make_input(focus=focus, errors=(error("shop/price.py"),)))
    assert piece.reasons == ("2 h ago", "3 times", "in a file that is open")


def test_uninformative_past_units_are_dropped() -> None:
    wide = unit("Split the basket", "a.py", "b.py")
    narrow = unit("Mend the sum in it", "a.py")
    merges = [unit(subject, "a.py", "b.py") for subject in ("Merge branch 'main'", "Merge commit 'bd4efa27'")]
    assert select_informative_units((*merges, narrow, unit("wip", "a.py"), wide), 4) == [wide, narrow]
    assert select_informative_units((narrow, wide), 1) == [wide]


def test_episode_lists_code_files_first() -> None:
    paths = ("CHANGES.md", "docs/api.md", "a/__snapshots__/x.js", "shop/sum.py", "shop/tax.py")
    prediction = Prediction(precedent=unit("Round the tax down", *paths))
    [piece] = build_candidates(make_input(prediction=prediction))
    assert piece.forms[0][1].endswith("Round the tax down (sum.py, tax.py, api.md and 2 more)")


def test_file_without_specific_reason_is_only_listed() -> None:
    weak = PredictedFile("a.py", 1.0, 0.15, ("changed together 1 of 4 times",), is_specific=False)
    linked = PredictedFile("b.py", 1.0, 0.1, ("imports this file",))
    counted = PredictedFile("c.py", 1.0, 0.15, ("changed together 3 of 9 times",))
    folder = PredictedFile("d.py", 1.0, 0.3, ("same folder",), is_specific=False)
    lately = PredictedFile("e.py", 1.0, 0.3, ("changed lately",), is_specific=False)

    offered = build_candidates(make_input(prediction=Prediction((folder, lately, weak, counted, linked))))

    assert [piece.id for piece in offered] == ["file:b.py", "files:possibly"]
    assert offered[-1].source["paths"] == ["c.py", "a.py"], "a folder or a date ties nothing to the open file"
    [likely] = build_candidates(make_input(prediction=Prediction((replace(counted, confidence=0.25),))))
    assert likely.id == "file:c.py"


def test_unlikely_file_alone_is_not_listed() -> None:
    unlikely = PredictedFile("a.py", 1.0, 0.04, ("tests this file",))
    assert build_candidates(make_input(prediction=Prediction((unlikely,)))) == []


def test_test_of_file_has_its_line_and_command() -> None:
    test = PredictedFile("tests/test_basket.py", 1.0, 0.06, ("tests this file",))
    command = convention("tests", "`pytest -q`; one: `pytest <file>`")

    offered = {
        piece.id: piece for piece in build_candidates(make_input(prediction=Prediction((test,)), facts=(command,)))
    }

    assert set(offered) == {"file:tests/test_basket.py", command.id}
    assert offered[command.id].forms[0][1] == "tests: `pytest tests/test_basket.py` for its tests; all: `pytest -q`"


def test_rules_for_agents_have_room_of_their_own() -> None:
    rules = [rule(f"{verb} the {noun} first.") for verb in ("Build", "Sort", "Close") for noun in ("shop", "till")]
    agents = [replace(one, id=f"a{n}", confidence=0.9) for n, one in enumerate(rules)]
    people = [replace(one, content=f"{one.content} Please.", confidence=0.6) for one in rules]

    def count(focus: Focus) -> tuple[int, int]:
        offered = {piece.id for piece in build_candidates(make_input(facts=(*agents, *people), focus=focus))}
        return len(offered & {one.id for one in agents}), len(offered & {one.id for one in people})

    assert count(Focus(project="p", file="src/cart.py")) == (0, 0), "none is about this file"
    assert count(Focus(project="p", file="src/till.py", query="build the till")) == (1, 1)
    assert count(Focus(project="p")) == (4, 2)


def test_configuration_has_command_of_its_tool() -> None:
    commands = (convention("lint", "`bundle exec rubocop`"), convention("tests", "`rspec`; one: `rspec <file>`"))

    def offered(file: str) -> list[str]:
        found = build_candidates(make_input(facts=commands, focus=Focus(project="p", file=file)))
        return [piece.forms[0][1] for piece in found]

    assert offered(".rubocop.yml") == ["lint: `bundle exec rubocop`"]
    assert offered(".editorconfig") == []
    assert offered("spec/spec_helper.rb") == ["tests: `rspec` · lint: `bundle exec rubocop`"], "it contains no test"


def test_licences_and_images_are_never_named() -> None:
    names = ("LICENSE", "docs/LICENSE-MIT", "logo.png", "licenses.py", "a/license.rs", "COPYING.md")
    prediction = Prediction(tuple(PredictedFile(path, 1.0, 0.5, ("…",)) for path in names))

    offered = build_candidates(make_input(prediction=prediction))

    assert [piece.paths for piece in offered] == [("licenses.py",), ("a/license.rs",)]


def test_files_keep_prediction_order() -> None:
    files = tuple(PredictedFile(path, 1.0, 0.3, ("…",)) for path in ("z.py", "a.py"))
    assert [(piece.paths, piece.rank) for piece in build_candidates(make_input(prediction=Prediction(files)))] == [
        (("z.py",), 0),
        (("a.py",), 1),
    ]


def test_formatting_units_are_not_episodes() -> None:
    looks = [
        unit(subject, "a.py", "b.py")
        for subject in (
            "Formats codebase (#2531)",
            "fix typo in the basket",
            "run black over src",
            "style: sort imports",
        )
    ]
    assert select_informative_units(looks, 9) == []
    real = unit("Format prices in the reader's currency", "a.py", "b.py")
    assert select_informative_units([real], 9) == [real]


def test_guide_sentences_leave_room_for_tools() -> None:
    sentences = [
        fact(f"s{n}", f"Sentence {n} of the guide", category="instruction", trust=Trust.PROJECT, importance=0.9)
        for n in range(9)
    ]
    tool = fact("t", "tests", category="convention", key="tests", value="pytest", trust=Trust.PROJECT, importance=0.5)
    offered = [piece.id for piece in build_candidates(make_input(facts=(*sentences, tool)))]
    assert "t" in offered
    assert len(offered) == 3, "two of one topic"


def test_vague_sentences_of_guides_are_not_offered() -> None:
    source = {"type": "convention", "path": "CONTRIBUTING.md", "topic": "vague"}
    vague = fact("v", "Write good code", category="instruction", trust=Trust.PROJECT, importance=0.9, source=source)

    assert [piece.id for piece in build_candidates(make_input(facts=(vague,)))] == []


def test_other_files_are_listed_with_reasons() -> None:
    rest = [
        PredictedFile("lib/0.py", 1.0, 0.06, ("same folder",), is_specific=False),
        PredictedFile("b.py", 0.0, 0.07, ("changed together 2 of the last 20 times",), is_specific=False),
        PredictedFile("more.py", 0.0, 0.06, ("changed together 9 of the last 20 times",)),
        PredictedFile("once.py", 0.0, 0.07, ("changed together 1 of 5 times",), is_specific=False),
        PredictedFile("c.py", 0.0, 0.06, ("imports this file",)),
        PredictedFile("yarn.lock", 0.0, 0.06, ("changed together 2 of 4 times",)),
        PredictedFile("d.py", 0.0, 0.05, ("imports this file",)),
        PredictedFile("x.py", 0.0, 0.01, ("imports this file",)),
    ]

    def offered(*files: PredictedFile) -> list[str]:
        return [piece.forms[0][1] for piece in build_candidates(make_input(prediction=Prediction(files)))]

    assert offered(*rest) == [
        "possibly: more.py (changed together 9 of the last 20 times), b.py (2 of 20), c.py (imports this file), "
        "d.py (imports this file)"
    ]
    assert offered(rest[1]) == [], "too unlikely as a whole"


def test_reasons_name_the_linking_definitions() -> None:
    def reasons(links: FileLinks) -> tuple[str, ...]:
        prediction = Prediction((PredictedFile("src/a.py", 1.0, 0.3, ("uses its names", "defines names it uses")),))
        given = {"prediction": prediction, "links": {"src/a.py": links}, "focus": Focus(project="p", file="src/b.py")}
        return next((one.reasons for one in build_candidates(make_input(**given))), ())

    both = FileLinks(used_here=frozenset({"Sampler", "add", "LevelSampler"}), used_there=frozenset({"Hook"}))
    assert reasons(both) == ("uses `Hook` of this file", "defines `LevelSampler`, `Sampler`, used here")
    assert reasons(FileLinks(used_there=frozenset({"Hook"}))) == ("uses `Hook` of this file",)
    assert reasons(FileLinks()) == (), "no definition proves the reasons"


def test_definitions_of_tests_link_tests_beside() -> None:
    assert can_use_definitions("spec/cart_spec.rb", "lib/cart.rb")
    assert not can_use_definitions("lib/cart.rb", "spec/support/carts.rb")
    assert can_use_definitions("spec/cart_spec.rb", "spec/support/carts.rb")
    assert not can_use_definitions("cart_test.go", "internal/till_test.go")
    assert can_use_definitions("internal/cart_test.go", "internal/till_test.go")


def test_frequent_file_is_listed_where_there_is_room() -> None:
    files = tuple(PredictedFile(f"{n}.py", 0.0, 0.055, ("imports this file",)) for n in range(12))
    frequent = ExpectedFile("pyproject.toml", 0.15, 7, 20, of_file=True)

    def told(count: int) -> str:
        prediction = Prediction(files[:count], expected=(frequent,))
        [listed] = build_candidates(make_input(prediction=prediction, outline_count=1))
        return listed.forms[0][1]

    assert told(1) == "possibly: pyproject.toml (7 of the last 20 changes of this file), 0.py (imports this file)"
    assert told(12).endswith("(imports this file)"), "the list is full"


def test_expected_files_stand_on_one_line_with_counts() -> None:
    expected = (
        ExpectedFile("CHANGES.md", 0.7, 15, 20, of_file=True),
        ExpectedFile("news.d/", 0.5, 30, 60, of_file=False),
        ExpectedFile("HISTORY.md", 0.5, 1, 60, of_file=False),
        ExpectedFile("yarn.lock", 0.4, 20, 60, of_file=False),
        ExpectedFile(".pre-commit-config.yaml", 0.4, 12, 20, of_file=True),
        ExpectedFile("README.md", 0.4, 2, 3, of_file=True),
    )

    def offered(file: str) -> list[str]:
        given = {"prediction": Prediction(expected=expected), "focus": Focus(project="p", file=file)}
        return [piece.forms[0][1] for piece in build_candidates(make_input(**given))]

    beside_code = (
        "also expected: CHANGES.md (15 of the last 20 changes of this file), "
        "an entry in news.d/ (30 of the last 60 changes)"
    )
    assert offered("shop/basket.py") == [beside_code]
    assert offered("package.json") == [
        "also expected: CHANGES.md (15 of the last 20 changes of this file), yarn.lock (20 of the last 60 changes), "
        ".pre-commit-config.yaml (12 of the last 20 changes of this file)"
    ]


def test_lock_file_stands_beside_its_manifest() -> None:
    lock = ExpectedFile("gcs/go.sum", 0.15, 1, 4, of_file=True)

    def offered(file: str) -> list[str]:
        given = {"prediction": Prediction(expected=(lock,)), "focus": Focus(project="p", file=file)}
        return [piece.forms[0][1] for piece in build_candidates(make_input(**given))]

    assert offered("gcs/go.mod") == ["also expected: gcs/go.sum (the lock file of this one)"]
    assert offered("gcs/Makefile") == [], "it has tasks, but no dependencies"
    assert offered("go.mod") == offered("gcs/file.go") == []


def test_weak_reasons_need_more_probability() -> None:
    def offered(confidence: float, reason: str) -> list[str]:
        given = {"prediction": Prediction((PredictedFile("a.py", 1.0, confidence, (reason,)),))}
        return [piece.id for piece in build_candidates(make_input(**given, focus=Focus(project="p", file="b.py")))]

    assert offered(0.1, "imports this file") == ["file:a.py"]
    assert offered(0.15, "named alike") == ["files:possibly"]
    assert offered(0.25, "named alike") == ["file:a.py"]


def test_old_and_broad_units_are_left_out() -> None:
    near = unit("Round the tax down", "shop/sum.py", "shop/tax.py")
    old = replace(near, sha="1" * 40, at=int(datetime(2019, 1, 1, tzinfo=UTC).timestamp()))
    broad = unit("Rename the shop", *(f"{n}.py" for n in range(12)), confidence=0.6)

    def offered(file: str | None = None, query: str = "") -> list[float]:
        focus = Focus(project="p", file=file, query=query)
        units = build_candidates(make_input(prediction=Prediction(units=(near, old, broad)), focus=focus, past_units=9))
        return [piece.value for piece in units]

    assert offered() == [0.3, 0.0], "a value of 0 is never selected"
    assert offered(query="how is the tax rounded") == [0.3, 0.3, 0.0]
    assert offered("shop/basket.py") == [], "only a precedent is shown beside a file"
    assert offered("shop/basket.py", "how is the tax rounded") == [0.3, 0.3, 0.0]
