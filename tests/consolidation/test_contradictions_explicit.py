"""Tests of explicit contradictions: replaced tools, minimum versions, exceptions."""

from __future__ import annotations

import pytest

from hunchd.consolidation.contradictions.classification import judge_statements
from hunchd.consolidation.contradictions.minimum_versions import disagree_on_minimum
from hunchd.consolidation.contradictions.replaced_tools import uses_replaced_tool

GONE_AND_USED = (
    ("Assets are built by Mix.", "Vite replaced Mix in the spring."),
    ("We dropped Kafka for NATS.", "Order events are published to Kafka."),
    ("Experiments are tracked in MLflow.", "We switched from MLflow to Neptune and closed the account."),
    ("test: delete the last Cypress spec", "E2E tests run in Cypress."),
    ("Job messages travel through RabbitMQ.", "RabbitMQ is gone, every queue went to NATS."),
    ("Tool versions are handled by nvm.", "Developers switched from nvm to mise."),
)
NOT_BOTH_TOLD = (
    ("Vite replaced Mix in the spring.", "Assets are built by Vite."),
    ("Vite replaced Mix in the spring.", "We used to build assets with Mix."),
    ("Vite replaced Mix in the spring.", "webpack.mix.js was deleted with Mix."),
    ("Kafka was removed on staging.", "In production events go through Kafka."),
    ("Invoices are deleted after three years.", "Invoices are PDF/A."),
    ("Support for Oracle was dropped.", "Somebody asked whether we might use Oracle."),
    ("The Kafka page was removed.", "Events go through Kafka."),
)


@pytest.mark.parametrize(("one", "other"), GONE_AND_USED)
def test_replaced_tool_still_used_contradicts(one: str, other: str) -> None:
    assert uses_replaced_tool(one, other)
    assert uses_replaced_tool(other, one)
    assert judge_statements(one, other).contradicts


@pytest.mark.parametrize(("one", "other"), NOT_BOTH_TOLD)
def test_replaced_tool_successor_or_past_no_contradiction(one: str, other: str) -> None:
    assert not uses_replaced_tool(one, other)
    assert not uses_replaced_tool(other, one)


TOO_OLD = (
    ("Node 20 or newer is required.", "Node 16 is still in our support matrix."),
    ("MSRV is 1.70.", "The minimum supported Rust version is 1.63."),
    ("engines: node >=20, older ones are refused", "We still support Node 18."),
    ("The app supports API level 21 and up.", "minSdkVersion = 26"),
    ("Clients older than 5.2 are locked out.", "Client 4.9 can still log in."),
    ("Anything older than CMake 3.20 is refused.", "It works on CMake 3.14 and newer."),
)
NEW_ENOUGH = (
    ("Node 20 or newer is required.", "It works with Node 22."),
    ("Node 20 or newer is required.", "Support for Node 16 was dropped."),
    ("Python 3.9 or newer is required.", "Python 3.9 is the minimum."),
    ("The juniper CLI needs Python 3.11.", "The birch CLI needs Python 3.8."),
    ("The build needs 8 GB of memory.", "The build needs 20 minutes."),
    ("We need at least Go 1.21.", "Until last year we supported Go 1.18."),
    ("iOS 16 or newer is required in production.", "On staging iOS 14 still works."),
)


@pytest.mark.parametrize(("one", "other"), TOO_OLD)
def test_version_below_minimum_contradicts(one: str, other: str) -> None:
    assert disagree_on_minimum(one, other)
    assert disagree_on_minimum(other, one)
    assert judge_statements(one, other).contradicts


@pytest.mark.parametrize(("one", "other"), NEW_ENOUGH)
def test_version_allowed_by_minimum_no_contradiction(one: str, other: str) -> None:
    assert not disagree_on_minimum(one, other)
    assert not disagree_on_minimum(other, one)


LET_OFF = (
    ("Every endpoint except /health needs a token.", "/health answers without a token."),
    ("All of our repositories apart from billing are public.", "The billing repository is private."),
    ("Most services expose metrics.", "The mailer does not expose metrics."),
    ("Most services expose metrics.", "The mailer exposes no metrics."),
    ("Global variables are forbidden.", "Global variables in the boot code are exempt from the rule."),
    ("The old exporter did not escape quotes.", "Quotes are escaped by the exporter."),
    ("Don't merge without a review.", "Every merge needs a review."),
    ("No change goes in without a linked ticket.", "Every change has to name a ticket."),
    ("Alerts of severity 1 page somebody.", "Alerts of severity 3 page nobody."),
    ("libfoo 2.x dropped support for Windows 7.", "libfoo 1.x still works on Windows 7."),
)


@pytest.mark.parametrize(("one", "other"), LET_OFF)
def test_exception_or_other_series_no_contradiction(one: str, other: str) -> None:
    assert not judge_statements(one, other).contradicts
    assert not judge_statements(one, other).is_open
    assert not judge_statements(other, one).contradicts
