"""Splitting of texts into words, normalisation of words, and stop words.

Whether a word carries meaning depends on the use, so a single list of stop words would lose something: "use" means
little in a question, and "fix" means little in the title of a commit, while "off" is decisive in a rule. The lists
share a core, and each adds words of its own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from functools import lru_cache
from typing import Final

from hunchd.text.identifiers import find_subwords
from hunchd.text.scripts import WORD, find_words, has_special_words, normalize_letters

_LATIN: Final = (range(0xC0, 0x250), range(0x1E00, 0x1F00))
_LIGATURES: Final = {"æ": "ae", "œ": "oe", "ø": "o", "ß": "ss", "đ": "d", "ð": "d", "ħ": "h", "ł": "l", "þ": "th"}


def _parse_word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Articles, prepositions, auxiliaries: without meaning in every text, including code.
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
# Function words of other languages, and the words with which people ask in them. A text is searched without those of
# the language that it is in; the index keeps them, because "die" and "con" are words of other languages too.
_FOREIGN_STOP_WORDS: Final = (
    _parse_word_set("""
        aber als am an auch auf aus bei beim bin bis bist da damit dann das dass dein deine dem den denn der des die
        dies diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines er es etwas euch für
        gegen habe haben hat hatte hatten hier ich ihm ihn ihr ihre im in ist ja jede jeden jeder kann kein keine keinen
        können man mein meine mich mir mit muss müssen nach nicht noch nur ob oder ohne schon sein seine seit sich sie
        sind so soll sollen über um und uns unser unsere unter vom von vor wann war waren warum was welche welchen
        welcher welches wem wen wenn wer werden wie wieder wir wird wo wofür womit worauf wozu wurde wurden zu zum zur
    """),
    _parse_word_set("""
        a al algo ante aquí así aunque como con cuál cuáles cuando cuándo cuánto cuántos de del desde donde dónde dos el
        él ella ellos en entre era eran eres es esa ese eso esta está estaba están estas este esto estos fue fueron ha
        haber había han hasta hay he hemos la las le les lo los más me mi mis muy nada ni no nos nosotros nuestra
        nuestro o para pero poco por porque puede qué que quién quien quiénes se sea ser si sí sin sobre son soy su sus
        también te tenemos tengo tiene tienen todo todos tu tú un una uno unos usamos usar va y ya yo
    """),
    _parse_word_set("""
        à afin ai après au aussi autre aux avant avec avons ce cela ces cet cette ceux chez comme comment dans de des
        depuis deux doit donc dont du elle elles en encore entre es est et été être eux fait faut il ils j je l la le
        les leur leurs lors lui là ma mais me même mes moi mon n ne ni nos notre nous on ont ou où par pas peut plus
        pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se ses si soit son sont sous sur ta te
        tes toi ton tous tout toute toutes très tu un une va vers vos votre vous y
    """),
    _parse_word_set("""
        a ainda ao aos aquele aqui as até com como da das de dela dele depois do dos e é ela elas ele eles em entre era
        essa esse esta está estão este eu foi foram há isso isto já lhe mais mas me mesmo meu minha muito na nas não nem
        no nos nós nossa nosso num numa o onde os ou para pela pelo por porque pra qual quais quando quanto que quê quem
        são se sem ser será seu sua só sobre também te tem temos tenho teu ter todo todos tudo um uma vai você vocês
    """),
    _parse_word_set("""
        а без более был была были было быть в вам вас весь во вот все всё всех вы где да даже для до его её ей ему если
        есть ещё еще же за зачем здесь и из или им их к как какая какие какой какого ко когда который кто ли мне может
        мой моя мы на над наш наша не него нет ни них но ну о об он она они оно от по под почему при с сколько со так
        там то того тоже только тот ты у уже что чего чтобы чем эта эти это этот я
    """),
)
_FEWEST_FUNCTION_WORDS: Final = 2  # in a text without accents, which may be English
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


# Beside Han or katakana, a pair of hiragana is an ending or a particle.
_CONTENT_SCRIPT: Final = re.compile(r"[\u30a1-\u30fa\u3400-\u9fff]")
_INFLECTION: Final = re.compile(r"[\u3041-\u309f]{2}")


def extract_terms(text: str) -> list[str]:
    """Return the distinct content words of a text, without stop words.

    The list contains the words and then the parts of compound words, in lower case.
    """
    text = normalize_letters(text)
    words = dict.fromkeys(word.lower() for word in (*find_words(text), *find_subwords(text)))
    empty = _find_foreign_stop_words(words)
    if has_special_words(text) and _CONTENT_SCRIPT.search(text):
        empty |= {word for word in words if _INFLECTION.fullmatch(word)}
    return [
        word
        for word in words
        if word not in QUESTION_STOP_WORDS and word not in empty and (len(word) > 1 or not word.isascii())
    ]


def is_foreign(text: str) -> bool:
    """Return True if the function words show that a text is not English."""
    return bool(_find_foreign_stop_words(dict.fromkeys(find_words(normalize_letters(text).lower()))))


def is_function_word(word: str) -> bool:
    """Return True for a function word of any known language."""
    return word in INDEX_STOP_WORDS or any(word in each for each in _FOREIGN_STOP_WORDS)


def _find_foreign_stop_words(words: Collection[str]) -> frozenset[str]:
    """Return the stop words of the language of `words`.

    Returns an empty set if the words are English, or only names.
    """
    fewest = 1 if any(not word.isascii() for word in words) else _FEWEST_FUNCTION_WORDS
    counts = [sum(map(each.__contains__, words)) for each in _FOREIGN_STOP_WORDS]
    is_foreign = max(counts) >= max(fewest, 1 + sum(map(QUESTION_STOP_WORDS.__contains__, words)))
    return _FOREIGN_STOP_WORDS[counts.index(max(counts))] if is_foreign else frozenset()


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
