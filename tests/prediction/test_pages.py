"""Line authorship of open files, and the past units it recalls."""

from __future__ import annotations

from hunchd.domain.context import Focus, PredictedUnit
from hunchd.domain.history import Change, Unit
from hunchd.prediction.pages import MOST_PAGES, reading
from hunchd.prediction.predictor import Predictor

NOW = 1_700_000_000
PRICES, TAXES, ELSEWHERE = "a" * 40, "b" * 40, "f" * 40


def unit(sha: str, subject: str, *changes: Change) -> Unit:
    return Unit(sha=sha, parents=(), author="Ada", email="ada@example.org", at=NOW, subject=subject, changes=changes)


def recalled(predictor: Predictor, query: str = "") -> tuple[PredictedUnit, ...]:
    return predictor.predict(Focus(project="p", file="shop.py", query=query), now=NOW).units


def made() -> Predictor:
    """Return a predictor with two units of one file, the second with far fewer lines."""
    predictor = Predictor()
    predictor.learn(unit(PRICES, "begin", Change("A", "shop.py", added=90)))
    predictor.learn(unit(TAXES, "go on", Change("M", "shop.py", added=1)))
    return predictor


LINES = (*((PRICES, f"price{number} = {number}") for number in range(6)), (TAXES, "vat = 19"), (ELSEWHERE, "x = 1"))


def test_author_of_matching_lines_ranks_first() -> None:
    predictor = made()
    predictor.read("shop.py", reading(LINES))

    assert [one.sha for one in recalled(predictor, "the vat of books")] == [TAXES, PRICES]
    assert "wrote lines about it" in recalled(predictor, "the vat of books")[0].reasons
    assert recalled(predictor, "something else")[0].sha == PRICES


def test_read_file_replaces_estimated_shares() -> None:
    predictor = made()
    before = recalled(predictor)[0].reasons

    predictor.read("shop.py", reading([(TAXES, "a"), (TAXES, "b"), (TAXES, "c"), (PRICES, "d")]))

    assert before[0] == "once added much of what is open"  # no figure: it is not known to be true
    assert [one.reasons[0] for one in recalled(predictor)] == ["wrote 75% of what is open", "wrote 25% of what is open"]


def test_empty_reading_keeps_estimate() -> None:
    predictor = made()
    before = recalled(predictor, "vat")

    predictor.read("shop.py", reading(()))

    assert recalled(predictor, "vat") == before
    assert predictor.has_read("shop.py")


def test_new_unit_invalidates_reading() -> None:
    predictor = made()
    assert not predictor.has_read("shop.py")
    predictor.read("shop.py", reading(LINES))
    assert predictor.has_read("shop.py")

    predictor.learn(unit("c" * 40, "another file", Change("M", "other.py", added=1)))
    assert predictor.has_read("shop.py")
    predictor.learn(unit("d" * 40, "this file", Change("M", "shop.py", added=1)))
    assert not predictor.has_read("shop.py")


def test_pages_evict_oldest_reading() -> None:
    predictor = made()
    predictor.read("shop.py", reading(LINES))
    for number in range(MOST_PAGES):
        predictor.learn(unit(f"{number:040x}", "more", Change("A", f"{number}.py", added=1)))
        predictor.read(f"{number}.py", reading(LINES))

    assert not predictor.has_read("shop.py")
    assert predictor.has_read(f"{MOST_PAGES - 1}.py")


def test_reading_of_unknown_file_is_ignored() -> None:
    predictor = made()
    predictor.read("nowhere.py", reading(LINES))

    assert not predictor.has_read("nowhere.py")
