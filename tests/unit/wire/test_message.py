import copy
import pickle

import pytest

from bifrost.wire.message import Message, Struct, message_class
from bifrost.wire.messages import (
    DescribeClusterResponse,
    DescribeTopicPartitionsRequest,
    FetchRequest,
    FetchResponse,
    MetadataRequest,
    ProduceRequest,
    SaslAuthenticateRequest,
    UpdateFeaturesRequest,
)
from bifrost.wire.schema import FieldType, all_schemas, message_schema


def test_a_message_starts_with_kafkas_defaults():
    request = FetchRequest()

    assert request.cluster_id is None
    assert request.replica_id == -1
    assert request.max_bytes == 2**31 - 1
    assert request.rack_id == ""
    assert request.topics == []
    assert request.replica_state == FetchRequest.ReplicaState(replica_id=-1, replica_epoch=-1)
    assert FetchRequest.FetchTopic().topic_id == bytes(16)
    assert MetadataRequest().allow_auto_topic_creation is True
    assert DescribeTopicPartitionsRequest().cursor is None
    assert ProduceRequest.PartitionProduceData().records is None


def test_lists_and_structs_are_fresh_in_every_message():
    first, second = FetchRequest(), FetchRequest()

    first.topics.append(FetchRequest.FetchTopic(topic="orders"))
    first.replica_state.replica_id = 7

    assert second.topics == []
    assert second.replica_state.replica_id == -1


def test_fields_are_given_by_keyword():
    topic = FetchRequest.FetchTopic(topic="orders", partitions=[FetchRequest.FetchPartition(partition=3)])
    request = FetchRequest(max_bytes=10, topics=[topic])

    assert request.max_bytes == 10
    assert request.topics[0].partitions[0].partition == 3
    assert request.topics[0].partitions[0].current_leader_epoch == -1


def test_an_unknown_field_is_refused():
    with pytest.raises(TypeError, match=r"FetchRequest\.FetchTopic has no field 'name'"):
        FetchRequest.FetchTopic(name="orders")  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        FetchRequest().name = "orders"  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="positional"):
        FetchRequest("cluster")  # type: ignore[misc]


def test_a_field_that_is_no_slot_but_an_attribute_is_refused():
    with pytest.raises(TypeError, match="has no field 'SCHEMA'"):
        FetchRequest(SCHEMA=None)  # type: ignore[call-arg]


def test_messages_are_equal_by_their_fields():
    one = ProduceRequest.PartitionProduceData(index=1, records=b"batch")

    assert one == ProduceRequest.PartitionProduceData(index=1, records=memoryview(b"batch"))
    assert one != ProduceRequest.PartitionProduceData(index=2, records=b"batch")
    assert FetchRequest(topics=[FetchRequest.FetchTopic()]) == FetchRequest(
        topics=[FetchRequest.FetchTopic()]
    )
    assert FetchRequest() != MetadataRequest()
    assert FetchRequest.__eq__(FetchRequest(), 1) is NotImplemented


def test_messages_cannot_be_keys_as_they_change():
    with pytest.raises(TypeError, match="unhashable"):
        hash(FetchRequest())


def test_repr_names_every_field_and_hides_bytes():
    request = SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret")
    data = ProduceRequest.PartitionProduceData(index=4, records=memoryview(b"secret batch"))

    assert repr(request) == "SaslAuthenticateRequest(auth_bytes=<13 bytes>)"
    assert repr(data) == "ProduceRequest.PartitionProduceData(index=4, records=<12 bytes>)"


def test_repr_hides_bytes_at_every_depth():
    partition = FetchResponse.PartitionData(records=b"secret")
    response = FetchResponse(responses=[FetchResponse.FetchableTopicResponse(partitions=[partition])])

    assert "records=<6 bytes>" in repr(response)
    assert "secret" not in repr(response)


def test_repr_writes_topic_ids_as_kafka_does():
    topic_id = bytes.fromhex("0f8fad5bd9cb469fa16570867728950e")

    assert "topic_id=D4-tW9nLRp-hZXCGdyiVDg," in repr(FetchRequest.FetchTopic(topic_id=topic_id))
    assert "topic_id=<3 bytes>" in repr(FetchRequest.FetchTopic(topic_id=b"abc"))


def test_repr_of_lists_and_strings():
    request = FetchRequest.ForgottenTopic(topic="orders", partitions=[1, 2])

    assert repr(request) == (
        "FetchRequest.ForgottenTopic(topic='orders', topic_id=AAAAAAAAAAAAAAAAAAAAAA, partitions=[1, 2])"
    )


def test_no_message_has_an_instance_dictionary():
    for schema in all_schemas():
        cls = message_class(schema.name)
        assert not hasattr(cls(), "__dict__"), schema.name
        assert cls.__slots__ == tuple(field.name for field in schema.fields)


def test_a_message_made_without_its_constructor_takes_attributes_by_name():
    request = FetchRequest.__new__(FetchRequest)

    request.max_bytes = 5

    assert request.max_bytes == 5
    assert not hasattr(request, "topics")


def test_every_struct_is_a_class_directly_under_its_message():
    assert issubclass(FetchRequest.FetchPartition, Struct)
    assert not issubclass(FetchRequest.FetchPartition, Message)
    assert FetchRequest.FetchPartition.__qualname__ == "FetchRequest.FetchPartition"
    assert [f.name for f in FetchRequest.FetchTopic.FIELDS] == ["topic", "topic_id", "partitions"]


def test_a_common_struct_is_one_class():
    response = message_schema("StreamsGroupHeartbeatResponse")
    cls = message_class("StreamsGroupHeartbeatResponse")
    uses = [f for f in response.fields if f.type is FieldType.STRUCT and f.struct_name == "TaskIds"]

    assert len(uses) == 3
    assert uses[0].fields == cls.TaskIds.FIELDS  # type: ignore[attr-defined]


def test_a_message_knows_its_schema():
    assert FetchRequest.SCHEMA is message_schema("FetchRequest")
    assert not hasattr(FetchRequest.FetchTopic, "SCHEMA")


def test_messages_can_be_copied_and_pickled():
    features = [UpdateFeaturesRequest.FeatureUpdateKey(feature="kraft.version", max_version_level=1)]
    request = UpdateFeaturesRequest(timeout_ms=5, feature_updates=features)

    assert copy.deepcopy(request) == request
    assert pickle.loads(pickle.dumps(request)) == request


def test_every_message_can_be_made_and_shown():
    for schema in all_schemas():
        cls = message_class(schema.name)
        assert repr(cls()).startswith(f"{schema.name}("), schema.name
        assert cls() == cls(), schema.name


def test_defaults_differ_where_kafka_says_so():
    assert DescribeClusterResponse().cluster_authorized_operations == -(2**31)
    assert DescribeClusterResponse().endpoint_type == 1
