"""Statements of a session: what is kept of a message, in several languages, and what is not."""

from __future__ import annotations

import json
import subprocess
import sys
from array import array
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache

import pytest

from hunchd.domain.session import Message, MessageType, Turn
from hunchd.ingestion.revisions import adds_value, find_revised
from hunchd.ingestion.session_statements import (
    SentencePair,
    Statement,
    extract_statements,
    list_sentences,
    split_sentences,
)
from hunchd.ingestion.statement_classifier import LABELS

NOW = datetime(2026, 3, 1, tzinfo=UTC)


STATED = [
    ("Let's use Tantivy for the full-text search.", "decision"),
    ("We decided that build numbers start at 202611260001.", "decision"),
    ("I prefer short functions and hate nested ternaries.", "preference"),
    ("Never touch the folder vendor/.", "instruction"),
    ("The report must be ready by 14 March.", "constraint"),
    ("I'm a nurse from Uppsala and my name is Elsa Lund.", "identity"),
    ("Für die Karten nehmen wir OpenLayers.", "decision"),
    ("Ich mag keine langen Kommentare.", "preference"),
    ("No toques la carpeta vendor/.", "instruction"),
    ("部署就定每周五，不再改了。", "decision"),
    ("我不喜欢嵌套的三元表达式。", "preference"),
    ("Je préfère les fonctions courtes.", "preference"),
    ("Não mexa em vendor/.", "instruction"),
    ("コミットの前に必ずpytestを実行してください。", "instruction"),
    ("Меня зовут Ольга Смирнова.", "identity"),
]

TALK = [
    'He said "we always use Oracle", that was a joke.',
    "What if we moved everything to Haskell?",
    "Could you run the tests again?",
    "thanks, see you tomorrow",
    "Maybe we could use Scala some day.",
    "The cat should write the tests, haha.",
    "The password of the panel is [redacted:password].",
    "A customer, Jo Doe, jo.doe@example.org, must be deleted. She needs it within two days.",
    "Im Handbuch steht „niemals neu starten“.",
    "¿Podríamos usar Kotlin? Solo pregunto.",
    "网上有人说“永远不要用 Java”。",
]
OTHERS = [
    THREE_KINDS := "We use Caddy for the landing page. I prefer tabs over spaces. Lars is our accountant.",
    WITH_REASON := "MongoDB is too slow for the search index. We use Meilisearch instead.",
    WITH_DATE := "Everything must be finished by 2026-03-14.",
    DOUBTFUL := "The layers have to be saved as JSON.",
    STEERED := "\n".join(
        (
            *("It still fails on my machine.", "That did nothing.", "It still fails here.") * 5,
            DOUBTFUL,
            "Never push to main without asking me.",
        )
    ),
]


def make_turns(text: str, event: MessageType = MessageType.USER) -> list[Turn]:
    return [Turn(1, (Message(number=1, id="m1", event=event, text=text, at=NOW, tokens=1),))]


@cache
def rate_examples() -> Mapping[SentencePair, bytes]:
    """Rate the sentences of all examples by the statement model, in a process of its own: it takes 100 MB."""
    texts = (*(text for text, _ in STATED), *TALK, *OTHERS)
    pairs = list(dict.fromkeys(pair for text in texts for pair in list_sentences(make_turns(text))))
    program = "import json, sys\nfrom hunchd.embedding import fastembed_backend as fast\n"
    program += "rated = fast.load_statement_model().rate_sentences(json.load(sys.stdin))\n"
    program += "print(json.dumps([one.hex() for one in rated]))"
    line = [sys.executable, "-c", program]
    done = subprocess.run(line, input=json.dumps(pairs), capture_output=True, text=True, check=True, timeout=100)
    return dict(zip(pairs, map(bytes.fromhex, json.loads(done.stdout)), strict=True))


def stated(text: str) -> list[Statement]:
    return extract_statements(make_turns(text), rate_examples())


@pytest.mark.parametrize(("text", "category"), STATED)
def test_statement_has_category(text: str, category: str) -> None:
    assert [one.category for one in stated(text)] == [category]


