"""What brokers answer to polls of a share session: whose records an answer has, and what is dropped."""

from bifrost.routes.shares.share_answers import STALE, Found, ShareAnswers, read_found
from bifrost.routes.shares.share_session import Key
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ShareFetchResponse

TOPIC = bytes(15) + b"t"
ALL = {(TOPIC, index) for index in range(10)}
NOW_MS, LATER_MS = 1_000.0, 31_000.0
FENCED = ErrorCode.FENCED_LEADER_EPOCH


def found(*indexes: int, records: bool = True, error: ErrorCode = ErrorCode.NONE) -> dict[Key, Found]:
    acquired = [ShareFetchResponse.AcquiredRecords(first_offset=0, last_offset=1, delivery_count=1)]
    return {
        (TOPIC, one): Found(
            partition_index=one,
            error_code=error,
            records=b"records" if records else b"",
            acquired_records=acquired if records else [],
        )
        for one in indexes
    }


def test_an_answer_is_read_by_partition() -> None:
    own = found(3, 4)
    topic = ShareFetchResponse.ShareFetchableTopicResponse(topic_id=TOPIC, partitions=list(own.values()))

    assert read_found(ShareFetchResponse(responses=[topic])) == own


def test_an_answer_has_the_records_of_the_broker_that_came_first() -> None:
    answers = ShareAnswers()
    answers.keep(2, found(2, 4), LATER_MS)
    answers.keep(1, found(1), LATER_MS)

    taken = [answers.take(ALL, NOW_MS) for _ in range(3)]

    assert [(one.node_id, one.found) for one in taken] == [(2, found(2, 4)), (1, found(1)), (None, {})]


def test_errors_of_all_brokers_are_told_at_once() -> None:
    answers = ShareAnswers()
    answers.keep(1, found(1), LATER_MS)
    answers.keep(2, found(2, records=False, error=FENCED), 0)
    answers.keep(3, found(3, records=False), LATER_MS)

    taken = answers.take(ALL, NOW_MS)

    assert taken.found == found(1) | found(2, records=False, error=FENCED) | found(3, records=False)
    assert not answers.has_news


def test_news_are_records_and_errors() -> None:
    answers = ShareAnswers()
    assert not answers.has_news

    answers.keep(3, found(3, records=False), LATER_MS)
    answers.keep(4, {}, LATER_MS)
    assert not answers.has_news
    answers.keep(3, found(4, records=False, error=FENCED), LATER_MS)

    assert answers.has_news
    assert answers.take(ALL, NOW_MS).found == found(3, records=False) | found(4, records=False, error=FENCED)


def test_records_whose_locks_have_ended_are_dropped() -> None:
    answers = ShareAnswers()
    answers.keep(1, found(1) | found(3, records=False, error=FENCED), LATER_MS)

    taken = answers.take(ALL, LATER_MS)

    assert (taken.node_id, taken.found) == (None, found(3, records=False, error=FENCED))
    assert not answers.has_news


def test_records_whose_locks_have_ended_are_no_news() -> None:
    answers = ShareAnswers()
    answers.keep(1, found(1), LATER_MS)
    answers.keep(2, found(2) | found(4, records=False, error=FENCED), LATER_MS + 1)

    answers.drop_late(LATER_MS)
    assert answers.has_news
    answers.drop_late(LATER_MS + 1)

    assert answers.has_news, "an error is still there"
    assert answers.take(ALL, NOW_MS).found == found(4, records=False, error=FENCED)


def test_records_of_partitions_that_have_left_are_given_back() -> None:
    answers = ShareAnswers()
    answers.keep(1, found(1, 3), LATER_MS)
    answers.keep(2, found(2, 4), LATER_MS)
    answers.keep(3, found(5), LATER_MS)

    taken = answers.take(ALL - {(TOPIC, 3), (TOPIC, 4), (TOPIC, 5)}, NOW_MS)

    assert (taken.node_id, taken.found) == (1, found(1))
    assert taken.unwanted == {1: found(3), 2: found(4), 3: found(5)}
    assert answers.take(ALL, NOW_MS).found == found(2)


def test_records_of_a_new_leader_come_before_the_error_of_the_old_one() -> None:
    answers = ShareAnswers()
    answers.keep(1, found(1, records=False, error=FENCED), 0)
    answers.keep(2, found(1), LATER_MS)

    assert answers.take(ALL, NOW_MS).found == found(1)


def test_errors_about_leaders_are_known() -> None:
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER in STALE
    assert ErrorCode.TOPIC_AUTHORIZATION_FAILED not in STALE
