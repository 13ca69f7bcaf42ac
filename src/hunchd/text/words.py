"""Splitting of texts into words, normalisation of words, and stop words.

Whether a word carries meaning depends on the use, so a single list of stop words would lose something: "use" is empty
in a question, "fix" in the title of a commit, while "off" is decisive in a rule. The lists share a core, and each adds
words of its own.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

from hunchd.text.identifiers import find_subwords
from hunchd.text.scripts import WORD, find_words, normalize_letters

_LATIN: Final = (range(0xC0, 0x250), range(0x1E00, 0x1F00))
_LIGATURES: Final = {"æ": "ae", "œ": "oe", "ø": "o", "ß": "ss", "đ": "d", "ð": "d", "ħ": "h", "ł": "l", "þ": "th"}


def _parse_word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Articles, prepositions, auxiliaries: empty in every text, code included.
_CORE: Final = _parse_word_set("""
    a all an and are as at be by can do does for from has have if in into is it its no not of on or so than that the
    their them then there these this to up was we when which will with you your
""")
# Further function words of English prose.
_ENGLISH: Final = _CORE | _parse_word_set("""
    about am any been being both but did doing each had having he her here his how i itself just me my our ours out
    over own same she should some such they those too very were what where while who whom yours
""")
# With the halves of contractions: "didn't" is read as "didn" and "t".
_CONTRACTIONS: Final = _ENGLISH | _parse_word_set("""
    after ain aren because before couldn didn doesn don during hasn haven hers herself him himself isn ll myself re
    shouldn theirs themselves until ve wasn why won wouldn yourself
""")
# Full-text index: the list of the Natural Language Toolkit.
INDEX_STOP_WORDS: Final = _CONTRACTIONS | _parse_word_set("""
    above again against below between d down few further hadn m ma mightn more most mustn needn nor now o off once
    only other ourselves s shan t through under weren y yourselves
""")
# Search questions: also the words with which people ask.
QUESTION_STOP_WORDS: Final = _CONTRACTIONS | _parse_word_set("""
    also always could either ever every get got know let like may might must neither one per please say shall show
    tell upon us use used using via whose would yet
""")
# Rules and decisions that are compared: also adverbs and hedges, but no word that may make the difference.
STATEMENT_STOP_WORDS: Final = _ENGLISH | _parse_word_set("""
    above across actually again agreed already also always another approximately around avoid below ca cannot circa
    could currently decided decision done e.g earlier entire entirely etc even ever every everywhere exactly feel
    free generally get gets got higher i.e later least let lets lower made make makes many may might more most much
    must namely neither never newer none nor normally note now older only onto onward onwards other others per
    please really roughly shall simply still through throughout today typically under upward upwards us usually via
    want wants whole whose within without would
""")
# Commit titles and identifiers: also keywords, and the verbs found in every commit.
CODE_STOP_WORDS: Final = _CORE | _parse_word_set("""
    add added adds allow change changed changes chore cls const def false feat fix fixed fixes fn improve let make
    makes more mut none now only per pub refactor remove removed removes return self support true update updated
    updates use var via would
""")
# Topics of a session, words of three letters or more: also words said in every session with an agent.
SESSION_STOP_WORDS: Final = _CORE | _parse_word_set("""
    about add after also any back been but code could did done file files fix get got had here how just let like
    line make may more must need new now off one only other our out over please run see should some still such sure
    take test tests they those too two use used using want way well were what where while work would yes
""")
# Paths, branches and facts, words of four letters or more: also names that every project has.
PATH_STOP_WORDS: Final = _parse_word_set("""
    because been code core docs does file files from have index init instead into main master more must not only
    should test tests than that their them there they this utils were what when where which will with would
""")


def tokenize(text: str) -> list[str]:
    """Return the runs of letters and digits in `text`, in lower case.

    The text is not normalized. The runs are in order and may repeat.
    """
    return WORD.findall(text.lower())


def extract_terms(text: str) -> list[str]:
    """Return the distinct content words of a text, without stop words.

    The list contains the words and then the parts of compound words, in lower case.
    """
    text = normalize_letters(text)
    words = [word.lower() for word in (*find_words(text), *find_subwords(text))]
    return [
        word
        for word in dict.fromkeys(words)
        if word not in QUESTION_STOP_WORDS and (len(word) > 1 or not word.isascii())
    ]


def fold_diacritics(word: str) -> str:
    """Strip the diacritics from Latin letters.

    In other scripts, diacritics carry meaning and are kept.
    """
    return word if word.isascii() else word.translate(_build_folding_table())


@lru_cache(maxsize=1)
def _build_folding_table() -> dict[int, str]:
    plain = {code: unicodedata.normalize("NFKD", chr(code))[0] for letters in _LATIN for code in letters}
    return {code: letter for code, letter in plain.items() if letter.isascii()} | {
        ord(letter): letters for letter, letters in _LIGATURES.items()
    }
