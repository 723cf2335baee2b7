from __future__ import annotations

import pytest

from bifrost.embedded.demo.ledger import Counts
from bifrost.embedded.demo.state import (
    DemoState,
    Observation,
    TenantView,
    TopicOnBroker,
    format_seconds,
    is_proven,
    physical_name,
    split_physical,
    verdict,
)
from bifrost.tenancy.names import TenantNames, VirtualTopic


def view(name: str, **counts: int) -> TenantView:
    return TenantView(name, "secret", Counts(**counts), [], 0)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (9.9, "0:09"), (75, "1:15"), (3599, "59:59"), (3661, "1:01:01")]
)
def test_clock_reads_as_people_write_it(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


def test_clock_shows_the_end_when_there_is_one() -> None:
    assert DemoState("", "", 3, None, [], Observation(), []).clock == "0:03"
    assert DemoState("", "", 3, 15, [], Observation(), []).clock == "0:03 of 0:15"


def test_physical_names_are_the_gateways() -> None:
    names = TenantNames("acme")

    assert physical_name("acme", "orders").encode() == names.physical_topic(VirtualTopic(b"orders"))


def test_physical_name_is_taken_apart() -> None:
    tenants = ["acme", "globex"]

    assert split_physical("__vt_globex_orders", tenants) == ("globex", "__vt_globex_", "orders")
    assert split_physical("__consumer_offsets", tenants) == ("", "", "__consumer_offsets")


def test_records_of_a_topic() -> None:
    observation = Observation(topics=(TopicOnBroker("a", 2, 7, False), TopicOnBroker("b", 1, 1, True)))

    assert observation.records_of("a") == 7
    assert observation.records_of("absent") == 0


@pytest.mark.parametrize(
    ("views", "text", "proven"),
    [
        ([view("acme", sent=3, read=3), view("globex", sent=1, read=1)], "None crossed, none lost.", True),
        (
            [view("acme", sent=3, read=3), view("globex")],
            "Nothing is proven: a tenant has sent no record.",
            False,
        ),
        (
            [view("acme", sent=3, read=3, crossed=2), view("globex", sent=1, read=1, crossed=1)],
            "3 crossed, none lost.",
            False,
        ),
        (
            [view("acme", sent=3, read=1, lost=2), view("globex", sent=1, read=1)],
            "None crossed, 2 lost.",
            False,
        ),
        (
            [view("acme", sent=3, read=3, failed=1), view("globex", sent=1, read=1)],
            "None crossed, none lost, 1 failed.",
            False,
        ),
    ],
)
def test_verdict(views: list[TenantView], text: str, proven: bool) -> None:
    assert verdict(views) == text
    assert is_proven(views) is proven
