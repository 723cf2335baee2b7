import pytest

from bifrost.tenancy.names import PhysicalTopic
from bifrost.tenancy.namespaces import name_users
from bifrost.tenancy.namespaces.name_users import NameUsers
from bifrost.tenancy.topic_ids import TopicIds
from bifrost.wire.entity import Entity
from support.physical_names import physical_name

ORDERS, BILLING = (physical_name("acme", name).encode() for name in ("orders", "billing"))


class User:
    """A guard, and a session."""

    def __init__(self) -> None:
        self.told = 0

    def renew(self) -> None:
        self.told += 1

    rights_changed = renew


def test_all_users_are_told() -> None:
    users, guard, session = NameUsers(), User(), User()
    users.guards.add(guard)
    users.sessions.add(session)

    users.renew()

    assert (guard.told, session.told) == (1, 1)


def test_former_names_are_kept_until_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    users, ids = NameUsers(), TopicIds()
    topic_id = b"i" * 16
    ids.learn(topic_id, PhysicalTopic(ORDERS))
    users.keep_former({b"orders": ORDERS, b"billing": BILLING})
    users.keep_former({})
    assert users.former(Entity.TOPIC_NAME, ORDERS, ids) == b"orders"
    assert users.former(Entity.TOPIC_ID, topic_id, ids) == topic_id
    assert users.former(Entity.TOPIC_ID, b"j" * 16, ids) is None
    assert users.former(Entity.GROUP_ID, ORDERS, ids) is None

    monkeypatch.setattr(name_users, "MAX_FORMER", 1)
    users.keep_former({b"o": ORDERS})

    assert users.former(Entity.TOPIC_NAME, ORDERS, ids) == b"o"
    assert users.former(Entity.TOPIC_NAME, BILLING, ids) is None
