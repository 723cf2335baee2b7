"""Partitions that a client creates and deletes have a quota (KIP-599)."""

from typing import Any

import pytest

from bifrost.session.needs import OWED
from bifrost.tenancy.names import PhysicalTopic
from bifrost.tenancy.quotas.quota_entity import NAMESPACE
from bifrost.tenancy.quotas.quota_key import QuotaKey
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.playbook import read_request, read_response, request_frame, response_frame
from support.stage.stage import Stage, Tenant

OVER = ErrorCode.THROTTLING_QUOTA_EXCEEDED
CREATE_TOPICS, CREATE_PARTITIONS, DELETE_TOPICS = 19, 37, 20


class Client:
    """A client of acme's, which may change a partition a second, and ten at once."""

    def __init__(self, max_topics: int | None = 100) -> None:
        self.stage = Stage(
            {"acme": Tenant(allow_topic_deletion=True, max_topics=max_topics, max_partitions=1000)}
        )
        self.stage.shared.quotas.give({"acme": {NAMESPACE: {QuotaKey.CONTROLLER_MUTATION_RATE: 1.0}}})
        bounds = self.stage.namespaces["acme"].bounds
        if bounds is not None:
            bounds.count({PhysicalTopic(physical_name("acme", "wide").encode()): 8}, default_partitions=3)
        self.session = self.stage.play("acme").session

    def ask(self, request: Any, version: int) -> tuple[Any, Any]:
        """Return what the broker is asked, None if it is not, and what the client is answered."""
        api_key = request.SCHEMA.api_key
        self.session.receive_from_client(request_frame(request, version, 1))
        asked = None
        if self.session.to_broker:
            _, asked, _ = read_request(b"".join(self.session.to_broker)[4:])
            self.session.to_broker.clear()
            answer = messages.build(request.SCHEMA.name.replace("Request", "Response"), {})
            self.session.receive_from_broker(response_frame(answer, version, 1))
        answered = read_response(b"".join(self.session.to_client)[4:], api_key, version)
        self.session.to_client.clear()
        return asked, answered

    def create(
        self, version: int = 7, validate_only: bool = False, **topics: int
    ) -> tuple[list[str], dict[str, int], int]:
        """Create topics; return those that the broker is asked for, what is refused, and how long the client waits."""
        request = messages.CreateTopicsRequest(
            topics=[
                {"name": name, "num_partitions": n, "replication_factor": 1} for name, n in topics.items()
            ],
            validate_only=validate_only,
        )
        asked, answered = self.ask(request, version)
        refused = {one.name: one.error_code for one in answered.topics}
        return [one.name for one in (asked.topics if asked else ())], refused, answered.throttle_time_ms


def physical(*names: str) -> list[str]:
    return [physical_name("acme", name) for name in names]


def test_topics_are_created_until_the_quota_is_used_up() -> None:
    client = Client()

    assert client.create(a=4, b=4) == (physical("a", "b"), {}, 0)
    asked, refused, throttle_ms = client.create(c=4, d=4, e=1)

    assert asked == physical("c")
    assert refused == {"d": OVER, "e": OVER}
    assert 1000 < throttle_ms <= 2000


def test_a_request_of_which_nothing_is_left_is_answered_by_the_gateway() -> None:
    client = Client()
    client.create(a=20)

    asked, refused, throttle_ms = client.create(b=1)

    assert (asked, refused) == ([], {"b": OVER})
    assert 9000 < throttle_ms <= 10_000


def test_an_older_client_is_served_and_waits_with_its_next_request() -> None:
    client = Client()

    asked, refused, throttle_ms = client.create(version=5, a=20)
    assert (asked, refused) == (physical("a"), {})
    assert 9000 < throttle_ms <= 10_000
    more = messages.CreateTopicsRequest(topics=[{"name": "b", "num_partitions": 1, "replication_factor": 1}])
    client.session.receive_from_client(request_frame(more, 5, 2))

    assert client.session.needs == (OWED,)


def test_what_is_only_validated_or_exists_is_not_charged() -> None:
    client = Client()

    client.create(validate_only=True, a=50)
    client.create(wide=50)

    assert client.create(b=1) == (physical("b"), {}, 0)


@pytest.mark.parametrize(("max_topics", "left"), [(100, 2), (None, 0)])
def test_a_topic_without_a_number_has_the_brokers_if_that_is_known(max_topics: int | None, left: int) -> None:
    client = Client(max_topics)

    *_, throttle_ms = client.create(a=-1, b=-1, c=-1, d=-1, e=2)

    assert -(-throttle_ms // 1000) == left


def test_only_new_partitions_of_a_topic_are_charged() -> None:
    client = Client()
    request = messages.CreatePartitionsRequest(topics=[{"name": "wide", "count": 20, "assignments": None}])

    asked, answered = client.ask(request, 3)
    assert (len(asked.topics), answered.results) == (1, [])
    assert 1000 < answered.throttle_time_ms <= 2000
    asked, answered = client.ask(request, 3)

    assert asked is None
    assert [(one.name, one.error_code) for one in answered.results] == [("wide", OVER)]


@pytest.mark.parametrize("version", [5, 6])
def test_partitions_of_deleted_topics_are_charged(version: int) -> None:
    client = Client()
    client.create(a=4)
    names = ["wide", "a", "nosuch"]
    request = (
        messages.DeleteTopicsRequest(topic_names=names)
        if version < 6
        else messages.DeleteTopicsRequest(topics=[{"name": name} for name in names])
    )

    asked, answered = client.ask(request, version)

    sent = asked.topic_names if version < 6 else [one.name for one in asked.topics]
    assert sent == physical("wide", "nosuch"), "what does not exist costs nothing"
    assert [(one.name, one.error_code) for one in answered.responses] == [("a", OVER)]
    assert 1000 < answered.throttle_time_ms <= 2000


def test_without_a_quota_nothing_changes() -> None:
    client = Client()
    client.stage.shared.quotas.give({})

    assert client.create(a=50) == (physical("a"), {}, 0)
    assert client.create(b=50) == (physical("b"), {}, 0)
