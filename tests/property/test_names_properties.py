"""The mapping of names: injective, reversible, disjoint between tenants, and never a legal name for what is denied."""

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from bifrost.config.checks.clashes import find_clashes
from bifrost.config.name_template import fold
from bifrost.tenancy.names import (
    PhysicalGroup,
    PhysicalTopic,
    PhysicalTransactionalId,
    TenantNames,
    VirtualGroup,
    VirtualTopic,
    VirtualTransactionalId,
)
from support.physical_names import physical_name

cheap = settings(max_examples=max(200, settings().max_examples))

LEGAL = re.compile(rb"[a-zA-Z0-9._-]{1,249}")

# Few characters, so that names and prefixes meet often.
tenant_names = st.text("ab._-", min_size=1, max_size=6)
legal_topics = st.text("ab._-", min_size=1, max_size=6).filter(lambda name: name not in (".", ".."))
wire_names = st.one_of(
    st.binary(max_size=12),
    legal_topics.map(str.encode),
    st.text("ab/_", max_size=6).map(str.encode),
    st.tuples(tenant_names, st.text("ab/", max_size=3)).map(
        lambda pair: physical_name(pair[0], pair[1]).encode()
    ),
)
namespaces = st.builds(TenantNames, tenant_names, st.none() | st.lists(legal_topics, max_size=5))


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[TenantNames, TenantNames]:
    """Two tenants that the configuration accepts side by side."""
    one, other = draw(
        st.tuples(tenant_names, tenant_names).filter(
            lambda pair: not find_clashes({"tenants": [{"name": name} for name in pair]})
        )
    )
    lists = st.none() | st.lists(legal_topics, max_size=5)
    return (
        TenantNames(one, draw(lists), namespaces_client_ids=True),
        TenantNames(other, draw(lists), namespaces_client_ids=True),
    )


@cheap
@given(namespaces, wire_names)
@example(TenantNames("a"), b"")
@example(TenantNames("a"), b"/")
@example(TenantNames("a", ["x"]), b"/x")
def test_every_topic_comes_back(names: TenantNames, name: bytes) -> None:
    assert names.virtual_topic(names.physical_topic(VirtualTopic(name))) == name


@cheap
@given(namespaces, wire_names, wire_names)
def test_two_topics_never_become_one(names: TenantNames, one: bytes, other: bytes) -> None:
    physical = [names.physical_topic(VirtualTopic(name)) for name in (one, other)]

    assert (physical[0] == physical[1]) == (one == other)


@cheap
@given(namespaces, wire_names, st.booleans())
def test_only_what_the_mapping_gives_has_a_virtual_name(
    names: TenantNames, tail: bytes, is_prefixed: bool
) -> None:
    physical = names.topics.physical(VirtualTopic(tail)) if is_prefixed else PhysicalTopic(tail)

    virtual = names.virtual_topic(physical)

    assert virtual is None or names.physical_topic(virtual) == physical


@cheap
@given(namespaces, wire_names)
def test_groups_and_transactional_ids_come_back_and_only_they(names: TenantNames, name: bytes) -> None:
    assert names.virtual_group(names.physical_group(VirtualGroup(name))) == name
    assert (
        names.virtual_transactional_id(names.physical_transactional_id(VirtualTransactionalId(name))) == name
    )

    group = names.virtual_group(PhysicalGroup(name))
    assert group is None or names.physical_group(group) == name
    transactional_id = names.virtual_transactional_id(PhysicalTransactionalId(name))
    assert transactional_id is None or names.physical_transactional_id(transactional_id) == name


@cheap
@given(namespaces, wire_names)
def test_what_is_not_allowed_can_never_exist_on_a_broker(names: TenantNames, name: bytes) -> None:
    physical = names.physical_topic(VirtualTopic(name))

    if not names.is_allowed(VirtualTopic(name)):
        assert not LEGAL.fullmatch(physical)
        assert physical == names.denied(VirtualTopic(name))
    elif LEGAL.fullmatch(name):
        assert LEGAL.fullmatch(physical)


@cheap
@given(neighbours(), wire_names, wire_names)
def test_tenants_that_the_configuration_accepts_never_meet(
    pair: tuple[TenantNames, TenantNames], name: bytes, other_name: bytes
) -> None:
    one, other = pair
    mine = [
        one.physical_topic(VirtualTopic(name)),
        one.physical_group(VirtualGroup(name)),
        one.physical_transactional_id(VirtualTransactionalId(name)),
    ]
    theirs = [
        other.physical_topic(VirtualTopic(other_name)),
        other.physical_group(VirtualGroup(other_name)),
        other.physical_transactional_id(VirtualTransactionalId(other_name)),
    ]

    assert not set(mine) & set(theirs)
    assert (one.client_id_prefix or b"") + name != (other.client_id_prefix or b"") + other_name
    assert other.virtual_topic(PhysicalTopic(mine[0])) is None
    assert other.virtual_group(PhysicalGroup(mine[1])) is None
    assert other.virtual_transactional_id(PhysicalTransactionalId(mine[2])) is None


@cheap
@given(neighbours(), legal_topics, legal_topics)
def test_their_topics_do_not_collide_in_kafkas_eyes_either(
    pair: tuple[TenantNames, TenantNames], name: str, other_name: str
) -> None:
    one, other = pair

    mine = fold(one.topics.physical(VirtualTopic(name.encode())).decode())
    theirs = fold(other.topics.physical(VirtualTopic(other_name.encode())).decode())

    assert mine != theirs


@cheap
@given(namespaces, st.lists(st.one_of(wire_names, st.sampled_from([b" ", b"'", b", "])), max_size=6))
def test_an_error_text_about_ones_own_topics_holds_no_prefix(names: TenantNames, parts: list[bytes]) -> None:
    virtual = [part.replace(names.topics.shared_prefix, b"") for part in parts]
    physical = [names.physical_topic(VirtualTopic(part)) for part in virtual]

    text = names.virtual_text(b" ".join(physical))

    assert names.topics.shared_prefix not in text or names.topics.shared_prefix in b" ".join(virtual)
