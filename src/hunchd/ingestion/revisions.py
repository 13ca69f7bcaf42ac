"""Detection of statements that replace an earlier one.

A statement replaces an earlier one if it sets a different number for the same measure of the same subject: "every
five seconds" replaces "once a second". It also replaces the earlier one if it changes or withdraws something and
names what the earlier statement chose. These are pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import mul
from typing import Final

MUTABLE: Final = ("decision", "constraint", "instruction", "preference", "convention", "goal")
STEM: Final = 5  # letters: enough to distinguish subjects, few enough to drop endings
LEAST_SHARED: Final = 2  # words that a change which names nothing must share with the earlier statement
# For a change that shares no words with the statement it changes: the minimum cosine similarity to that statement, and
# the minimum lead over all others.
MIN_COSINE: Final = 0.48
MIN_LEAD: Final = 0.05
LEAST_COSINE: Final = 0.15  # minimum cosine similarity to a statement that shares names or words
CHANGE_THRESHOLD: Final = 0.1  # minimum probability of a change or withdrawal to replace an earlier statement
LIKELY_CHANGE: Final = 0.25  # the same if the two statements have a number in common
SURE_CHANGE: Final = 0.4  # the same if the two statements share no words
TERSE: Final = 2  # words: a change with no more tells only the new value
RECENT: Final = 4  # statements among which a terse change finds the one that it changes
SMALLEST_NUMBERS: Final = {"1", "2"}  # often articles, which mean little
LASTING: Final = ("identity", "person", "action")  # only a statement in the same category replaces one in these

_WORD = re.compile(r"[^\W\d_\u3040-\u30ff\u3400-\u9fff]+|\d+(?:[.,]\d+)?|[%€$]")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+")
_WIDE_QUANTITY = re.compile(
    r"([零一二两三四五六七八九十百千\d]+)\s*(秒|分钟|分|小时|時間|天|日|周|週間|个月|年|度|兆|元|米|公里)"
    r"|(\d+(?:\.\d+)?)\s*([\u4e00-\u9fff]|[\u30a0-\u30ff]+)"  # any other unit of a numeral: 64 拍, 3ニュートン
)
_WIDE_NUMERAL = re.compile(r"[零一二两三四五六七八九十百千年月日天分秒米度]")
_NAME = re.compile(r"(?<![\w-])(?:[A-Z][\w+#.-]*[\w+#]|[a-z]+[A-Z0-9]\w*)")
_START = re.compile(r"(?:^|[.!?:;]\s+)[\"'«„“]?([A-Z][a-z'’]+)(?![\w-])")
_LATIN = re.compile(r"[A-Za-z][A-Za-z0-9+#.-]+")
_APART: Final = 2  # words between a number and its unit, at most

# Words for numbers, and units of time, size and share. Both are closed classes.
_NUMBERS: Final = """
1 once one ein eine einmal una uno une um uma vez 一 один одна;
2 twice two second zwei zwo dos deux dois duas 两 二 два две; 3 three drei tres trois três 三 три;
4 four vier cuatro quatre quatro 四 четыре; 5 five fünf cinco cinq 五 пять; 6 six sechs seis 六 шесть;
7 seven sieben siete sept sete 七 семь; 8 eight acht ocho huit oito 八 восемь; 9 nine neun nueve neuf nove 九 девять;
10 ten zehn diez dix dez 十 десять; 12 twelve zwölf doce douze doze 十二 двенадцать;
15 fifteen fünfzehn quince quinze 十五 пятнадцать; 18 eighteen achtzehn dieciocho 十八;
20 twenty zwanzig veinte vingt vinte 二十 двадцать; 30 thirty dreißig treinta trente trinta 三十 тридцать;
40 forty vierzig cuarenta quarante quarenta 四十 сорок; 50 fifty fünfzig cincuenta cinquante cinquenta 五十 пятьдесят;
60 sixty sechzig sesenta soixante sessenta 六十 шестьдесят; 70 seventy siebzig setenta 七十 семьдесят;
80 eighty achtzig ochenta oitenta 八十 восемьдесят; 90 ninety neunzig noventa 九十 девяносто;
100 hundred hundert cien cent cem 百 сто
"""
_UNITS: Final = """
second seconds sekunde sekunden segundo segundos seconde secondes 秒 секунда секунд секунды;
minute minutes minuten minuto minutos 分 分钟 минута минут минуты;
hour hours stunde stunden hora horas heure heures 小时 時間 час часов часа;
day days daily tag tage tagen täglich día días diario jour jours dia dias 天 日 день дней дня;
week weeks weekly woche wochen semana semanas semaine semaines 周 週間 неделя недель недели;
month months monat monate monaten mes meses mois mês 月 месяц месяцев;
year years jahr jahre jahren año años an ans ano anos 年 год лет года;
percent prozent ciento cent % 百分 процент процентов;
degree degrees grad grado grados degré degrés grau graus 度 градус градусов; euro euros dollar dollars € $ 元 рублей;
megabyte megabytes mb megas 兆
"""
_NUMBER_OF: Final = {word: row.split()[0] for row in _NUMBERS.casefold().split(";") for word in row.split()}
_UNIT_OF: Final = {word: row.split()[0] for row in _UNITS.split(";") for word in row.split()}


@dataclass(frozen=True, slots=True)
class _Subject:
    """Words, names and quantities in a statement."""

    words: frozenset[str]  # stems
    names: frozenset[str]
    all_words: frozenset[str]  # every word, and every pair of wide characters
    quantities: frozenset[tuple[str, str]]  # unit, number
    numbers: frozenset[str]  # with and without a unit, except the smallest


def find_revised(
    text: str, category: str, earlier: Sequence[tuple[str, str]], vectors: Mapping[str, bytes], *, changes: float
) -> int | None:
    """Return the index of the statement in `earlier` that `text` replaces.

    Returns None if it replaces none. `earlier` contains (category, text) pairs, oldest first, and `category` is
    that of `text`. `changes` is the probability that the statement changes or withdraws something. `vectors` maps
    texts to their vectors; texts may be missing. If several earlier statements fit, the most similar one is chosen,
    and among equally similar ones the newest.
    """
    may_change, is_sure = changes >= CHANGE_THRESHOLD, changes >= SURE_CHANGE
    if category not in MUTABLE and not may_change:
        return None
    new, cosines = _build_subject(text), _compute_cosines(text, [old_text for _, old_text in earlier], vectors)
    fitting = []
    for index, (kind, old_text) in enumerate(earlier):
        old = _build_subject(old_text)
        is_near, is_other = cosines.get(index, 1.0) >= LEAST_COSINE, kind in LASTING and kind != category
        if category in LASTING and kind != category and not is_sure:
            continue
        if (
            (may_change and is_near and not is_other and _mentions(new, old))
            or (changes >= LIKELY_CHANGE and is_near and old.numbers & new.numbers)  # "thirty was nonsense"
            or (kind in MUTABLE and _changes_measure(new, old, is_sure=is_sure))
            or (kind in MUTABLE and may_change and is_near and _changes_choice(new, old, is_sure=is_sure))
        ):
            fitting.append((cosines.get(index, 0.0), index))
    if fitting:
        return max(fitting)[1]
    latest = _find_latest_value(new, earlier) if may_change else None
    return _find_nearest(cosines) if latest is None and is_sure else latest


def find_done(text: str, earlier: Sequence[tuple[str, str]], *, least: int) -> int | None:
    """Return the index of the action in `earlier` that `text` reports as done.

    It is the one with which the report shares the most words, names and numbers; among equals, the newest. Returns
    None if it shares fewer than `least` with any.
    """
    new = _build_subject(text)
    overlaps = [
        (len(new.words & old.words) + len(old.names & new.all_words) + len(new.numbers & old.numbers), index)
        for index, (kind, old_text) in enumerate(earlier)
        if kind == "action"
        for old in (_build_subject(old_text),)
    ]
    overlap, index = max(overlaps, default=(0, 0))
    return index if overlap >= least else None


def shares_words(text: str, earlier: str) -> bool:
    """Return True if a statement repeats a word or name of `earlier`, so that it tells what it is about."""
    new, old = _build_subject(text), _build_subject(earlier)
    return bool(new.words & old.words or old.names & new.all_words)


def adds_value(text: str, earlier: str) -> bool:
    """Return True if a statement sets a value that `earlier` lacks.

    The value is a name or a number that the statement does not deny. "Thirty was too coarse, so fifteen" withdraws
    one value and sets another.
    """
    new, old = _build_subject(text), _build_subject(earlier)
    new_values = (new.names - old.all_words) | (new.numbers - old.numbers)
    return bool(new_values)


def _compute_cosines(text: str, earlier: Sequence[str], vectors: Mapping[str, bytes]) -> dict[int, float]:
    """Map the index of each earlier text that has a vector to its similarity to `text`."""
    new = memoryview(vectors.get(text, b"")).cast("f")
    if not any(new):  # the vector of a script that the model cannot read is zero
        return {}
    olds = {index: memoryview(vectors[one]).cast("f") for index, one in enumerate(earlier) if one in vectors}
    return {index: sum(map(mul, new, old)) for index, old in olds.items() if any(old)}


def _find_nearest(cosines: Mapping[int, float]) -> int | None:
    """Return the index of the earlier statement that is clearly the most similar, or None."""
    ranked = sorted(((cosine, index) for index, cosine in cosines.items()), reverse=True)
    [(best, index), (second, _), *_] = [*ranked, (0.0, 0), (0.0, 0)]
    return index if best >= MIN_COSINE and best - second >= MIN_LEAD else None


def _find_latest_value(new: _Subject, earlier: Sequence[tuple[str, str]]) -> int | None:
    """Return the index of the newest of RECENT statements whose value a terse change ("make that 30") replaces."""
    units = {unit for unit, _ in new.quantities}
    if len(new.words) > TERSE or not (units or new.numbers):
        return None
    for index, (kind, old_text) in reversed([*enumerate(earlier)][-RECENT:]):
        old = _build_subject(old_text)
        if kind in MUTABLE and ({unit for unit, _ in old.quantities} & units if units else old.numbers):
            return index
    return None


def _mentions(new: _Subject, old: _Subject) -> bool:
    """Return True if the new statement names something that the old one chose."""
    return bool(old.names & new.all_words)


def _changes_measure(new: _Subject, old: _Subject, *, is_sure: bool) -> bool:
    """Return True if the new statement changes a number in the old one.

    The unit must be the same, and so must the subject, unless the new statement surely changes something (`is_sure`).
    """
    same = {unit for unit, _ in new.quantities & old.quantities}
    other_units = {unit for unit, _ in old.quantities} & {unit for unit, _ in new.quantities} - same
    return any(is_sure or new.words & old.words - {unit[:STEM]} for unit in other_units)


def _changes_choice(new: _Subject, old: _Subject, *, is_sure: bool) -> bool:
    """Return True if two statements may choose differently for the same subject, of which they share two words.

    One shared word is enough for a sure change, or if both name something (such as a tool) but nothing in common.
    """
    shared_words = new.words & old.words
    return len(shared_words) >= (1 if is_sure else LEAST_SHARED) or bool(
        shared_words and old.names and new.names and not new.names & old.names
    )


@lru_cache(maxsize=1 << 10)
def _build_subject(text: str) -> _Subject:
    words = [word.casefold() for word in _WORD.findall(text)]
    pairs = [run[at : at + 2] for run in _WIDE.findall(text) for at in range(len(run) - 1)]
    pairs = [pair for pair in pairs if not _WIDE_NUMERAL.search(pair)]
    starts = {start.start(1) for start in _START.finditer(text)}
    names = {name[0].casefold() for name in _NAME.finditer(text) if name.start() not in starts}
    if pairs:
        names |= {name.casefold() for name in _LATIN.findall(text)}
    plain = [word for word in words if word not in _UNIT_OF and word not in _NUMBER_OF and len(word) >= STEM - 1]
    quantities = frozenset(_find_quantities(text, words))
    plain_numbers = (_NUMBER_OF.get(word, word) for word in words if word in _NUMBER_OF or word[0].isdigit())
    return _Subject(
        words=frozenset([*(word[:STEM] for word in plain if word.isalpha()), *pairs]),
        names=frozenset(names),
        all_words=frozenset([*words, *pairs, *(name.casefold() for name in _LATIN.findall(text))]),
        quantities=quantities,
        numbers=frozenset([*plain_numbers, *(number for _, number in quantities)]) - SMALLEST_NUMBERS,
    )


def _find_quantities(text: str, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (unit, number) for each quantity, such as "five years" and "三天"."""
    for at, word in enumerate(words):
        number = _NUMBER_OF.get(word, word if word[0].isdigit() else None)
        if number is None:
            continue
        for following in words[at + 1 : at + 2 + _APART]:
            if following in _UNIT_OF:
                yield _UNIT_OF[following], number
                break
    for number, unit, numeral, other in _WIDE_QUANTITY.findall(text):
        yield _UNIT_OF.get(unit, unit) or other, number or numeral
