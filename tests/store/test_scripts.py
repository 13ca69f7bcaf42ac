"""Words are found in every script, alone and inside others, in whatever form their letters come."""

from __future__ import annotations

import unicodedata

import pytest

from hunchd.store.indexes.terms import count_terms
from hunchd.store.indexes.tokenizer import build_index_text, build_query_text
from hunchd.store.indexes.word_index import WordIndex
from hunchd.text.scripts import find_words, normalize_letters
from hunchd.text.words import extract_terms

# Text → a word of it as somebody would ask for it.
ASKED = {
    "Latin in Chinese": ("日志改为写到Quorvex目录", "Quorvex"),
    "ticket in Japanese": ("印刷順の不具合BX-7730を直す", "BX-7730"),
    "Latin in Thai": ("เปลี่ยนไปใช้Tallowine แทนของเดิม", "Tallowine"),
    "Latin in Korean": ("캐시를Brindel로 바꿈", "Brindel"),
    "Thai": ("รถบรรทุกมาถึงตอนเที่ยง", "ตอนเที่ยง"),
    "Khmer": ("ម៉ាស៊ីនបោះពុម្ពនៅជាន់ក្រោម", "ជាន់ក្រោម"),
    "Burmese": ("ပုံနှိပ်စက်သည် အောက်ထပ်တွင်ရှိသည်", "အောက်ထပ်"),
    "Tamil": ("அச்சுப்பொறி கீழ்த்தளத்தில் உள்ளது", "கீழ்த்தளத்தில்"),
    "Hebrew with a prefix": ("הקרטונים מגיעים כשהמדפסת מוכנה", "המדפסת"),
    "Arabic with an article": ("تصل الصناديق إلى المستودع ليلا", "مستودع"),
    "Russian in another case": ("ключи лежат в сейфе кладовщика", "кладовщик"),
    "Georgian with an ending": ("გასაღები ინახება საწყობში", "საწყობი"),
    "full width": ("ＰＲＩＮＴＥＲ は二階", "printer"),
    "half width": ("ﾌﾟﾘﾝﾀは二階", "プリンタ"),
    "emoji": ("the oven is on fire 🧯 again", "🧯"),
    "emoji of several": ("ship it 👩‍🚀", "👩"),
}


@pytest.mark.parametrize(("text", "asked"), ASKED.values(), ids=ASKED)
def test_word_is_found_in_memory_index(text: str, asked: str) -> None:
    index = WordIndex()
    index.add("other", [("the pallet jack is in hall 4, 叉车在四号厅, погрузчик в зале", 1)])
    index.add("meant", [(text, 1)])

    assert [found.id for found in index.search(asked)] == ["meant"]


@pytest.mark.parametrize(("text", "asked"), ASKED.values(), ids=ASKED)
def test_stored_terms_and_question_share_terms(text: str, asked: str) -> None:
    assert count_terms(build_query_text(asked)).keys() & count_terms(build_index_text(text)).keys()
    assert set(extract_terms(asked)) & set(extract_terms(text))


def test_composed_and_decomposed_letters_are_one() -> None:
    composed = "Größe für Kühlräume, später Überprüfung"
    decomposed = unicodedata.normalize("NFD", composed)

    assert count_terms(decomposed) == count_terms(composed)
    assert extract_terms(decomposed) == extract_terms(composed)


def test_vowel_signs_do_not_end_words() -> None:
    assert find_words(normalize_letters("लेबल छपते हैं")) == ["लेबल", "छपते", "हैं"]
