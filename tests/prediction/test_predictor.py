"""Predictor: rankings, reasons, learning and saving."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hunchd.domain.code import FileOutline, Symbol
from hunchd.domain.context import Focus, Prediction
from hunchd.domain.errors import StoreError
from hunchd.domain.history import PathChange, Unit
from hunchd.prediction import array_file, weights
from hunchd.prediction.file_table import TEST, classify_path
from hunchd.prediction.online_correction import HeadCorrection
from hunchd.prediction.predictor import Predictor
from hunchd.prediction.query import build_query
from hunchd.prediction.session import SessionEvent
from hunchd.prediction.words import extract_stem
from hunchd.prediction.words import hash_word as words_key

NOW = 1_700_000_000
DAY = 86_400


def unit(number: int, subject: str, *paths: str, status: str = "M", **more: object) -> Unit:
    changes = tuple(PathChange(status, path) for path in paths)  # type: ignore[arg-type]
    fields = {"author": "Ada", "email": "ada@example.org", "changes": changes} | more
    return Unit(sha=f"{number:040x}", parents=(), at=NOW - (100 - number) * DAY, subject=subject, **fields)  # type: ignore[arg-type]


def outline(path: str, *words: str, defines: tuple[str, ...] = (), uses: tuple[str, ...] = ()) -> FileOutline:
    symbols = tuple(Symbol(name, "function", 1, 2, "") for name in defines)
    blob = hashlib.sha1(repr((path, words, defines, uses)).encode()).hexdigest()
    return FileOutline(path, blob, "python", 1, 1, symbols, (), uses, dict.fromkeys((*words, *defines, *uses), 2))


def focus(file: str | None = None, **more: object) -> Focus:
    return Focus(project="p", file=file, **more)  # type: ignore[arg-type]


def names(prediction: Prediction) -> list[str]:
    return [file.path for file in prediction.files]


@pytest.fixture
def predictor() -> Predictor:
    learned = Predictor()
    learned.learn_unit(
        unit(
            0, "start", "src/views.py", "src/models.py", "tests/test_views.py", "src/cli.py", "CHANGES.rst", status="A"
        )
    )
    for number in range(1, 10):
        learned.learn_unit(unit(number, f"render page {number}", "src/views.py", "tests/test_views.py"))
    for number in range(10, 16):
        learned.learn_unit(unit(number, f"parse command line flags {number}", "src/cli.py", "src/models.py"))
    return learned


def test_cochanged_file_ranks_first_with_reason(predictor: Predictor) -> None:
    prediction = predictor.predict(focus("src/views.py"), now=NOW)

    assert names(prediction)[0] == "tests/test_views.py"
    assert "changed together 10 of 10 times" in prediction.files[0].reasons
    assert "tests this file" in prediction.files[0].reasons
    assert prediction.confidence == max(file.confidence for file in prediction.files)


def test_reasons_use_this_file_for_focus_only(predictor: Predictor) -> None:
    open_elsewhere = predictor.predict(focus("src/cli.py", open_files=("src/views.py",)), now=NOW)
    nowhere = predictor.predict(focus(open_files=("src/views.py",)), now=NOW)

    for prediction in (open_elsewhere, nowhere):
        told = {file.path: file.reasons for file in prediction.files}["tests/test_views.py"]
        assert "changed together with views.py 10 of 10 times" in told
        assert "tests views.py" in told
    told = {file.path: file.reasons for file in open_elsewhere.files}["src/models.py"]
    assert "changed together 7 of 7 times" in told


def test_library_for_tests_has_a_test(predictor: Predictor) -> None:
    predictor.learn_unit(unit(20, "jars", "lib/rack/test/jar.rb", "spec/rack/test/jar_spec.rb", status="A"))

    def reasons(file: str, other: str) -> tuple[str, ...]:
        return {one.path: one.reasons for one in predictor.predict(focus(file), now=NOW, k=20).files}[other]

    assert "tests this file" in reasons("lib/rack/test/jar.rb", "spec/rack/test/jar_spec.rb")
    assert "tested by this file" in reasons("spec/rack/test/jar_spec.rb", "lib/rack/test/jar.rb")


def test_test_of_nearer_namesake_is_named_alike() -> None:
    predictor = Predictor()
    paths = ("shop/utils.py", "shop/tax/utils.py", "tests/test_utils.py", "tests/tax/test_cart.py", "shop/cart.py")
    paths += ("shop/tax/cart.py", "benches/cart.py")
    predictor.learn_unit(unit(0, "start", *paths, status="A"))

    def reasons(file: str, other: str) -> tuple[str, ...]:
        return next(one.reasons for one in predictor.predict(focus(file), now=NOW).files if one.path == other)

    assert "tests this file" in reasons("shop/utils.py", "tests/test_utils.py")
    assert "named alike" in reasons("shop/tax/utils.py", "tests/test_utils.py")
    assert "tested by this file" in reasons("tests/tax/test_cart.py", "shop/tax/cart.py")
    assert "named alike" in reasons("tests/tax/test_cart.py", "shop/cart.py")
    assert "named alike" in reasons("benches/cart.py", "tests/tax/test_cart.py"), "nobody tests a benchmark"


def test_cochange_counts_newest_changes_only(predictor: Predictor) -> None:
    for number in range(20, 35):
        paths = ("src/views.py", "src/models.py") if number > 30 else ("src/views.py",)
        predictor.learn_unit(unit(number, f"views need models {number}", *paths))

    told = {one.path: one.reasons for one in predictor.predict(focus("src/views.py"), now=NOW, k=20).files}

    assert "changed together 4 of the last 20 times" in told["src/models.py"]
    assert "changed together 5 of the last 20 times" in told["tests/test_views.py"], "it was more often before"


def test_link_reason_names_linked_file(predictor: Predictor) -> None:
    predictor.learn_unit(unit(20, "pages of the shop", "shop/views.rb", "shop/basket.rb", status="A"))
    predictor.update_content(outline("shop/views.rb", defines=("show_goods",)))
    predictor.update_content(outline("shop/basket.rb", uses=("show_goods",)))
    told = {
        file.path: file.reasons
        for file in predictor.predict(focus("src/views.py", open_files=("shop/views.rb",)), now=NOW).files
    }

    assert "uses names of views.rb" in told["shop/basket.rb"]
    assert not any("this file" in reason for reason in told["shop/basket.rb"])


def test_confidences_fall_with_rank(predictor: Predictor) -> None:
    for number in range(30, 60):
        predictor.learn_unit(
            unit(number, f"piece {number}", f"src/{number % 7}.py", f"src/{number % 5}.py", "src/cli.py")
        )
    for number in range(7):
        told = [file.confidence for file in predictor.predict(focus(f"src/{number}.py"), now=NOW).files]
        assert told == sorted(told, reverse=True)


def test_packing_frees_old_contents_only(predictor: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunchd.prediction.learner.MIN_PACKED_PAIRS", 200)
    assert predictor.prepare_packing() is None
    for number in range(60):
        predictor.update_content(outline("src/cli.py", "flags", "lines", f"draft{number}", defines=("parse_flags",)))
        predictor.update_content(outline("src/views.py", "page", "flags", uses=("parse_flags",)))
    asked = [focus("src/views.py"), focus(query="flags of the page"), focus("src/cli.py", query="draft59 lines")]
    before = [predictor.predict(one, now=NOW) for one in asked]
    words = predictor.state.contents.words

    work = predictor.prepare_packing()
    assert work is not None
    predictor.update_content(outline("src/extra.py", "lines", "late"))  # while another thread works
    assert len(words.find_holders(words_key("late"))[0]) == 1
    assert "src/extra.py" in names(predictor.predict(focus(query="late"), now=NOW))[:2]
    take = work()
    predictor.remove_file("src/extra.py")
    take()

    assert words._postings.added_count == 2
    assert len(words.find_holders(words_key("flag"))[0]) == 2
    assert len(words.count_puts(np.array([words_key("draft")], "<u4"))) == 1
    assert words.count_puts(np.array([words_key("flag")], "<u4")).tolist() == [2]
    again = [predictor.predict(one, now=NOW) for one in asked]
    assert [names(one)[:2] for one in again] == [names(one)[:2] for one in before]
    assert predictor.prepare_packing() is None


def test_non_code_files_get_no_code_reasons(predictor: Predictor) -> None:
    predictor.learn_unit(unit(20, "tell of views", "docs/views.md", "Cargo.toml", "tests/Cargo.toml", status="A"))
    reasons = {
        (seed, file.path): file.reasons
        for seed in ("docs/views.md", "Cargo.toml")
        for file in predictor.predict(focus(seed), now=NOW, k=20).files
    }

    assert "named alike" in reasons["docs/views.md", "tests/test_views.py"]
    assert "named alike" in reasons["Cargo.toml", "tests/Cargo.toml"]
    assert not any(
        reason in told
        for told in reasons.values()
        for reason in ("tests this file", "imports this file", "imported by this file")
    )


def test_common_stem_is_reason_only_nearby() -> None:
    predictor = Predictor()
    apps = [f"{name}/{kind}" for name in "abcdefghijk" for kind in ("views.py", "tests/test_views.py")]
    predictor.learn_unit(unit(1, "begin", *apps, status="A"))
    told = {file.path: file.reasons for file in predictor.predict(focus("a/views.py"), now=NOW, k=30).files}

    assert "tests this file" in told["a/tests/test_views.py"]
    assert "tests this file" not in told["b/tests/test_views.py"]
    assert "named alike" not in told["b/views.py"]


def test_camel_case_test_matches_tested_file(predictor: Predictor) -> None:
    paths = ("src/Util/Url.php", "checks/Util/UrlTest.php", "Shop/Url.cs", "Shop.Tests/UrlTests.cs", "src/Latest.php")
    assert [extract_stem(path) for path in paths] == ["url", "url", "url", "url", "latest"]
    assert [bool(classify_path(path) & TEST) for path in paths] == [False, True, False, True, False]
    predictor.learn_unit(unit(20, "read addresses", *paths, status="A"))

    told = {file.path: file.reasons for file in predictor.predict(focus("src/Util/Url.php"), now=NOW, k=20).files}
    assert "tests this file" in told["checks/Util/UrlTest.php"]


def test_stem_of_private_module_has_no_underscore() -> None:
    paths = ("src/shop/_basket.py", "tests/test_basket.py", "src/shop/__init__.py", "src/shop/_.py")
    assert [extract_stem(path) for path in paths] == ["basket", "basket", "shop", "_"]
    assert [extract_stem(path) for path in ("src/lib.rs", "src/index.rs")] == ["lib", "index"], "not their folder"


def test_stem_of_index_file_is_folder() -> None:
    paths = ("core/useFetch/index.ts", "core/useFetch/index.browser.test.ts", "core/useMouse/index.browser.test.ts")
    assert [extract_stem(path) for path in paths] == ["usefetch", "usefetch", "usemouse"]


def test_query_words_find_files_of_past_work(predictor: Predictor) -> None:
    prediction = predictor.predict(focus(query="flags of the command line"), now=NOW)

    assert set(names(prediction)[:2]) == {"src/cli.py", "src/models.py"}
    assert any("past work on «parse command line flags" in reason for reason in prediction.files[0].reasons)
    assert prediction.units[0].subject.startswith("parse command line flags")
    said_again, one_word = (
        predictor.predict(focus(query=query), now=NOW).units[0] for query in (prediction.units[0].subject, "flags")
    )
    assert said_again.sha == prediction.units[0].sha
    assert one_word.confidence < prediction.units[0].confidence < said_again.confidence
    assert said_again.confidence > 0.3  # it is worth a line where no file is open


def test_uninformative_subject_is_no_reason(predictor: Predictor) -> None:
    predictor.learn_unit(unit(20, "Merge remote-tracking branch 'origin/command-line'", "src/cli.py", "src/models.py"))
    reasons = [
        reason
        for file in predictor.predict(focus(query="origin command line"), now=NOW).files
        for reason in file.reasons
    ]
    assert any("past work on «parse command line flags" in reason for reason in reasons)
    assert not any("Merge" in reason for reason in reasons)


def test_query_words_find_cochange_of_named_file(predictor: Predictor) -> None:
    prediction = predictor.predict(focus(query="cli"), now=NOW)

    assert names(prediction)[0] == "src/cli.py"
    models = next(file for file in prediction.files if file.path == "src/models.py")
    assert models.reasons[0] == "changes together with cli.py, which the question points to"


def test_query_selects_matching_history_of_open_file() -> None:
    predictor = Predictor()
    everything = ("src/app.py", "src/colours.py", "src/sounds.py", *(f"src/part_{number}.py" for number in range(9)))
    predictor.learn_unit(unit(0, "start", *everything, status="A"))
    for number in range(1, 21):
        of_colours = number % 2
        subject = f"paint the frames {number}" if of_colours else f"play the notes {number}"
        predictor.learn_unit(unit(number, subject, "src/app.py", "src/colours.py" if of_colours else "src/sounds.py"))

    asked = [focus("src/app.py", query=query) for query in ("paint a frame", "play a note")]

    assert [names(predictor.predict(one, now=NOW))[0] for one in asked] == ["src/colours.py", "src/sounds.py"]


def test_branch_words_are_used_unless_long_lived(predictor: Predictor) -> None:
    assert names(predictor.predict(focus(branch="ada/command-line-flags"), now=NOW))[0] in {
        "src/cli.py",
        "src/models.py",
    }
    assert predictor.predict(focus(branch="main"), now=NOW).units == ()


def test_unknown_words_resolve_to_known_words(predictor: Predictor) -> None:
    predictor.update_content(outline("src/models.py", "flags", "lines"))
    predictor.update_content(outline("src/cli.py", "flags", "lines"))

    for typed in ("lineflags", "flagz", "comamnd"):
        found = predictor.predict(focus(branch=typed), now=NOW)
        assert set(names(found)[:2]) == {"src/cli.py", "src/models.py"}, typed
    assert predictor.predict(focus(branch="zzyzx"), now=NOW).units == ()


def test_open_removed_and_hub_files_are_excluded(predictor: Predictor) -> None:
    predictor.remove_file("src/models.py")

    suggested = names(predictor.predict(focus("src/cli.py", open_files=("src/views.py", "src/cli.py")), now=NOW))

    assert "tests/test_views.py" in suggested
    assert not {"src/cli.py", "src/views.py", "src/models.py", "CHANGES.rst"} & set(suggested)


@pytest.mark.parametrize(
    ("entry", "kept"),
    [
        ("src/core/newsfragments/12254.misc", "src/core/newsfragments.py"),
        ("changelog/13904.bugfix.rst", "changelog/README.rst"),
        ("changelogs/fragments/container-update.yml", "changelogs/config.yaml"),
        (".changeset/brave-cats-sing.md", "docs/changes/hotupdate-hook.md"),
        ("news/+4711.feature.md", "news/latest/page.md"),
    ],
)
def test_changelog_fragments_are_excluded(predictor: Predictor, entry: str, kept: str) -> None:
    for number in range(20, 24):
        predictor.learn_unit(unit(number, f"render page {number}", "src/views.py", entry, kept))

    suggested = names(predictor.predict(focus("src/views.py"), now=NOW))

    assert kept in suggested
    assert entry not in suggested


def test_traceback_ranks_raise_site_first(predictor: Predictor) -> None:
    trace = """Traceback (most recent call last):
  File "/home/ada/p/src/cli.py", line 3, in main
  File "/home/ada/p/src/models.py", line 9, in load
