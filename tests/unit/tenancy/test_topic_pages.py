"""How large the pages of a list of topics are."""

from bifrost.tenancy.names import PhysicalTopic
from bifrost.tenancy.topic_pages import FIRST_PAGE, LARGEST_PAGE, MAX_PAGES, PASSES, TopicPages, next_name


def test_the_next_name_is_the_lowest_that_is_higher() -> None:
    following = next_name(PhysicalTopic(b"orders"))

    assert following == b"orders-"
    assert not any(b"orders" < b"orders" + bytes([one]) < following for one in b"-._09AZaz")


def test_pages_double_up_to_what_a_broker_gives() -> None:
    pages = TopicPages()

    sizes = [pages.size(number) for number in range(MAX_PAGES)]

    assert sizes[:6] == [FIRST_PAGE, 200, 400, 800, 1_600, LARGEST_PAGE]
    assert set(sizes[5:]) == {LARGEST_PAGE}


def test_the_next_list_begins_with_what_did_last_time() -> None:
    pages = TopicPages()

    pages.finished(3, own=650, foreign=50)
    assert pages.size(0) >= 650
    pages.finished(MAX_PAGES, own=9_000, foreign=0)
    assert pages.size(0) == LARGEST_PAGE


def test_a_page_with_more_of_others_than_own_was_too_large() -> None:
    pages = TopicPages()
    pages.finished(9, own=5_000, foreign=0)

    pages.finished(1, own=900, foreign=1_100)
    assert pages.size(0) == LARGEST_PAGE // 2
    pages.finished(1, own=900, foreign=100)
    assert pages.size(0) == LARGEST_PAGE // 2
    for _ in range(20):
        pages.finished(1, own=0, foreign=100)
    assert pages.size(0) == FIRST_PAGE


def test_after_a_list_was_given_up_some_requests_do_without() -> None:
    pages = TopicPages()
    assert pages.is_worth_it()

    pages.gave_up()

    assert [pages.is_worth_it() for _ in range(PASSES + 1)] == [False] * PASSES + [True]
