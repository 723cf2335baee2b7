"""What the API answers is in resources/test_topics.py."""

import asyncio
from pathlib import Path as File

import pytest

from bifrost.control.namespaces import Namespaces
from bifrost.control.shared_topics import SharedTopics
from bifrost.state.state_change import Change, StateConflict
from bifrost.tenancy.namespaces.alias_table import Access, AliasRefused, Place
from bifrost.tenancy.namespaces.namespace_path import read_path
from bifrost.tenancy.topic_configs.config_records import topic_key
from support.control.table_backend import TableBackend, config_with
from support.physical_names import physical_name

ORDERS, BILLING, PARTNER = (
    Place.read(one) for one in ("acme/orders", "acme:billing/orders", "globex/partner")
)
ADMIN = "Admin:alice"


class World:
    """The moved and shared topics of a state with the namespace acme:billing."""

    def __init__(self, folder: File, *, encoding: str = "tiers") -> None:
        config = config_with(folder, tenant={"namespace_encoding": encoding})
        self.backend = TableBackend()
        self.backend.topics["acme"] = [physical_name("acme", "orders")]
        self.namespaces = Namespaces(config, self.backend)
        self.topics = SharedTopics(config, self.backend, self.namespaces)
        self.backend.put(self.namespaces.tree.create(read_path("acme:billing")))


@pytest.fixture
def world(tmp_path: File) -> World:
    return World(tmp_path)


def test_a_move_is_decided_anew_when_another_writer_was_first(world: World) -> None:
    aliases = world.namespaces.aliases

    def share_first() -> None:
        world.backend.put(aliases.table.share(ORDERS, PARTNER, Access.READ))

    world.backend.before_change.append(share_first)

    moved = asyncio.run(world.topics.move(ORDERS, BILLING, ADMIN, keeps_name=False))

    assert (moved.owner, moved.shares) == (BILLING, ((PARTNER, Access.READ),))


def test_a_moved_topic_takes_its_own_configs_along(world: World) -> None:
    old, new = (topic_key(one.namespace, one.topic) for one in (ORDERS, BILLING))
    world.backend.put([Change(old, 0, {"own": {"retention.ms": "5"}})])
    world.backend.put([Change(new, 0, {"own": {"retention.ms": "6"}})])

    asyncio.run(world.topics.move(ORDERS, BILLING, ADMIN, keeps_name=True))

    assert world.backend.table.get(old) is None
    kept = world.backend.table.get(new)
    assert kept is not None
    assert kept.body == {"own": {"retention.ms": "5"}}


def test_a_moved_topic_gets_no_configs_that_another_had_there(world: World) -> None:
    left = topic_key(BILLING.namespace, BILLING.topic)
    world.backend.put([Change(left, 0, {"own": {"retention.ms": "6"}})])

    asyncio.run(world.topics.move(ORDERS, BILLING, ADMIN, keeps_name=False))

    assert world.backend.table.get(left) is None


def test_the_target_s_namespace_is_not_deleted_at_the_same_time(world: World) -> None:
    seen = world.namespaces.tree.delete(read_path("acme:billing"), recursive=False)
    asyncio.run(world.topics.move(ORDERS, BILLING, ADMIN, keeps_name=False))

    with pytest.raises(StateConflict):
        world.backend.put(seen)


def test_a_share_ends_although_the_topic_is_gone(world: World) -> None:
    asyncio.run(world.topics.share(ORDERS, PARTNER, Access.READ_WRITE, ADMIN))
    world.backend.topics["acme"] = []

    ended = asyncio.run(world.topics.unshare(ORDERS, PARTNER, ADMIN))

    assert ended.shares == ()


def test_dotted_namespaces_have_no_places(tmp_path: File) -> None:
    with pytest.raises(AliasRefused, match="tenant acme has dotted namespaces"):
        asyncio.run(World(tmp_path, encoding="dotted").topics.share(ORDERS, PARTNER, Access.READ, ADMIN))
