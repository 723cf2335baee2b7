"""What is left of a list of everything: one's own, byte for byte."""

import pytest

from bifrost.wire.codec import decode, encode_body
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.messages import ListGroupsResponse, ListTransactionsResponse, MetadataResponse
from bifrost.wire.program import prune
from bifrost.wire.programs import compile_layout, compile_program
from bifrost.wire.schema import message_schema
from support.physical_names import MARK, physical_name, prefix_of

OWN, FOREIGN = (
    [physical_name("acme", "orders"), physical_name("acme", "x")],
    [physical_name("globex", "orders"), "users", f"{MARK}acme"],
)
MIXED = [FOREIGN[0], OWN[0], FOREIGN[1], FOREIGN[2], OWN[1]]


def metadata(names, version):
    topic, partition = MetadataResponse.MetadataResponseTopic, MetadataResponse.MetadataResponsePartition
    partitions = [partition(partition_index=n, replica_nodes=[1, 2, 3], isr_nodes=[1]) for n in range(3)]
    broker = MetadataResponse.MetadataResponseBroker(node_id=1, host="kafka-1", port=9092)
    return MetadataResponse(
        brokers=[broker], topics=[topic(name=name, partitions=partitions) for name in names]
    )


def groups(names, version):
    return ListGroupsResponse(
        groups=[ListGroupsResponse.ListedGroup(group_id=n, protocol_type="consumer") for n in names]
    )


def transactions(names, version):
    state = ListTransactionsResponse.TransactionState
    return ListTransactionsResponse(transaction_states=[state(transactional_id=n) for n in names])


LISTS = {
    "MetadataResponse": ("Topics.Name", metadata),
    "ListGroupsResponse": ("Groups.GroupId", groups),
    "ListTransactionsResponse": ("TransactionStates.TransactionalId", transactions),
}
CASES = [(name, version) for name in LISTS for version in message_schema(name).versions]


def pruned(name, version, names, head=b""):
    path, build = LISTS[name]
    frame = head + encode_body(compile_layout(name, version), build(names, version))
    return prune(compile_program(name, version, {path: 1}), frame, len(head), prefix_of("acme").encode())


@pytest.mark.parametrize(("name", "version"), CASES)
def test_only_own_elements_stay(name, version):
    _, build = LISTS[name]
    left = encode_body(compile_layout(name, version), build(OWN, version))

    assert pruned(name, version, MIXED) == left
    assert pruned(name, version, OWN) == left
    assert pruned(name, version, MIXED, b"a head") == b"a head" + left


@pytest.mark.parametrize(("name", "version"), CASES)
def test_nothing_may_stay(name, version):
    _, build = LISTS[name]

    assert pruned(name, version, FOREIGN) == encode_body(compile_layout(name, version), build([], version))
    assert pruned(name, version, []) == encode_body(compile_layout(name, version), build([], version))


def test_a_thousand_elements_shorten_the_count():
    many = [physical_name("globex", number) for number in range(1000)]

    assert pruned("MetadataResponse", 12, [*many, *OWN]) == pruned("MetadataResponse", 12, OWN)


def test_what_has_no_name_is_of_no_tenant_and_stays():
    left = decode(compile_layout("MetadataResponse", 12), pruned("MetadataResponse", 12, ["", None, "x"]), 0)

    assert [topic.name for topic in left.topics] == ["", None]


@pytest.mark.parametrize("name", LISTS)
def test_a_frame_cut_short_anywhere_is_malformed(name):
    path, build = LISTS[name]
    version = message_schema(name).versions.high
    frame = encode_body(compile_layout(name, version), build(MIXED, version))
    program = compile_program(name, version, {path: 1})

    for size in range(len(frame)):
        with pytest.raises(MalformedFrame):
            prune(program, frame[:size], 0, prefix_of("acme").encode())
