import pytest

from bifrost.filters.acls.share_access import ShareFetchAccessFilter, ShareOffsetsAccessFilter
from bifrost.filters.fetch import LOST_SHARE_SESSION
from bifrost.filters.steps import FORWARD, Answer, Close
from bifrost.tenancy.acls.acl_binding import ResourceType
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.guards import allow, exchange_of, guard_of
from support.stage.stage import Stage

GROUP = ResourceType.GROUP
NO_TOPIC, NO_GROUP = ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.GROUP_AUTHORIZATION_FAILED
READERS = allow("READ", "readers", GROUP)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def share_fetch(stage: Stage, *topics: str, epoch: int = 0, batches: tuple[dict[str, int], ...] = ()):
    partition = {"partition_index": 0, "acknowledgement_batches": list(batches)}
    named = [stage.topic(physical_name("initech", one)) for one in topics]
    return messages.ShareFetchRequest(
        group_id="readers",
        share_session_epoch=epoch,
        topics=[{"topic_id": one, "partitions": [partition]} for one in named],
    )


def fetched(topic_id: bytes, **fields: object):
    partition = {"partition_index": 0, "records": b"", **fields}
    return messages.ShareFetchResponse(responses=[{"topic_id": topic_id, "partitions": [partition]}])


def test_a_denied_group_fetches_nothing(stage: Stage) -> None:
    exchange = exchange_of(guard_of(stage, allow("READ", "orders")), ApiKey.SHARE_FETCH, 1)

    step = ShareFetchAccessFilter().on_request(exchange, share_fetch(stage, "orders"))

    assert isinstance(step, Answer)
    assert step.response.error_code == NO_GROUP


def test_a_denied_topic_does_not_come_into_the_share_session(stage: Stage) -> None:
    exchange = exchange_of(guard_of(stage, READERS, allow("READ", "orders")), ApiKey.SHARE_FETCH, 1)
    request = share_fetch(stage, "orders", "secret", epoch=1, batches=({"first_offset": 0},))
    orders, secret = (one.topic_id for one in request.topics)

    step = ShareFetchAccessFilter().on_request(exchange, request)
    response = fetched(orders, acquired_records=[{"first_offset": 0}])
    ShareFetchAccessFilter().on_response(exchange, response)

    assert step is FORWARD
    assert [one.topic_id for one in request.topics] == [orders]
    told = {one.topic_id: one.partitions[0] for one in response.responses}
    assert (told[orders].error_code, told[orders].acknowledge_error_code) == (0, 0)
    assert (told[secret].error_code, told[secret].acknowledge_error_code) == (NO_TOPIC, NO_TOPIC)


def test_a_request_with_denied_topics_alone_still_begins_the_session(stage: Stage) -> None:
    exchange = exchange_of(guard_of(stage, READERS), ApiKey.SHARE_FETCH, 1)
    request = share_fetch(stage, "secret")

    step = ShareFetchAccessFilter().on_request(exchange, request)
    refused = messages.ShareFetchResponse(error_code=ErrorCode.SHARE_SESSION_LIMIT_REACHED)
    ShareFetchAccessFilter().on_response(exchange, refused)

    assert (step, request.topics) == (FORWARD, [])
    assert exchange.wants_response
    assert refused.responses == []


@pytest.mark.parametrize(("epoch", "is_told"), [(0, False), (-1, False), (3, True)])
def test_a_session_from_before_a_change_is_lost(stage: Stage, epoch: int, is_told: bool) -> None:
    exchange = exchange_of(guard_of(stage, READERS), ApiKey.SHARE_FETCH, 1)
    exchange.keep(LOST_SHARE_SESSION, True)

    step = ShareFetchAccessFilter().on_request(exchange, share_fetch(stage, epoch=epoch))

    assert isinstance(step, Answer) == is_told
    assert not is_told or step.response.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


def test_records_of_a_revoked_topic_end_the_connection(stage: Stage) -> None:
    secret = stage.topic(physical_name("initech", "secret"))
    exchange = exchange_of(guard_of(stage, READERS), ApiKey.SHARE_FETCH, 1)

    closed = ShareFetchAccessFilter().on_response(
        exchange, fetched(secret, acquired_records=[{"first_offset": 0}])
    )
    without_records = fetched(secret, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    went_on = ShareFetchAccessFilter().on_response(exchange, without_records)

    assert isinstance(closed, Close)
    assert (went_on, without_records.responses) == (FORWARD, [])


def test_offsets_of_denied_share_groups_and_topics_are_not_described(stage: Stage) -> None:
    acls = allow("DESCRIBE", "readers", GROUP), allow("DESCRIBE", "orders")
    exchange = exchange_of(guard_of(stage, *acls), ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1)
    topics = [{"topic_name": one, "partitions": [2]} for one in ("orders", "secret")]
    groups = [{"group_id": one, "topics": topics} for one in ("readers", "others")]
    request = messages.DescribeShareGroupOffsetsRequest(groups=groups)

    step = ShareOffsetsAccessFilter().on_request(exchange, request)
    there = [{"topic_name": "orders", "partitions": [{"partition_index": 2}]}]
    response = messages.DescribeShareGroupOffsetsResponse(groups=[{"group_id": "readers", "topics": there}])
    ShareOffsetsAccessFilter().on_response(exchange, response)

    assert step is FORWARD
    assert [(one.group_id, [t.topic_name for t in one.topics]) for one in request.groups] == [
        ("readers", ["orders"])
    ]
    readers, others = response.groups
    (secret,) = [one for one in readers.topics if one.topic_name == "secret"]
    assert (secret.partitions[0].partition_index, secret.partitions[0].error_code) == (2, NO_TOPIC)
    assert (others.group_id, others.error_code, others.topics) == ("others", NO_GROUP, [])


def test_a_list_of_all_share_offsets_has_only_topics_that_may_be_described(stage: Stage) -> None:
    acls = allow("DESCRIBE", "readers", GROUP), allow("DESCRIBE", "orders")
    exchange = exchange_of(guard_of(stage, *acls), ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1)
    request = messages.DescribeShareGroupOffsetsRequest(groups=[{"group_id": "readers", "topics": None}])

    ShareOffsetsAccessFilter().on_request(exchange, request)
    topics = [{"topic_name": one, "topic_id": bytes(15) + b"\1"} for one in ("orders", "secret")]
    response = messages.DescribeShareGroupOffsetsResponse(groups=[{"group_id": "readers", "topics": topics}])
    ShareOffsetsAccessFilter().on_response(exchange, response)

    assert [one.topic_name for one in response.groups[0].topics] == ["orders"]