@pytest.mark.parametrize("text", TALK)
def test_no_statement_in_talk(text: str) -> None:
    assert stated(text) == []


def test_statements_of_different_kinds_are_separate() -> None:
    found = stated(THREE_KINDS)

    assert [one.category for one in found] == ["decision", "preference", "person"]


def test_decision_keeps_its_reason() -> None:
    [one] = stated(WITH_REASON)

    assert "too slow" in one.text
    assert "Meilisearch" in one.text
    assert one.changes


def test_sentences_end_in_every_language() -> None:
    assert split_sentences("先看代码。然后测试。") == ["先看代码。", "然后测试。"]
    assert split_sentences("Am 14. Dezember kommt Dr. Holm. Bis dann.") == [
        "Am 14. Dezember kommt Dr. Holm.",
        "Bis dann.",
    ]


EARLIER = [
    ("decision", "Readings are kept in InfluxDB."),
    ("constraint", "Agents report once a second."),
    ("decision", "Invoices are rendered by Typst."),
]


@pytest.mark.parametrize(
    ("text", "category", "changes", "index"),
    [
        ("InfluxDB got too expensive, readings go to TimescaleDB.", "decision", True, 0),
        ("Every five seconds is enough for the agents.", "constraint", False, 1),
        ("Scratch that, no Typst.", "decision", True, 2),
        ("Photos are kept in MinIO.", "decision", False, None),
        ("Agents must never write to disk.", "constraint", False, None),
    ],
)
def test_revision_ends_earlier_statement(text: str, category: str, changes: bool, index: int | None) -> None:
    assert find_revised(text, category, EARLIER, {}, changes=changes) == index


def test_change_ends_most_similar_of_those_it_names() -> None:
    text = "InfluxDB is out, readings go to TimescaleDB."
    earlier = [("decision", "Readings are kept in InfluxDB."), ("insight", "InfluxDB runs on the old box.")]
    vectors = {text: pack_vector(1, 0), earlier[0][1]: pack_vector(0.6, 0.8), earlier[1][1]: pack_vector(0.4, 0.9)}
    assert find_revised(text, "decision", earlier, vectors, changes=1) == 0
    vectors[earlier[0][1]] = pack_vector(0, 1)  # shares a word and is about something else
    assert find_revised(text, "decision", earlier, vectors, changes=1) == 1


def test_change_that_names_person_keeps_person() -> None:
    earlier = [("person", "The early shift is Olga's, notes go to her.")]
    assert find_revised("The parts list for Olga goes back in.", "decision", earlier, {}, changes=1) is None
    assert find_revised("Olga has the late shift from now on.", "person", earlier, {}, changes=1) == 0


def test_likely_change_ends_statement_with_its_number() -> None:
    earlier = [("person", "Dreißig Sekunden reichen für die Abfrage."), ("decision", "Berichte sind auf Deutsch.")]
    assert find_revised("Dreißig war Unsinn, also fünfzehn.", "decision", earlier, {}, changes=0.3) == 0
    assert find_revised("Dreißig Leute kommen zur Feier.", "person", earlier, {}, changes=0.05) is None


def test_numeral_with_any_wide_unit_is_quantity() -> None:
    earlier = [("constraint", "缓冲长度最多 64 拍。")]
    assert find_revised("缓冲长度放到 256 拍。", "constraint", earlier, {}, changes=0) == 0


@pytest.mark.parametrize(
    ("text", "earlier", "adds"),
    [
        ("Thirty was nonsense, so fifteen.", "Poll every thirty seconds.", True),
        ("We drop Mongo and take Postgres.", "Orders live in Mongo.", True),
        ("Forget the thirty seconds.", "Poll every thirty seconds.", False),
        ("Scratch that, no Mongo.", "Orders live in Mongo.", False),
    ],
)
def test_withdrawal_with_new_value_adds_it(text: str, earlier: str, *, adds: bool) -> None:
    assert adds_value(text, earlier) is adds


def pack_vector(*values: float) -> bytes:
    return array("f", values).tobytes()


