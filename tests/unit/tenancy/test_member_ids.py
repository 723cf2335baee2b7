import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bifrost.tenancy.member_ids import other_side
from support.physical_names import MARK, physical_name, prefix_of

PREFIX = prefix_of("acme").encode()
AT_BROKER = physical_name("acme", "app-3f0c91d2-6c1a-4b7e-9d53-0a8e5f3b2c11").encode()
OF_TENANT = b"app-3f0c91d2-6c1a-8b7e-9d53-0a8e5f3b2c11"

cheap = settings(max_examples=max(500, settings().max_examples))

uuids = st.from_regex(
    re.compile(rb"-[0-9a-f]{8}-[0-9a-f]{4}-[148][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", re.A), fullmatch=True
)
heads = st.lists(st.sampled_from([PREFIX, MARK.encode(), b"a", b"app", b"-", b"\xff"]), max_size=4).map(
    b"".join
)
member_ids = st.one_of(
    st.binary(max_size=60),
    st.tuples(heads, uuids).map(b"".join),
    st.tuples(heads, uuids, st.sampled_from([b"", b"x", b"\n"])).map(b"".join),
)


def test_the_tenant_sees_its_own_client_id_in_it() -> None:
    assert other_side(AT_BROKER, PREFIX) == OF_TENANT


def test_the_broker_gets_back_what_it_made() -> None:
    assert other_side(OF_TENANT, PREFIX) == AT_BROKER


def test_a_client_without_an_id_has_members_too() -> None:
    made = physical_name("acme", "-3f0c91d2-6c1a-4b7e-9d53-0a8e5f3b2c11").encode()

    assert other_side(made, PREFIX) == b"-3f0c91d2-6c1a-8b7e-9d53-0a8e5f3b2c11"
    assert other_side(other_side(made, PREFIX), PREFIX) == made


@pytest.mark.parametrize(
    "member_id",
    [
        b"",
        # Of a member with a group.instance.id, and of one that joined before client IDs had a prefix.
        b"instance-1-3f0c91d2-6c1a-4b7e-9d53-0a8e5f3b2c11",
        # What the new protocols' coordinator and clients make (Uuid.randomUuid, java.util.UUID).
        b"3vqBvzWBQ0mCTDzRXOGmQA",
        b"3f0c91d2-6c1a-4b7e-9d53-0a8e5f3b2c11",
        b"3f0c91d2-6c1a-8b7e-9d53-0a8e5f3b2c11",
        # Not quite what a broker makes.
        AT_BROKER.upper(),
        AT_BROKER + b"\n",
        AT_BROKER[:-1],
        AT_BROKER.replace(b"-4b7e", b"-1b7e"),
        prefix_of("acme").encode(),
        physical_name("acme", "3f0c91d2-6c1a-4b7e-9d53-0a8e5f3b2c11").encode(),
    ],
)
def test_any_other_is_the_same_on_both_sides(member_id: bytes) -> None:
    assert other_side(member_id, PREFIX) == member_id


@cheap
@given(member_ids)
@example(AT_BROKER)
@example(OF_TENANT)
@example(prefix_of("acme").encode() + OF_TENANT)
@example(prefix_of("acme").encode() + AT_BROKER)
def test_the_way_back_is_the_same_way(member_id: bytes) -> None:
    """So no two IDs of one side become one on the other, whichever client or broker made them."""
    assert other_side(other_side(member_id, PREFIX), PREFIX) == member_id