KeyError: 'x'"""

    prediction = predictor.predict(focus(errors=(trace,)), now=NOW)

    assert names(prediction)[0] == "src/models.py"
    assert "raised the error" in prediction.files[0].reasons


def test_similar_files_come_nearest_first(predictor: Predictor) -> None:
    predictor.learn_unit(unit(20, "copy", changes=(PathChange("A", "lib/views.py"), PathChange("D", "lib/view.py"))))

    assert predictor.list_similar_files("lib/views.py")[:2] == ["lib/views.py", "src/views.py"]
    assert predictor.list_similar_files("src/vews.py")[0] == "src/views.py"
    assert "lib/view.py" not in predictor.list_similar_files("lib/view.py")


def test_renamed_file_keeps_history(predictor: Predictor) -> None:
    moved = unit(20, "move", changes=(PathChange("R", "src/web/views.py", "src/views.py"),))
    predictor.learn_unit(moved)

    assert not predictor.has_file("src/views.py")
    assert names(predictor.predict(focus("src/web/views.py"), now=NOW))[0] == "tests/test_views.py"
    assert "src/web/views.py" in names(predictor.predict(focus("tests/test_views.py"), now=NOW))


def test_rewritten_unit_is_learned_once(predictor: Predictor) -> None:
    before = predictor.predict(focus("src/views.py"), now=NOW)
    predictor.learn_unit(unit(9, "render page 9", "src/views.py", "tests/test_views.py"))
    predictor.rewrite_unit_id(f"{9:040x}", "f" * 40)
    predictor.learn_unit(Unit(sha="f" * 40, parents=(), author="Ada", email="", at=NOW, subject="render page 9"))

    assert len(predictor) == 16
    assert predictor.predict(focus("src/views.py"), now=NOW).files == before.files
    assert predictor.has_unit("f" * 40)
    assert not predictor.has_unit(f"{9:040x}")


def test_amended_unit_gets_new_subject(predictor: Predictor, tmp_path: Path) -> None:
    predictor.rewrite_unit_id(f"{12:040x}", "f" * 40)
    predictor.learn_unit(
        Unit(sha="f" * 40, parents=(), author="Ada", email="", at=NOW, subject="Flags may be repeated")
    )
    predictor.save(tmp_path / "model")
    for model in (predictor, Predictor.load(tmp_path / "model")):
        state = model.state
        assert state.messages.subjects[state.messages.find_unit("f" * 40)] == "Flags may be repeated"
        assert (len(model), state.messages.subjects[0]) == (16, "start")


def test_definitions_link_files_without_history(predictor: Predictor) -> None:
    predictor.update_content(outline("src/new.rb", uses=("load_settings",)))
    predictor.update_content(outline("src/settings.rb", defines=("load_settings",)))
    predictor.update_content(outline("src/other.rb", "unrelated"))

    prediction = predictor.predict(focus("src/new.rb"), now=NOW)

    found = {file.path: file.reasons for file in prediction.files}
    assert "defines names it uses" in found["src/settings.rb"]
    assert names(predictor.predict(focus(query="load settings"), now=NOW))[0] == "src/settings.rb"


def test_names_defined_twice_link_importers_only(predictor: Predictor) -> None:
    for path in ("src/basket/sums.py", "src/till/sums.py", "src/basket/tax.py"):
        predictor.update_content(outline(path, defines=("round_down",)))
    user = outline("src/basket/view.py", uses=("round_down",))
    predictor.update_content(replace(user, imports=("basket.tax", "sums")))

    found = {file.path: file.reasons for file in predictor.predict(focus("src/basket/view.py"), now=NOW).files}

    assert {"imported by this file", "defines names it uses"} <= set(found["src/basket/tax.py"])
    assert not {"imported by this file", "defines names it uses"} & set(found["src/basket/sums.py"])
    path, other = "src/basket/tax.py", "src/till/sums.py"
    assert predictor.select_used_names("src/basket/view.py", path, {"round_down", "other"}) == {"round_down"}
    assert predictor.select_used_names("src/basket/view.py", other, {"round_down"}) == frozenset()


def test_lock_file_counts_since_it_is_kept(predictor: Predictor) -> None:
    for number in range(20, 32):
        predictor.learn_unit(unit(number, f"raise version {number}", "app.toml"))
    predictor.learn_unit(unit(32, "keep the lock file", "app.toml", "app.lock", status="A"))
    predictor.learn_unit(unit(33, "raise version 33", "app.toml", "app.lock"))

    [expected] = [one for one in predictor.predict(focus("app.toml"), now=NOW).expected if one.path == "app.lock"]

    assert (expected.times, expected.of, expected.of_file) == (2, 2, True)
    assert expected.probability > 0.5


def test_units_owning_open_file_are_recalled() -> None:
    predictor = Predictor()
    predictor.learn_unit(unit(0, "create", changes=(PathChange("A", "a.py", added=100),)))
    predictor.learn_unit(unit(1, "large rewrite", changes=(PathChange("M", "a.py", added=80, deleted=60),)))
    for number in range(2, 30):
        predictor.learn_unit(unit(number, "touch", changes=(PathChange("M", "a.py", added=1, deleted=1),)))

    past = predictor.predict(focus("a.py"), now=NOW).units

    assert {"create", "large rewrite"} <= {one.subject for one in past[:3]}
    assert not any("wrote" in reason for one in past for reason in one.reasons), "an estimate is not told"


def test_confidence_is_corrected_before_files_are_read(predictor: Predictor) -> None:
    before = predictor.predict(focus("src/cli.py"), now=NOW)
    predictor.update_content(outline("docs/unrelated.md", "nothing"))
    after = predictor.predict(focus("src/cli.py"), now=NOW)
    assert names(before) == names(after)
    assert before.files[0].confidence > after.files[0].confidence > 0


def test_place_same_content_returns_false(predictor: Predictor) -> None:
    assert predictor.update_content(outline("src/cli.py", "argument"))
    assert not predictor.update_content(outline("src/cli.py", "argument"))


def test_repeated_open_sequence_is_predicted(predictor: Predictor) -> None:
    for round_ in range(4):
        predictor.record_event(SessionEvent("opened", NOW + round_ * 100, "src/cli.py"))
        predictor.record_event(SessionEvent("opened", NOW + round_ * 100 + 9, "tests/test_views.py"))

    prediction = predictor.predict(focus("src/cli.py"), now=NOW + 500)

    assert "tests/test_views.py" in names(prediction)[:3]
    assert any("often opened next" in file.reasons for file in prediction.files)


def test_empty_predictor_predicts_nothing() -> None:
    assert Predictor().predict(focus("a.py", query="anything"), now=NOW) == Prediction()


def test_used_outcomes_raise_rank(predictor: Predictor) -> None:
    asked = focus("src/cli.py")
    before = predictor.predict(asked, now=NOW)

    for _ in range(60):
        predictor.predict(asked, now=NOW)
        predictor.record_outcome("tests/test_views.py", was_used=True)

    after = predictor.predict(asked, now=NOW)
    assert names(after).index("tests/test_views.py") <= names(before).index("tests/test_views.py")
    [was], [now] = ([file.score for file in one.files if file.path == "tests/test_views.py"] for one in (before, after))
    assert now > was


def test_correction_is_trusted_only_while_better() -> None:
    ahead = HeadCorrection(np.zeros(1), np.zeros(1), lessons=100, rank_with=0.6, rank_without=0.5)

    assert ahead.is_trusted
    assert not replace(ahead, rank_with=0.4).is_trusted
    assert not replace(ahead, lessons=3).is_trusted


def test_load_damaged_file_raises_store_error(predictor: Predictor, tmp_path: Path) -> None:
    path = tmp_path / "predictor"
    predictor.save(path)
    whole = path.read_bytes()
    foreign = whole.replace(b'"version": %d' % array_file.VERSION, b'"version": 9')
    assert foreign != whole

    for damaged in (b"", b"nonsense" * 10, whole[: len(whole) // 2], foreign):
        path.write_bytes(damaged)
        with pytest.raises(StoreError, match="a later version of hunchd" if damaged == foreign else "cannot be used"):
            Predictor.load(path)
    assert list(tmp_path.iterdir()) == [path]


PATHS = [f"{folder}/{name}.py" for folder in ("src", "src/web", "tests") for name in ("a", "b", "test_a", "c")]
units = st.lists(
    st.tuples(
        st.sampled_from("AMMMDR"),
        st.lists(st.sampled_from(PATHS), min_size=1, max_size=4, unique=True),
        st.sampled_from(["parse flags", "render page", "fix the cache", "page cache flags"]),
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(past=units, later=units)
def test_saved_predictor_equals_original(
    past: list[tuple[str, list[str], str]], later: list[tuple[str, list[str], str]], tmp_path: Path
) -> None:
    """Compare also after further learning and a second saving."""
    ours = taught(Predictor(), past, 0)
    ours.save(tmp_path / "one")
    loaded = Predictor.load(tmp_path / "one")
    assert answers(loaded) == answers(ours)

    taught(loaded, later, len(past))
    taught(ours, later, len(past))
    assert answers(loaded) == answers(ours)
    loaded.save(tmp_path / "two")
    assert answers(Predictor.load(tmp_path / "two")) == answers(ours)


def taught(predictor: Predictor, past: list[tuple[str, list[str], str]], start: int) -> Predictor:
    chance = random.Random(start)
    for number, (status, paths, subject) in enumerate(past, start):
        if status == "R":
            changes = tuple(PathChange("R", path.replace(".py", f"_{number}.py"), path) for path in paths)
        else:
            changes = tuple(PathChange(status, path) for path in paths)  # type: ignore[arg-type]
        predictor.learn_unit(unit(number, f"{subject} {number}", changes=changes))
        for path in paths:
            if predictor.has_file(path):
                predictor.update_content(
                    outline(path, *chance.sample(["cache", "flag", "page", "render"], 2), uses=("render",))
                )
        predictor.record_event(SessionEvent("opened", NOW + number, paths[0]))
    return predictor


def answers(predictor: Predictor) -> list[Prediction]:
    asked = [focus("src/a.py"), focus(query="page flags"), focus("tests/test_a.py", query="cache"), focus("src/b.py")]
    return [predictor.predict(one, now=NOW) for one in asked]


def test_cached_answers_are_invalidated_by_learning(predictor: Predictor) -> None:
    asked = focus("src/views.py")
    before = predictor.predict(asked, now=NOW)

    for number in range(60, 72):
        predictor.learn_unit(unit(number, f"colours {number}", "src/views.py", "src/colours.py", status="A"))

    assert names(before)[0] == "tests/test_views.py"
    assert "src/colours.py" in names(predictor.predict(asked, now=NOW))[:2]
    predictor.remove_file("src/colours.py")
    assert "src/colours.py" not in names(predictor.predict(asked, now=NOW))


def test_repeated_prediction_is_equal(predictor: Predictor) -> None:
    asked = focus("src/views.py", query="render the command line", author="ada@example.org")

    assert predictor.predict(asked, now=NOW) == predictor.predict(asked, now=NOW)


def test_query_head_selects_ranker(predictor: Predictor) -> None:
    asked = {
        "seed": focus("src/views.py"),
        "text": focus(query="command line"),
        "both": focus("src/views.py", query="command line"),
    }

    assert {head: build_query(question, predictor.state).head for head, question in asked.items()} == {
        h: h for h in asked
    }


def test_weights_without_head_raise_value_error(tmp_path: Path) -> None:
    table = json.loads(weights.WEIGHTS_FILE.read_text("utf-8"))
    table["heads"] = {"seed": table["heads"]["seed"]}
    (tmp_path / "weights.json").write_text(json.dumps(table), "utf-8")

    with pytest.raises(ValueError, match="no weights for both, text"):
        weights.load_weights(tmp_path / "weights.json")


def test_reasons_without_words_speak_of_none(predictor: Predictor) -> None:
    for branch in ("", "main"):
        prediction = predictor.predict(focus("src/cli.py", branch=branch), now=NOW)
        assert not any("words" in reason for file in prediction.files for reason in file.reasons)

    prediction = predictor.predict(focus("src/cli.py", branch="render-page"), now=NOW)
    said = [reason for file in prediction.files for reason in file.reasons if "words" in reason]
    assert all(reason.endswith("of the branch name") for reason in said)


def test_sweeping_unit_ties_no_files_together(predictor: Predictor) -> None:
    swept = [f"src/swept_{number}.py" for number in range(8)]
    predictor.learn_unit(unit(20, "Reformat all files with black", *swept, "src/cli.py"))

    told = {file.path: file.reasons for file in predictor.predict(focus("src/cli.py"), now=NOW).files}
    assert not any("together" in reason for path in swept for reason in told.get(path, ()))


def test_lock_file_of_a_manifest_is_expected() -> None:
    learned = Predictor()
    for number in range(30):
        manifest = ("Cargo.toml", "Cargo.lock") if number % 3 == 0 else ()
        learned.learn_unit(unit(number, f"step {number} of the work", "src/lib.rs", *manifest))

    [lock] = [one for one in learned.predict(focus("Cargo.toml"), now=NOW).expected if one.path == "Cargo.lock"]
    assert (lock.times, lock.of, lock.of_file) == (10, 10, True)
    assert lock.probability > 0.6
    source = {one.path: one.probability for one in learned.predict(focus("src/lib.rs"), now=NOW).expected}
    assert source["Cargo.lock"] < 0.3


def test_change_log_entries_are_expected_by_folder() -> None:
    learned = Predictor()
    for number in range(20):
        learned.learn_unit(
            unit(number, f"step {number} of the work", "src/app.py", f"newsfragments/{number}.feature.rst")
        )

    expected = {one.path: one for one in learned.predict(focus("src/app.py"), now=NOW).expected}
    assert expected["newsfragments/"].times == 20


def test_keys_of_configuration_are_no_names_that_code_uses() -> None:
    learned = Predictor()
    learned.learn_unit(unit(1, "begin the project", "src/app.py", "ci.yml", "src/jobs.py", status="A"))
    learned.update_content(outline("ci.yml", defines=("deploy_jobs",)))
    learned.update_content(outline("src/app.py", uses=("deploy_jobs",)))

    for seed in ("ci.yml", "src/app.py"):
        told = learned.predict(focus(seed), now=NOW, k=20).files
        assert not any("names" in reason for file in told for reason in file.reasons)


def test_header_is_imported_and_its_source_is_not() -> None:
    learned = Predictor()
    paths = ("src/shop/basket.hpp", "src/shop/basket.cpp", "src/shop/till.cpp")
    learned.learn_unit(unit(1, "begin the shop", *paths, status="A"))
    for path in paths:
        learned.update_content(
            replace(outline(path), imports=("shop/basket.hpp",) if path.endswith("till.cpp") else ())
        )

    told = {file.path: file.reasons for file in learned.predict(focus("src/shop/till.cpp"), now=NOW, k=20).files}
    assert "imported by this file" in told["src/shop/basket.hpp"]
    assert "imported by this file" not in told["src/shop/basket.cpp"]
    told = {file.path: file.reasons for file in learned.predict(focus("src/shop/basket.cpp"), now=NOW, k=20).files}
    assert "imports this file" not in told["src/shop/till.cpp"]


def test_path_import_excludes_its_namespace(predictor: Predictor) -> None:
    for path in ("lib/shop/cloud.rb", "lib/shop/cloud/settings.rb"):
        predictor.update_content(outline(path))
    predictor.update_content(replace(outline("spec/settings_spec.rb"), imports=("shop/cloud/settings",)))

    found = {file.path: file.reasons for file in predictor.predict(focus("spec/settings_spec.rb"), now=NOW).files}

    assert "imported by this file" in found["lib/shop/cloud/settings.rb"]
    assert "imported by this file" not in found.get("lib/shop/cloud.rb", ())


def test_equal_name_without_import_links_nothing(predictor: Predictor) -> None:
    predictor.update_content(outline("src/new.py", uses=("load_settings",)))
    predictor.update_content(outline("src/settings.py", defines=("load_settings",)))

    found = {file.path: file.reasons for file in predictor.predict(focus("src/new.py"), now=NOW).files}

    assert "defines names it uses" not in found.get("src/settings.py", ())