def test_change_ends_clearly_most_similar_statement() -> None:
    text = "those messages at night, forget them"
    vectors = {
        text: pack_vector(1, 0),
        EARLIER[0][1]: pack_vector(0.2, 0.98),
        EARLIER[1][1]: pack_vector(0.5, 0.87),
        EARLIER[2][1]: pack_vector(0.1, 0.99),
    }
    assert find_revised(text, "decision", EARLIER, vectors, changes=True) == 1
    assert find_revised(text, "decision", EARLIER, vectors, changes=False) is None
    vectors[EARLIER[2][1]] = pack_vector(0.48, 0.88)  # two are about as similar
    assert find_revised(text, "decision", EARLIER, vectors, changes=True) is None


def test_sentence_with_two_statements_is_split() -> None:
    message = Message(
        number=1, id="m1", event=MessageType.USER, text="My name is Alex and I prefer Python.", at=NOW, tokens=1
    )
    assert list_sentences([Turn(1, (message,))]) == [("My name is Alex", "I prefer Python.")]


def test_answer_is_read_with_its_question() -> None:
    asked = Message(
        number=1, id="m1", event=MessageType.ASSISTANT, text="Noted. SIP2 for the kiosks?", at=NOW, tokens=1
    )
    said = Message(number=2, id="m2", event=MessageType.USER, text="yes.", at=NOW, tokens=1)
    turns = [Turn(1, (asked,)), Turn(2, (said,))]
    pair = ("SIP2 for the kiosks?", "yes.")
    assert pair in list_sentences(turns)
    decides = pack_vector(*(30.0 if label == "decision" else 0.0 for label in LABELS))
    assert [one.text for one in extract_statements(turns, {pair: decides})] == ["SIP2 for the kiosks? yes."]


def test_short_question_is_quoted_with_its_proposal() -> None:
    asked = Message(
        number=1, id="m1", event=MessageType.ASSISTANT, text="I would batch by fifty. Shall I?", at=NOW, tokens=1
    )
    said = Message(number=2, id="m2", event=MessageType.USER, text="Yes, do it that way.", at=NOW, tokens=1)
    assert ("I would batch by fifty. Shall I?", "Yes, do it that way.") in list_sentences(
        [Turn(1, (asked,)), Turn(2, (said,))]
    )


def test_answer_does_not_quote_contact_data() -> None:
    text = "Shall I mail the report to jo.doe@example.org every week?"
    asked = Message(number=1, id="m1", event=MessageType.ASSISTANT, text=text, at=NOW, tokens=1)
    said = Message(number=2, id="m2", event=MessageType.USER, text="Yes, each Monday.", at=NOW, tokens=1)
    turns = [Turn(1, (asked,)), Turn(2, (said,))]
    decides = pack_vector(*(30.0 if label == "decision" else 0.0 for label in LABELS))
    ratings = dict.fromkeys([*list_sentences(turns), ("", "Yes, each Monday.")], decides)
    assert "example.org" not in " ".join(one.text for one in extract_statements(turns, ratings))


def test_question_beside_short_statement_drops_nothing() -> None:
    text = "Ten point it is. How many pages is that?"
    decides = pack_vector(*(30.0 if label == "decision" else 0.0 for label in LABELS))
    turns = make_turns(text)
    assert [one.text for one in extract_statements(turns, dict.fromkeys(list_sentences(turns), decides))] == [
        "Ten point it is."
    ]


@pytest.mark.parametrize("text", ["電池というのはどのくらい持つものですか。", "这台旧打印机还能用吗。"])
def test_question_without_mark_states_nothing(text: str) -> None:
    assert stated(text) == []


def test_number_after_comma_is_contact_data() -> None:
    assert stated("有个群众来电,马某,13800005555,说家里裂缝了,必须两天内回复。") == []


def test_date_is_no_contact_data() -> None:
    assert [one.category for one in stated(WITH_DATE)] == ["constraint"]
    assert stated("Call the client back at 0171 555 0123, she must have it within two days.") == []


def test_statement_among_task_orders_needs_more_evidence() -> None:
    assert [one.text for one in stated(DOUBTFUL)] == [DOUBTFUL]
    steered = " ".join(one.text for one in stated(STEERED))
    assert DOUBTFUL not in steered
    assert "Never push to main without asking me." in steered
