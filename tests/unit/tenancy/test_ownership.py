import pytest

from bifrost.tenancy.ownership import NameOwners, OwnNames

ACME: OwnNames[bytes, bytes] = OwnNames(b"t1-")
GLOBEX: OwnNames[bytes, bytes] = OwnNames(b"globex.")


@pytest.mark.parametrize("virtual", [b"orders", b"", b"/users", b"t2-orders"])
def test_a_name_is_owned_and_mapped_back(virtual: bytes) -> None:
    physical = ACME.physical(virtual)

    assert physical == b"t1-" + virtual
    assert ACME.owns(physical)
    assert ACME.virtual(physical) == virtual


@pytest.mark.parametrize("physical", [b"", b"orders", b"t1", b"t", b"globex.orders", b"xt1-a"])
def test_a_foreign_name_has_no_virtual_name(physical: bytes) -> None:
    assert not ACME.owns(physical)
    assert ACME.virtual(physical) is None


def test_of_many_names_the_own_ones_are_returned_in_order() -> None:
    assert ACME.owned([b"t1-b", b"t2-a", b"t1-a"]) == [b"t1-b", b"t1-a"]


def test_a_sorted_list_has_all_own_names_between_the_first_possible_one_and_the_end() -> None:
    listed = sorted([b"t1", b"t1-", b"t1--", b"t1-z", b"t2", b"a", b"t1.x"])

    rest = [name for name in listed if name >= ACME.first_possible_name]
    past = [ACME.is_past_all(name) for name in rest]

    assert ACME.owned(listed) == [b"t1-", b"t1--", b"t1-z"]
    assert past == sorted(past)
    assert [name for name in rest if not ACME.is_past_all(name)] == ACME.owned(listed)


def test_a_name_has_one_owner_or_none() -> None:
    owners = NameOwners([(ACME, "acme"), (GLOBEX, "globex")])

    assert owners.owner_of(b"t1-orders") == "acme"
    assert owners.owner_of(b"globex.orders") == "globex"
    assert owners.owner_of(b"t1") is None
    assert owners.owner_of(b"__consumer_offsets") is None
    assert NameOwners[str]([]).owner_of(b"orders") is None


def test_names_are_the_same_when_they_begin_alike() -> None:
    assert OwnNames(b"t1-") == OwnNames(b"t1-")
    assert OwnNames(b"t1-") != OwnNames(b"t2-")
