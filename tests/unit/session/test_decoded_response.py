import pytest

from bifrost.filters import namespace as translation
from bifrost.filters.steps import Close, ResponseStep, TopicIds
from bifrost.forwarding.lane import Awaited
from bifrost.session.decoded_response import decoded_response
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.message import Message
from support.physical_names import MARK, physical_name
from support.stage import messages
from support.stage.lanes import new_lane
from support.stage.messages import fetched, metadata_of, topic_id
from support.stage.playbook import response_frame
from support.stage.stage import Stage


def decoded(stage: Stage, response: Message, api_key: ApiKey, version: int) -> bytes | ResponseStep:
    exchange = stage.exchange(version, api_key=api_key)
    awaited = Awaited(1, new_lane(api_key, version), exchange)
    frame = response_frame(response, version, 1)
    offset = 5 if awaited.lane.plan.response.is_flexible_header else 4
    segments = decoded_response(
        stage.namespaces["acme"], exchange.scope, awaited, frame, offset, None, lambda *_: 0
    )
    return b"".join(segments) if isinstance(segments, list) else segments


def test_names_are_the_tenants(stage: Stage) -> None:
    frame = decoded(stage, metadata_of(physical_name("acme", "orders")), ApiKey.METADATA, 9)

    assert isinstance(frame, bytes)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert b"orders" in frame
    assert MARK.encode() not in frame


def test_an_unknown_topic_id_has_to_be_looked_up(stage: Stage) -> None:
    unknown = topic_id(physical_name("acme", "orders"))
    assert decoded(stage, fetched(unknown), ApiKey.FETCH, 13) == TopicIds(frozenset({unknown}))


def test_what_cannot_be_left_out_ends_the_connection(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """No API that is served has such a field; one that comes would."""

    monkeypatch.setattr(translation, "to_virtual", lambda *_, **__: Close("not about acme's"))

    assert decoded(stage, metadata_of(physical_name("acme", "orders")), ApiKey.METADATA, 9) == Close(
        "not about acme's"
    )


def test_a_long_list_of_everything_is_pruned_first(stage: Stage) -> None:
    groups = [
        {"group_id": physical_name("globex", number), "protocol_type": "consumer"} for number in range(500)
    ]
    groups += [{"group_id": physical_name("acme", "mine"), "protocol_type": "consumer"}]

    frame = decoded(stage, messages.build("ListGroupsResponse", {"groups": groups}), ApiKey.LIST_GROUPS, 4)

    assert isinstance(frame, bytes)
    assert b"mine" in frame
    assert len(frame) < 60
