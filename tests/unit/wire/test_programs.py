"""Programs, layouts and peeks of every message at every version, and what cannot be compiled."""

import pytest

from bifrost.wire.codec import encode_body
from bifrost.wire.message import message_class
from bifrost.wire.messages import (
    ConsumerProtocolAssignment,
    DescribeTopicPartitionsRequest,
    FetchRequest,
    FetchResponse,
    MetadataRequest,
    MetadataResponse,
)
from bifrost.wire.program import SLOT_ADDRESS, SLOT_DECODE, SLOT_USUAL
from bifrost.wire.programs import compile_layout, compile_peek, compile_program
from bifrost.wire.rewriting import Names, rewrite
from bifrost.wire.schema import Field, FieldType, all_schemas, message_schema
from support.stage.messages import build


def body(message, version: int) -> bytes:
    return encode_body(compile_layout(type(message).__name__, version), message)


def rewritten(message, version: int, slots: dict[str, int]) -> bytes | None:
    """The body with every name that has a slot doubled, UUIDs reversed."""
    names = Names(lambda slot, name: name[::-1] if slot == 4 else name * 2)
    segments = rewrite(
        compile_program(type(message).__name__, version, slots), body(message, version), 0, names
    )
    return segments and b"".join(segments)[4:]


@pytest.mark.parametrize("schema", all_schemas(), ids=lambda schema: schema.name)
def test_every_version_of_every_message_compiles(schema):
    for version in schema.versions:
        message = message_class(schema.name)()
        _fill_what_may_not_be_null(message, schema.fields, version)
        frame = body(message, version)
        segments = rewrite(
            compile_program(schema.name, version, {}), frame, 0, Names(lambda slot, name: None)
        )

        assert b"".join(segments) == len(frame).to_bytes(4, "big") + frame


def _fill_what_may_not_be_null(message, fields: tuple[Field, ...], version: int) -> None:
    # Kafka's records are null in a new message, even where null cannot be written.
    for field in fields:
        if field.type is FieldType.RECORDS and version in field.versions and version not in field.nullable:
            setattr(message, field.name, b"")


def test_what_is_compiled_is_kept():
    slots = {"TopicData.Name": 1}

    assert compile_program("ProduceRequest", 9, slots) is compile_program("ProduceRequest", 9, dict(slots))
    assert compile_program("ProduceRequest", 9, slots) is not compile_program("ProduceRequest", 9, {})
    assert compile_program("ProduceRequest", 9, slots) is not compile_program("ProduceRequest", 10, slots)
    assert compile_layout("ProduceRequest", 9) is compile_layout("ProduceRequest", 9)
    assert compile_peek("ProduceRequest", 9, ["Acks"]) is compile_peek("ProduceRequest", 9, ("Acks",))


