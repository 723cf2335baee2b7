"""Members with patterns, before and after topics are moved to their tenant; a real broker is in tests/kafka/tenancy."""

from __future__ import annotations

from typing import Any

import pytest

from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.namespaces.alias_table import KIND
from bifrost.tenancy.topic_regex import confine
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name, prefix_of
from support.stage import messages
from support.stage.playbook import Playbook, broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

LENT = physical_name("globex", "lent")
GROUP = physical_name("initech", "g")
CONFINED = confine("orders-.*", prefix_of("initech"))


def move(stage: Stage, owner: str | None) -> None:
    """Give the topic `lent` of globex to another owner; None: it is at home again."""
    key = StateKey(KIND, "globex/lent")
    record = None if owner is None else StateRecord(key, 1, 0, "c", "w", None, {"owner": owner, "shares": {}})
    stage.aliases.apply(key, record)


def beat(
    group: str = "g", epoch: int = 5, regex: str | None = None, names: list[str] | None = None, **fields: Any
) -> Any:
    return messages.ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="m",
        member_epoch=epoch,
        subscribed_topic_regex=regex,
        subscribed_topic_names=names,
        **fields,
    )


def beaten(error_code: int = 0) -> Any:
    return messages.ConsumerGroupHeartbeatResponse(error_code=error_code, member_id="m", member_epoch=5)


def says(book: Playbook, said: Any, told: Any, error_code: int = 0) -> Playbook:
    """Let the client send a heartbeat, which goes to the broker so, and is answered."""
    answer = beaten(error_code)
    return book >> client_sends(said) << to_broker(told) >> broker_answers(answer) << to_client(answer)


def asks() -> Any:
    return messages.ConsumerGroupDescribeRequest(group_ids=[GROUP])


def described(names: list[str], regex: str | None, error_code: int = 0) -> Any:
    member = {"member_id": "m", "subscribed_topic_names": names, "subscribed_topic_regex": regex}
    group = {"group_id": GROUP, "members": [] if error_code else [member], "error_code": error_code}
    return messages.build("ConsumerGroupDescribeResponse", {"groups": [group]})


def test_a_tenant_without_moved_topics_is_not_remembered(stage: Stage) -> None:
    book = says(stage.play("initech"), beat(epoch=0, regex="orders-.*"), beat(GROUP, 0, CONFINED))

    assert says(book, beat(), beat(GROUP))
    assert stage.namespaces["initech"].users.subscriptions is None


def test_a_member_that_joins_gets_what_its_pattern_finds(stage: Stage) -> None:
    move(stage, "initech/orders-lent")

    book = says(
        stage.play("initech"),
        beat(epoch=0, regex="orders-.*", names=[]),
        beat(GROUP, 0, CONFINED, [LENT]),
    )

    assert says(book, beat(), beat(GROUP))


def test_a_member_is_subscribed_anew_when_topics_are_moved(stage: Stage) -> None:
    move(stage, "initech/other")
    joins = beat(epoch=0, regex="orders-.*", names=["own"])
    own = physical_name("initech", "own")
    book = says(stage.play("initech"), joins, beat(GROUP, 0, CONFINED, [own]))

    move(stage, "initech/orders-lent")
    book = says(book, beat(), beat(GROUP, names=[own, LENT]))
    book = says(book, beat(), beat(GROUP))
    move(stage, None)
    book = says(book, beat(), beat(GROUP, names=[own]))
    book = says(book, beat(names=["more"]), beat(GROUP, names=[physical_name("initech", "more")]))

    move(stage, "initech/orders-lent")
    book = says(book, beat(regex=""), beat(GROUP, regex=""))
    assert says(book, beat(), beat(GROUP))


def test_a_member_that_was_not_heard_is_asked_about(stage: Stage) -> None:
    book = says(stage.play("initech"), beat(epoch=0, regex="orders-.*"), beat(GROUP, 0, CONFINED))
    move(stage, "initech/orders-lent")

    book = (
        book
        >> client_sends(beat())
        << to_broker(asks())
        >> broker_answers(described([physical_name("initech", "own")], CONFINED))
        << to_broker(beat(GROUP, regex=CONFINED, names=[physical_name("initech", "own"), LENT]))
        >> broker_answers(beaten())
        << to_client(beaten())
    )

    assert says(book, beat(), beat(GROUP))


def test_a_group_that_is_not_described_is_not_asked_about_each_time(stage: Stage) -> None:
    move(stage, "initech/orders-lent")
    book = (
        stage.play("initech")
        >> client_sends(beat())
        << to_broker(asks())
        >> broker_answers(described([], None, ErrorCode.GROUP_ID_NOT_FOUND))
        << to_broker(beat(GROUP))
        >> broker_answers(beaten())
        << to_client(beaten())
    )
    book = says(book, beat(), beat(GROUP))

    stage.now_ms += 31_000
    assert book >> client_sends(beat()) << to_broker(asks())


def test_after_an_error_the_broker_is_asked_what_it_has(stage: Stage) -> None:
    move(stage, "initech/orders-lent")
    joins = beat(epoch=0, regex="orders-.*", names=[])
    told = beat(GROUP, 0, CONFINED, [LENT])

    book = says(stage.play("initech"), joins, told, ErrorCode.NOT_COORDINATOR)

    assert book >> client_sends(beat()) << to_broker(asks())


@pytest.mark.parametrize("epoch", [-1, -2])
def test_a_member_that_leaves_is_forgotten(stage: Stage, epoch: int) -> None:
    move(stage, "initech/orders-lent")
    joins = beat(epoch=0, regex="orders-.*", names=[])
    book = says(stage.play("initech"), joins, beat(GROUP, 0, CONFINED, [LENT]))

    assert says(book, beat(epoch=epoch), beat(GROUP, epoch))
    subscriptions = stage.namespaces["initech"].users.subscriptions
    assert subscriptions is not None
    assert len(subscriptions.members) == 0


def test_what_was_added_is_not_described(stage: Stage) -> None:
    move(stage, "initech/orders-lent")
    book = says(stage.play("initech"), beat(epoch=0, regex="orders-.*"), beat(GROUP, 0, CONFINED, [LENT]))
    asked = messages.ConsumerGroupDescribeRequest(group_ids=["g"])
    book = book >> client_sends(asked) << to_broker(asks()) >> broker_answers(described([LENT], CONFINED))
    frame = book.said.to_client.popleft()

    assert b"orders-.*" in frame
    assert b"orders-lent" not in frame
