"""The memory that workers share, here within one process."""

import pytest

from bifrost.forwarding.load import Load
from bifrost.gateway.workers.shared_limits import (
    ALL_TENANTS,
    CONNECTIONS,
    FIRST_TENANT,
    GONE,
    IN_FLIGHT,
    MAX_TENANTS,
    WAITING,
    Places,
    SharedLimits,
)


@pytest.fixture
def shared_limits() -> SharedLimits:
    return SharedLimits.create(3)


def test_who_maps_the_same_file_sees_the_same(shared_limits: SharedLimits) -> None:
    other = SharedLimits(shared_limits.fd, 3)

    shared_limits.pulse(1)[GONE] = 7
    shared_limits.note_connections(2, FIRST_TENANT, 5)
    shared_limits.fetch_marks()[9] = 2**64 - 1

    assert [other.pulse(worker)[GONE] for worker in range(3)] == [0, 7, 0]
    assert list(other.connections(FIRST_TENANT)) == [0, 0, 5]
    assert other.fetch_marks()[9] == 2**64 - 1


def test_no_two_things_stand_in_one_place(shared_limits: SharedLimits) -> None:
    for worker in range(3):
        shared_limits.pulse(worker)[-1] = 1
        shared_limits.failures()[worker][0] = shared_limits.failures()[worker][-1] = 2
        for place in (ALL_TENANTS, FIRST_TENANT, MAX_TENANTS - 1):
            shared_limits.note_connections(worker, place, 3)
    shared_limits.fetch_marks()[0] = 4

    for worker in range(3):
        assert shared_limits.pulse(worker)[-1] == 1
        assert (shared_limits.failures()[worker][0], shared_limits.failures()[worker][-1]) == (2, 2)
        for place in (ALL_TENANTS, FIRST_TENANT, MAX_TENANTS - 1):
            assert shared_limits.tenant(worker, place)[CONNECTIONS] == 3
    assert shared_limits.fetch_marks()[0] == 4


def test_the_engine_counts_where_others_read(shared_limits: SharedLimits) -> None:
    loads = [Load(None, shared_limits.load_share(FIRST_TENANT, worker)) for worker in range(3)]

    loads[1].waiting = 4

    assert [shared_limits.tenant(worker, FIRST_TENANT)[WAITING] for worker in range(3)] == [0, 4, 0]
    assert [shared_limits.tenant(worker, FIRST_TENANT)[IN_FLIGHT] for worker in range(3)] == [0, 0, 0]


def test_what_a_worker_had_open_can_be_taken_out(shared_limits: SharedLimits) -> None:
    for worker in (0, 1):
        shared_limits.note_connections(worker, FIRST_TENANT, 3)
        shared_limits.pulse(worker)[GONE] = 9
        shared_limits.failures()[worker][5] = 1

    shared_limits.clear(1, 2)

    assert list(shared_limits.connections(FIRST_TENANT)) == [3, 0, 0]
    assert [shared_limits.pulse(worker)[GONE] for worker in (0, 1)] == [9, 0]
    assert shared_limits.failures()[1][5] == 1


def test_a_lock_is_given_back(shared_limits: SharedLimits) -> None:
    for _ in range(2):
        with shared_limits.locked(FIRST_TENANT):
            shared_limits.note_connections(0, FIRST_TENANT, 1)

    assert list(shared_limits.connections(FIRST_TENANT)) == [1, 0, 0]


def test_a_tenant_keeps_its_place() -> None:
    places = Places()
    places.add(iter(["", "acme", "globex"]))
    before = dict(places.by_tenant)

    places.add(iter(["new", "acme"]))

    assert before == {"": 1, "acme": 2, "globex": 3}
    assert places.by_tenant == before | {"new": 4}
    assert len(places) == 5


def test_places_are_bounded() -> None:
    places = Places()

    with pytest.raises(ValueError, match="more than 131072 tenants"):
        places.add(str(number) for number in range(MAX_TENANTS))
    assert len(places) == FIRST_TENANT