class TestSlots:
    def test_a_string_in_an_array_of_structs(self):
        topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in ("a", "", "b")]
        doubled = [MetadataRequest.MetadataRequestTopic(name=name) for name in ("aa", "", "bb")]

        for version in range(14):
            found = rewritten(MetadataRequest(topics=topics), version, {"Topics.Name": 1})
            assert found == body(MetadataRequest(topics=doubled), version)

    def test_a_field_that_the_version_lacks_is_passed_over(self):
        message = MetadataResponse(
            topics=[MetadataResponse.MetadataResponseTopic(name="a", topic_id=b"x" * 15 + b"y")]
        )
        doubled = MetadataResponse(
            topics=[MetadataResponse.MetadataResponseTopic(name="aa", topic_id=b"y" + b"x" * 15)]
        )

        for version in range(14):
            slots = {"Topics.Name": 1, "Topics.TopicId": 4}
            assert rewritten(message, version, slots) == body(doubled, version)

    def test_an_array_of_strings_has_the_slot_of_its_elements(self):
        message = message_class("OffsetFetchRequest")
        before = message(group_id="g", topics=[])
        assert rewritten(before, 1, {"GroupId": 2}) == body(message(group_id="gg", topics=[]), 1)

        groups = message_class("DeleteGroupsRequest")
        for version in range(3):
            found = rewritten(groups(groups_names=["a", "b"]), version, {"GroupsNames": 2})
            assert found == body(groups(groups_names=["aa", "bb"]), version)
            assert rewritten(groups(groups_names=["a"]), version, {"GroupsNames": SLOT_DECODE}) is None
            assert rewritten(groups(), version, {"GroupsNames": SLOT_DECODE}) == body(groups(), version)

    def test_a_nullable_struct(self):
        cursor = DescribeTopicPartitionsRequest.Cursor(topic_name="t", partition_index=1)
        longer = DescribeTopicPartitionsRequest.Cursor(topic_name="tt", partition_index=1)
        request = DescribeTopicPartitionsRequest

        assert rewritten(request(cursor=cursor), 0, {"Cursor.TopicName": 1}) == body(
            request(cursor=longer), 0
        )
        assert rewritten(request(), 0, {"Cursor.TopicName": 1}) == body(request(), 0)
        assert rewritten(request(cursor=cursor), 0, {"Cursor": SLOT_DECODE}) is None
        assert rewritten(request(), 0, {"Cursor": SLOT_DECODE}) == body(request(), 0)

    @pytest.mark.parametrize("path", ["ReplicaState", "ClusterId"])
    def test_a_tagged_field_under_a_slot_is_decoded_if_it_is_there(self, path):
        quiet, told = (
            FetchRequest(),
            FetchRequest(cluster_id="c", replica_state=FetchRequest.ReplicaState(replica_id=3)),
        )

        assert rewritten(quiet, 15, {path: SLOT_DECODE}) == body(quiet, 15)
        assert rewritten(told, 15, {path: SLOT_DECODE}) is None
        assert rewritten(told, 15, {}) == body(told, 15)

    def test_tagged_fields_within_tagged_fields(self):
        response = FetchResponse(
            node_endpoints=[FetchResponse.NodeEndpoint(node_id=1, host="h", port=1, rack="r")] * 2
        )

        assert rewritten(response, 16, {"Responses.Topic": 1}) == body(response, 16)
        assert rewritten(response, 16, {"NodeEndpoints.Host": 6}) is None

    @pytest.mark.parametrize("version", range(14))
    def test_a_brokers_address_is_looked_up_by_its_id(self, version):
        asked = []

        def address(slot, node_id):
            asked.append((slot, node_id))
            return b"gateway" + (9000 + node_id[-1]).to_bytes(4, "big")

        brokers = [
            {"node_id": 0x01020300 + one, "host": "k" * one, "port": 1, "rack": "r"} for one in range(3)
        ]
        message = build("MetadataResponse", {"brokers": brokers, "controller_id": 7})
        for number, broker in enumerate(brokers):
            broker.update(host="gateway", port=9000 + number)
        program = compile_program("MetadataResponse", version, {"Brokers.Host": SLOT_ADDRESS})
        segments = rewrite(program, body(message, version), 0, Names(address))

        expected = build("MetadataResponse", {"brokers": brokers, "controller_id": 7})
        assert b"".join(segments)[4:] == body(expected, version)
        assert asked == [(SLOT_ADDRESS, b"\x01\x02\x03" + bytes([one])) for one in range(3)]

    def test_a_broker_without_an_address_is_decoded(self):
        message = build("MetadataResponse", {"brokers": [{"node_id": 3, "host": "h", "port": 1}]})
        program = compile_program("MetadataResponse", 9, {"Brokers.Host": SLOT_ADDRESS})

        assert rewrite(program, body(message, 9), 0, Names(lambda slot, name: None)) is None

    @pytest.mark.parametrize("address", [b"", b"123", b"h" * 32768 + b"1234"])
    def test_what_is_no_address_is_our_mistake(self, address):
        message = build("MetadataResponse", {"brokers": [{"node_id": 3, "host": "h", "port": 1}]})
        program = compile_program("MetadataResponse", 9, {"Brokers.Host": SLOT_ADDRESS})

        with pytest.raises(ValueError, match="an address is a host"):
            rewrite(program, body(message, 9), 0, Names(lambda slot, name: address))

    @pytest.mark.parametrize("version", range(14))
    @pytest.mark.parametrize(
        ("path", "field"), [("ControllerId", "controller_id"), ("Topics.ErrorCode", "error_code")]
    )
    def test_a_number_that_is_not_its_default_is_decoded(self, version, path, field):
        def answer(number):
            topic = {"name": "a"} | ({field: number} if field == "error_code" else {})
            values = {"topics": [topic]} | ({field: number} if field == "controller_id" else {})
            return build("MetadataResponse", values)

        usual = {"controller_id": -1, "error_code": 0}[field]
        is_there = version > 0 or field == "error_code"

        assert rewritten(answer(usual), version, {path: SLOT_USUAL}) == body(answer(usual), version)
        for number in (usual + 1, 3, 0x7F00):
            found = rewritten(answer(number), version, {path: SLOT_USUAL})
            assert found == (None if is_there else body(answer(number), version))

    @pytest.mark.parametrize("version", range(1, 14))
    def test_an_array_that_is_null_is_decoded(self, version):
        everything, nothing = MetadataRequest(topics=None), MetadataRequest(topics=[])
        some = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="a")])

        assert rewritten(everything, version, {"Topics": SLOT_USUAL}) is None
        for message in (nothing, some):
            assert rewritten(message, version, {"Topics": SLOT_USUAL}) == body(message, version)

    def test_bytes_and_records(self):
        message = ConsumerProtocolAssignment(user_data=b"secret")

        assert rewritten(message, 0, {"UserData": SLOT_DECODE}) is None
        assert rewritten(ConsumerProtocolAssignment(user_data=None), 0, {"UserData": SLOT_DECODE}) is not None


