"""Members of groups are remembered as long as brokers keep them, with what they have told."""

from collections import Counter
from typing import Any

import pytest

from bifrost.tenancy.broker_state.broker_state import BrokerState, StateLimits
from bifrost.tenancy.broker_state.entry_set import HALF_DAY_MS
from bifrost.tenancy.broker_state.group_members import HALF_HOUR_MS
from bifrost.tenancy.broker_state.kept_entries import KeptEntries
from bifrost.wire.api_keys import ApiKey
from support.broker_state import enter

KIB = 1024
PARTS = 5


class Members:
    """The members of a tenant's groups, at a time that the test says."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.state = BrokerState(lambda: self.now_ms, Counter(), "acme")
        self.state.limit(StateLimits(**dict.fromkeys(StateLimits._fields, 10)))
        self.kept: KeptEntries = self.state.of("acme")
        self._fillers = 0

    def __len__(self) -> int:
        return len(self.state.members)

    def join(self, member: bytes, told_bytes: int = 0, *, lasts: bool = False) -> bool:
        return self.kept.enter_member(b"app", member, told_bytes, lasts)

    def turn(self) -> None:
        """Let half an hour pass, at whose end another member joins."""
        self.now_ms += HALF_HOUR_MS
        self._fillers += 1
        assert self.join(b"another %d" % self._fillers)


@pytest.fixture
def members() -> Members:
    return Members()


def test_a_member_is_one_entry_and_each_2_kib_that_it_tells_one_more(members: Members) -> None:
    assert members.join(b"a")
    assert members.join(b"a", 2 * KIB - 1)
    assert len(members) == 1
    assert members.join(b"a", 2 * KIB)
    assert members.join(b"a", 2 * KIB)
    assert len(members) == 2
    assert members.join(b"b", 14 * KIB)
    assert len(members) == 10
    assert not members.join(b"c")
    assert members.join(b"a", 2 * KIB)
    assert not members.join(b"a", 4 * KIB)


def test_the_same_member_id_of_another_group_is_another_member(members: Members) -> None:
    assert members.kept.enter_member(b"one", b"a", 0)
    assert members.kept.enter_member(b"two", b"a", 0)
    assert members.state.of("acme:eu").enter_member(b"one", b"a", 0)
    assert len(members) == 3


def test_each_join_without_a_name_is_another_member(members: Members) -> None:
    for count in range(10):
        assert len(members) == count
        assert members.join(b"")
    assert not members.join(b"")


def test_what_a_leader_assigns_counts(members: Members) -> None:
    members.join(b"a", 2 * KIB)

    assert members.kept.enter_assignments(b"app", b"a", 16 * KIB)
    assert members.kept.enter_assignments(b"app", b"a", 16 * KIB)
    assert len(members) == 10
    assert not members.kept.enter_assignments(b"app", b"a", 18 * KIB)


def test_a_member_without_a_sign_of_life_is_forgotten_after_an_hour(members: Members) -> None:
    members.join(b"a", PARTS * 2 * KIB)
    members.turn()
    assert len(members) == 1 + PARTS + 1
    members.turn()

    assert len(members) == 2


@pytest.mark.parametrize("lasts", [False, True])
def test_a_sign_of_life_keeps_all_that_a_member_has_told(members: Members, lasts: bool) -> None:
    members.join(b"a", 3 * 2 * KIB, lasts=lasts)
    members.kept.enter_assignments(b"app", b"a", 2 * 2 * KIB)
    for _ in range(5):
        members.turn()
        members.kept.keep_member(b"app", b"a")

    assert len(members) == 1 + 3 + 2 + 2


def test_a_member_that_lives_for_long_without_a_sign_is_remembered_for_longer(members: Members) -> None:
    members.join(b"a", 2 * KIB, lasts=True)
    for _ in range(4):
        members.turn()
    assert len(members) == 2 + 2

    for number in range(3):
        members.now_ms += HALF_DAY_MS
        assert members.join(b"lasting %d" % number, lasts=True)
    assert len(members.state.members.lasting) == 2


def test_what_one_without_a_name_has_told_is_remembered_for_longer(members: Members) -> None:
    """The broker gives it a name, so none of its heartbeats tells whose it is."""
    members.join(b"", 3 * 2 * KIB)
    members.join(b"")
    for _ in range(4):
        members.turn()

    assert len(members) == 4 + 2


def test_a_sign_of_life_of_an_unknown_member_is_never_refused(members: Members) -> None:
    """Another process may have let it join."""
    for number in range(20):
        members.kept.keep_member(b"app", b"%d" % number)

    assert len(members) == 10


FIELDS: dict[ApiKey, dict[str, Any]] = {
    ApiKey.HEARTBEAT: {"generation_id": 3},
    ApiKey.OFFSET_COMMIT: {"topics": []},
    ApiKey.TXN_OFFSET_COMMIT: {"transactional_id": "t", "topics": []},
}


SIGNS = [
    (ApiKey.HEARTBEAT, 0),
    (ApiKey.HEARTBEAT, 4),
    (ApiKey.OFFSET_COMMIT, 2),
    (ApiKey.OFFSET_COMMIT, 9),
    (ApiKey.TXN_OFFSET_COMMIT, 3),
    (ApiKey.TXN_OFFSET_COMMIT, 5),
]


@pytest.mark.parametrize(("api_key", "version"), SIGNS)
def test_the_engine_sees_signs_of_life(members: Members, api_key: ApiKey, version: int) -> None:
    members.join(b"a", 2 * KIB)
    for _ in range(3):
        members.turn()
        assert enter(members.kept, api_key, version, group_id="app", member_id="a", **FIELDS[api_key])

    assert len(members) == 2 + 2


@pytest.mark.parametrize(("api_key", "version"), [(ApiKey.HEARTBEAT, 3), (ApiKey.OFFSET_COMMIT, 7)])
def test_a_static_member_is_known_by_its_own_name(members: Members, api_key: ApiKey, version: int) -> None:
    members.join(b"static", 2 * KIB)
    for _ in range(3):
        members.turn()
        named = {"member_id": "made by the broker", "group_instance_id": "static"}
        assert enter(members.kept, api_key, version, group_id="app", **named, **FIELDS[api_key])

    assert len(members) == 2 + 2 + 1  # With the name that the broker has made.


def test_a_commit_from_outside_names_no_member(members: Members) -> None:
    assert enter(members.kept, ApiKey.OFFSET_COMMIT, 8, group_id="app", member_id="", topics=[])
    assert len(members) == 0


def test_the_engine_decodes_who_joins_a_share_group_or_tells_something(members: Members) -> None:
    def beat(member_id: str, epoch: int, *names: str) -> bool:
        fields = {
            "member_id": member_id,
            "member_epoch": epoch,
            "subscribed_topic_names": list(names) or None,
        }
        return enter(members.kept, ApiKey.SHARE_GROUP_HEARTBEAT, 1, group_id="app", **fields)

    members.join(b"a", 2 * KIB)
    for _ in range(3):
        members.turn()
        assert beat("a", 1)
    assert len(members) == 2 + 2
    assert beat("b", 1)
    assert len(members) == 2 + 3
    assert beat("c", -1)
    assert len(members) == 2 + 3
    assert not beat("d", 0)
    assert not beat("", 1)
    assert not beat("a", 1, "a name")


def test_a_member_of_a_newer_group_is_refused_when_it_joins_or_tells_much(members: Members) -> None:
    beat = members.kept.enter_beat

    assert beat(b"app", b"a", 0, 9 * 2 * KIB)
    assert len(members) == 10
    assert not beat(b"app", b"b", 0, 0)
    assert beat(b"app", b"b", -1, 0)
    assert beat(b"app", b"b", 3, 2 * KIB - 1)
    assert beat(b"app", b"a", 0, 0)
    assert not beat(b"app", b"a", 3, 10 * 2 * KIB)
    assert not beat(b"app", b"", 0, 0)
