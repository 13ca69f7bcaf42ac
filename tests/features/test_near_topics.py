"""Topics to ask for are those of the likely files."""

from __future__ import annotations

from dataclasses import replace

from hunchd.domain.context import Focus, PredictedFile, Prediction
from hunchd.features.context.near_topics import MOST, nearest_topics

TOPICS = ("sinatra", "cookies", "reloader", "namespace", "streaming", "protection")


def test_topics_of_likely_files_come_first() -> None:
    prediction = Prediction((PredictedFile("lib/streaming.rb", 2.0, 0.4), PredictedFile("lib/cookies.rb", 1.0, 0.1)))

    found = nearest_topics(TOPICS, Focus(project="p", open_files=("test/reloader_test.rb",)), prediction)

    assert found == ("reloader", "streaming", "cookies")


def test_topics_without_relation_are_the_largest() -> None:
    many = [*TOPICS, *(f"topic{letter}" for letter in "abcdefghij")]

    assert nearest_topics(many, Focus(project="p"), Prediction()) == tuple(many[:MOST])


def test_topics_share_the_projects_name_in_vain() -> None:
    many = ("catch config", "catch matchers", "catch clara", "catch reporter", "catch tags")

    found = nearest_topics(many, Focus(project="p", open_files=("src/catch_reporter.cpp",)), Prediction())

    assert found == ("catch reporter",)


def test_open_file_needs_no_topics_unasked() -> None:
    focus = Focus(project="p", file="lib/cookies.rb")

    assert nearest_topics(TOPICS, focus, Prediction()) == ()
    assert nearest_topics(TOPICS, replace(focus, query="streaming"), Prediction()) == ("cookies", "streaming")


def test_topic_called_like_project_is_left_out() -> None:
    focus = Focus(project="p", open_files=("lib/sinatra/cookies.rb",))

    assert nearest_topics(TOPICS, focus, Prediction(), project="sinatra") == ("cookies",)
