"""Lists of a tenant's topics, a request at a time."""

from typing import Any

from bifrost.session.topics.named_topics import NamedTopics
from bifrost.session.topics.own_topics import (
    LARGEST_PAGE,
    MAX_PAGES,
    NAMES_AT_ONCE,
    AllowedTopics,
    AllTopics,
    PagesOfTopics,
)
from bifrost.tenancy.topic_pages import FIRST_PAGE
from support.physical_names import physical_name, prefix_of
from support.stage import messages
from support.stage.stage import Stage
from support.stage.stage import Tenant as StageTenant


def page(*names: str, cursor: str | None = None) -> NamedTopics:
    found = NamedTopics()
    for name in names:
        found.see(1, name.encode())
    found.cursor = None if cursor is None else cursor.encode()
    return found


def asked(request: Any) -> tuple[str, int]:
    assert (request.topics, request.cursor.partition_index) == ([], 0)
    return request.cursor.topic_name, request.response_partition_limit


def test_pages_begin_at_the_prefix_and_end_with_it() -> None:
    topics = PagesOfTopics(Stage().namespaces["initech"], 12)

    request, version = topics.request()
    assert (asked(request), version) == ((prefix_of("initech"), FIRST_PAGE), 0)
    assert not topics.receive(page(physical_name("initech", "a"), cursor=physical_name("initech", "b")))
    assert asked(topics.request()[0]) == (physical_name("initech", "b"), 2 * FIRST_PAGE)
    assert topics.receive(page(physical_name("initech", "b"), "other", cursor="other"))


def test_a_list_ends_with_the_last_page() -> None:
    assert PagesOfTopics(Stage().namespaces["initech"], 12).receive(page(physical_name("initech", "a")))
    assert PagesOfTopics(Stage().namespaces["initech"], 12).receive(page())


def test_a_topic_that_a_page_ends_within_is_passed_over() -> None:
    topics = PagesOfTopics(Stage().namespaces["initech"], 12)

    assert not topics.receive(page(physical_name("initech", "a"), cursor=physical_name("initech", "a")))

    assert asked(topics.request()[0])[0] == physical_name("initech", "a-")


def test_pages_and_their_number_are_bounded() -> None:
    topics = PagesOfTopics(Stage().namespaces["initech"], 12)
    sizes = []

    for number in range(1, MAX_PAGES + 1):
        sizes.append(asked(topics.request()[0])[1])
        name = physical_name("initech", f"{number:06}")
        assert topics.receive(page(name, cursor=name)) is (number == MAX_PAGES)

    assert max(sizes) == LARGEST_PAGE


def test_an_allow_list_is_asked_for_by_name_some_at_once() -> None:
    names = tuple(f"topic-{number:04}" for number in range(NAMES_AT_ONCE + 1))
    topics = AllowedTopics(Stage({"acme": StageTenant(names)}).namespaces["acme"], 12)

    request: Any
    request, version = topics.request()
    assert [one.name for one in request.topics] == [
        physical_name("acme", name) for name in names[:NAMES_AT_ONCE]
    ]
    assert (request.allow_auto_topic_creation, version) == (False, 12)
    assert not topics.receive(NamedTopics())
    assert [one.name for one in topics.request()[0].topics] == [physical_name("acme", names[-1])]
    assert topics.receive(NamedTopics())


def test_all_topics_are_one_request_that_creates_nothing() -> None:
    topics = AllTopics(11)

    assert topics.request() == (messages.MetadataRequest(topics=None, allow_auto_topic_creation=False), 11)
    assert topics.receive(NamedTopics())
    assert AllTopics(3).request()[1] == 3
