"""Line authorship of open files, and the past units it recalls."""

from __future__ import annotations

from hunchd.domain.context import Focus, PredictedUnit
from hunchd.domain.history import PathChange, Unit
from hunchd.prediction.line_blame import MAX_FILES, build_blame_result
from hunchd.prediction.predictor import Predictor

NOW = 1_700_000_000
PRICES, TAXES, ELSEWHERE = "a" * 40, "b" * 40, "f" * 40


def unit(sha: str, subject: str, *changes: PathChange) -> Unit:
    return Unit(sha=sha, parents=(), author="Ada", email="ada@example.org", at=NOW, subject=subject, changes=changes)


def recalled(predictor: Predictor, query: str = "") -> tuple[PredictedUnit, ...]:
    return predictor.predict(Focus(project="p", file="shop.py", query=query), now=NOW).units


def made() -> Predictor:
    """Return a predictor with two units of one file, the second with far fewer lines."""
    predictor = Predictor()
    predictor.learn_unit(unit(PRICES, "begin", PathChange("A", "shop.py", added=90)))
    predictor.learn_unit(unit(TAXES, "go on", PathChange("M", "shop.py", added=1)))
    return predictor


LINES = (*((PRICES, f"price{number} = {number}") for number in range(6)), (TAXES, "vat = 19"), (ELSEWHERE, "x = 1"))


def test_author_of_matching_lines_ranks_first() -> None:
    predictor = made()
    predictor.set_authorship("shop.py", build_blame_result(LINES))

    assert [one.sha for one in recalled(predictor, "the vat of books")] == [TAXES, PRICES]
    assert "wrote lines about it" in recalled(predictor, "the vat of books")[0].reasons
    assert recalled(predictor, "something else")[0].sha == PRICES


def test_read_file_replaces_estimated_shares() -> None:
    predictor = made()
    before = recalled(predictor)[0].reasons

    predictor.set_authorship("shop.py", build_blame_result([(TAXES, "a"), (TAXES, "b"), (TAXES, "c"), (PRICES, "d")]))

    assert not before[0].startswith("wrote"), "it is not known to be true"
    assert [one.reasons[0] for one in recalled(predictor)] == [
        "wrote 75% of the open file",
        "wrote 25% of the open file",
    ]


def test_empty_reading_keeps_estimate() -> None:
    predictor = made()
    before = recalled(predictor, "vat")

    predictor.set_authorship("shop.py", build_blame_result(()))

    assert recalled(predictor, "vat") == before
    assert predictor.has_authorship("shop.py")


def test_new_unit_invalidates_reading() -> None:
    predictor = made()
    assert not predictor.has_authorship("shop.py")
    predictor.set_authorship("shop.py", build_blame_result(LINES))
    assert predictor.has_authorship("shop.py")

    predictor.learn_unit(unit("c" * 40, "another file", PathChange("M", "other.py", added=1)))
    assert predictor.has_authorship("shop.py")
    predictor.learn_unit(unit("d" * 40, "this file", PathChange("M", "shop.py", added=1)))
    assert not predictor.has_authorship("shop.py")


def test_pages_evict_oldest_reading() -> None:
    predictor = made()
    predictor.set_authorship("shop.py", build_blame_result(LINES))
    for number in range(MAX_FILES):
        predictor.learn_unit(unit(f"{number:040x}", "more", PathChange("A", f"{number}.py", added=1)))
        predictor.set_authorship(f"{number}.py", build_blame_result(LINES))

    assert not predictor.has_authorship("shop.py")
    assert predictor.has_authorship(f"{MAX_FILES - 1}.py")


def test_reading_of_unknown_file_is_ignored() -> None:
    predictor = made()
    predictor.set_authorship("nowhere.py", build_blame_result(LINES))

    assert not predictor.has_authorship("nowhere.py")