class TestRefused:
    @pytest.mark.parametrize(
        ("name", "slots", "problem"),
        [
            ("FetchRequest", {"Topics.Topics": 1}, "FetchRequest has no field Topics.Topics"),
            ("FetchRequest", {"topics": 1}, "has no field topics"),
            ("FetchRequest", {"MaxWaitMs": 1}, "MaxWaitMs cannot have slot 1"),
            ("FetchRequest", {"MaxWaitMs": SLOT_DECODE}, "MaxWaitMs is a number"),
            ("FetchRequest", {"Topics": 1}, "Topics cannot have slot 1"),
            ("FetchRequest", {"RackId": 12}, "RackId cannot have slot 12"),
            ("FetchRequest", {"RackId": SLOT_ADDRESS}, "RackId does not stand between"),
            ("FetchRequest", {"RackId": SLOT_USUAL}, "RackId cannot have slot 254"),
            ("FetchRequest", {"IsolationLevel": SLOT_USUAL}, "IsolationLevel cannot have slot 254"),
            ("FetchRequest", {"RackId": -1}, "RackId cannot have slot -1"),
            ("ProduceRequest", {"TopicData.PartitionData.Records": 1}, "Records cannot have slot 1"),
            ("MetadataResponse", {"Topics.Partitions.ReplicaNodes": 1}, "ReplicaNodes cannot have slot 1"),
        ],
    )
    def test_slots_that_a_field_cannot_have(self, name, slots, problem):
        with pytest.raises(ValueError, match=problem):
            compile_program(name, 12, slots)

    def test_versions_that_a_message_does_not_have(self):
        with pytest.raises(ValueError, match="FetchRequest has the versions 0-18, not 19"):
            compile_program("FetchRequest", 19, {})
        with pytest.raises(ValueError, match="not -1"):
            compile_layout("FetchRequest", -1)
        with pytest.raises(ValueError, match="not 99"):
            compile_peek("FetchRequest", 99, [])
        with pytest.raises(KeyError):
            compile_layout("FetchRequests", 1)

    @pytest.mark.parametrize(
        ("version", "fields"),
        [
            (4, ["Topics"]),
            (4, ["SessionId"]),
            (12, ["MinBytes", "MaxWaitMs"]),
            (12, ["ClusterId"]),
            (15, ["ReplicaId"]),
            (12, ["RackId"]),
        ],
    )
    def test_peeks_at_what_is_not_a_number_near_the_front(self, version, fields):
        with pytest.raises(ValueError, match=f"FetchRequest v{version}: {fields[-1]} is not a number near"):
            compile_peek("FetchRequest", version, fields)


def test_the_smallest_size_of_an_element_is_really_the_smallest():
    """An array of the emptiest elements is taken; counts were refused if one element were thought too large."""
    for schema in all_schemas():
        for version in schema.versions:
            for field in message_schema(schema.name).fields:
                if not field.is_array or field.type is not FieldType.STRUCT or version not in field.versions:
                    continue
                cls = message_class(schema.name)
                element = getattr(cls, str(field.struct_name))
                message = cls(**{field.name: [element() for _ in range(3)]})
                for struct in (message, *getattr(message, field.name)):
                    _fill_what_may_not_be_null(struct, struct.FIELDS, version)
                frame = body(message, version)
                program = compile_program(schema.name, version, {})
                assert rewrite(program, frame, 0, Names(lambda slot, name: None)) is not None
