"""Questions are taken apart: symbols, paths, roles, and long reports of problems."""

from __future__ import annotations

import pytest

from hunchd.codesearch.query import ROLE_FACTORS, compute_role_factors, parse_query
from hunchd.codesearch.roles import Role, classify_role
from hunchd.codesearch.terms import extract_identifier_terms, extract_terms

ISSUE = (
    """Session cookie is dropped when SameSite is None

<!-- Please search the tracker first -->
### Describe the bug
Since the last release `SecureCookie.dump` loses the attribute.

```python
app.session.save("x")
```

Traceback (most recent call last):
  File "/usr/lib/python3.11/site-packages/shop/app.py", line 12, in handle
    raise
  File "/home/ada/shop/sessions.py", line 40, in save
    self.dump()
ValueError: bad value

### Environment
Python version: 3.11.4
- [x] I have read the guide
"""
    + "The basket is emptied as well. " * 5
)


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("FromRequest", "symbol"),
        ("`flask.Flask.route()`", "symbol"),
        ("where are permissions checked", "code"),
        ("where is escaping decided", "code"),
        ("who calls the parser", "code"),
        ("what was decided on caching", "history"),
        ("why are cookies signed", "history"),
        ("when was Python 3.7 dropped?", "history"),
        ("how do I run the tests", "task"),
    ],
)
def test_query_intent_follows_wording(text: str, intent: str) -> None:
    assert parse_query(text).intent == intent


def test_query_names_in_sentence_are_symbols() -> None:
    assert set(parse_query("Where does path_router call IntoResponse?").symbols) == {"path_router", "IntoResponse"}


def test_query_asking_for_tests_prefers_tests() -> None:
    factors = parse_query("tests for the basket").factors

    assert factors[Role.TEST] > factors[Role.SOURCE]
    assert parse_query("where are baskets emptied").factors == ROLE_FACTORS


def test_query_naming_a_test_client_keeps_sources() -> None:
    assert parse_query("how does the test client send cookies").factors[Role.SOURCE] == 1.0


def test_query_report_is_read_by_parts() -> None:
    query = parse_query(ISSUE)

    assert query.gist == "Session cookie is dropped when SameSite is None"
    assert query.frames[0] == ("/home/ada/shop/sessions.py", "save", 40)
    assert query.symbols["SecureCookie.dump"] < query.symbols["SameSite"]
    assert extract_identifier_terms("tracker")[0] not in query.terms
    assert query.terms[extract_identifier_terms("basket")[0]] < query.terms[extract_identifier_terms("cookie")[0]]


def test_query_hostile_text_is_read_quickly() -> None:
    for text in ("a." * 30_000, "<!--" * 16_000, 'File "' * 10_000, "/a" * 30_000, "`" * 60_000, "x" * 64_000):
        parse_query(text)


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("src/shop/basket.py", Role.SOURCE),
        ("tests/test_basket.py", Role.TEST),
        ("src/test/java/BasketTest.java", Role.TEST),
        ("serde_test_suite/tests/a.rs", Role.TEST),
        ("shop/testclient.py", Role.SOURCE),
        ("docs/usage.md", Role.DOCS),
        ("CHANGES.rst", Role.CHANGELOG),
        ("Release.md", Role.DOCS),
        ("examples/basic/main.go", Role.EXAMPLE),
        ("crates/shop/benches/sum.rs", Role.EXAMPLE),
        ("src/benchmark/mod.rs", Role.SOURCE),  # what the program is about
        ("vendor/lib/x.go", Role.VENDORED),
        ("package-lock.json", Role.GENERATED),
        (".github/workflows/ci.yml", Role.CONFIG),
        ("shop/locale/de/LC_MESSAGES/shop.po", Role.CONFIG),
        ("config/locales/de.yml", Role.CONFIG),
        ("src/i18n/index.ts", Role.SOURCE),
    ],
)
def test_role_of_path_is_told(path: str, role: Role) -> None:
    assert classify_role(path) is role


def test_query_function_words_carry_no_weight() -> None:
    weights = parse_query("where is it decided whether a price applies?").terms

    assert weights[extract_terms("price")[0]] == 1.0
    assert weights[extract_terms("decided")[0]] < 0.5
    assert not {*extract_terms("where"), *extract_terms("why")} & weights.keys()


@pytest.mark.parametrize(("british", "american"), [("coloured", "colors"), ("serialise", "serialized")])
def test_terms_spelling_variants_are_equal(british: str, american: str) -> None:
    assert extract_terms(british) == extract_terms(american)


def test_query_task_prefers_documents() -> None:
    factors = parse_query("how do I run the tests").factors

    assert factors[Role.DOCS] > factors[Role.SOURCE] > factors[Role.TEST]


def test_history_question_counts_the_changelog_most() -> None:
    asked, plain = compute_role_factors("when was parallel exec added"), compute_role_factors("parallel exec")
    assert asked[Role.CHANGELOG] >= asked[Role.SOURCE] > plain[Role.CHANGELOG]


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("what calls apply_discount?", "uses"),
        ("Which parts make use of the helper that cuts names?", "uses"),
        ("What uses the code for this: How is it done?", "uses"),
        ("Which test covers the discount?", "tests"),
        ("Is there a page on discounts?", "describes"),
        ("Which pattern does it use for names?", None),
        ("tests for the discount", None),
    ],
)
def test_query_relation_follows_wording(text: str, relation: str | None) -> None:
    assert parse_query(text).relation == relation
