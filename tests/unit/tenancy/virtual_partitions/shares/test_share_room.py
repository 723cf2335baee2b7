from bifrost.tenancy.virtual_partitions.shares.share_room import ShareRoom


def test_bytes_are_taken_up_to_the_last_and_given_back() -> None:
    room = ShareRoom(3)

    assert room.take(3)
    assert not room.take(1)
    room.give_back(2)
    assert (room.take(2), room.used) == (True, 3)


def test_a_smaller_room_takes_bytes_of_the_larger_one() -> None:
    tenant = ShareRoom(5)
    one, other = ShareRoom(4, tenant), ShareRoom(4, tenant)

    assert one.take(4)
    assert not other.take(2)
    assert (one.used, other.used, tenant.used) == (4, 0, 4)
    assert other.take(1)
    assert not one.take(1)
    one.give_back(4)

    assert (one.used, tenant.used) == (0, 1)
