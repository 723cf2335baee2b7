from typing import Any

from bifrost.routes.one_broker import NAMES_BROKERS, NODE_ID, show_one
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.fields.entities import SERVED, served_versions, walk_fields
from bifrost.wire.messages import (
    DescribeClusterResponse,
    DescribeTopicPartitionsResponse,
    FindCoordinatorResponse,
    MetadataResponse,
)
from bifrost.wire.schema import response_schema

_SPLIT = {ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE}
"""Their hints of leaders are left out."""


def test_every_answer_with_the_id_of_a_broker_is_looked_at() -> None:
    naming = set()
    for api_key in SERVED:
        versions = served_versions(api_key)
        assert versions is not None
        for version in versions:
            fields = walk_fields(response_schema(api_key).fields, version)
            if any(one.entity_type == "brokerId" for _, one in fields):
                naming.add(api_key)

    assert naming - _SPLIT == NAMES_BROKERS


def test_metadata_has_one_broker_that_leads_what_has_a_leader() -> None:
    partition, topic = MetadataResponse.MetadataResponsePartition, MetadataResponse.MetadataResponseTopic
    broker = MetadataResponse.MetadataResponseBroker
    partitions = [
        partition(leader_id=3, replica_nodes=[3, 4], isr_nodes=[3], offline_replicas=[4]),
        partition(leader_id=-1, replica_nodes=[4], isr_nodes=[4], offline_replicas=[4]),
    ]
    response = MetadataResponse(
        brokers=[broker(node_id=3), broker(node_id=4)], controller_id=4, topics=[topic(partitions=partitions)]
    )

    show_one(response)

    assert [one.node_id for one in response.brokers] == [NODE_ID]
    assert response.controller_id == NODE_ID
    found = [(p.leader_id, p.replica_nodes, p.isr_nodes, p.offline_replicas) for p in partitions]
    assert found == [(NODE_ID, [NODE_ID], [NODE_ID], []), (-1, [NODE_ID], [], [NODE_ID])]


def test_partitions_of_a_topic_likewise() -> None:
    response: Any = DescribeTopicPartitionsResponse
    partition = response.DescribeTopicPartitionsResponsePartition(
        leader_id=3,
        replica_nodes=[3],
        isr_nodes=[3],
        eligible_leader_replicas=[4],
        last_known_elr=[5],
        offline_replicas=[],
    )
    message = response(topics=[response.DescribeTopicPartitionsResponseTopic(partitions=[partition])])

    show_one(message)

    assert (partition.leader_id, partition.replica_nodes, partition.isr_nodes) == (1, [1], [1])
    assert (partition.eligible_leader_replicas, partition.last_known_elr) == ([], [])


def test_the_cluster_has_one_broker_and_none_in_an_error() -> None:
    broker = DescribeClusterResponse.DescribeClusterBroker
    response = DescribeClusterResponse(
        error_code=0, controller_id=2, brokers=[broker(broker_id=1), broker(broker_id=2)]
    )
    refused = DescribeClusterResponse(error_code=29, controller_id=-1, brokers=[])

    show_one(response)
    show_one(refused)

    assert ([one.broker_id for one in response.brokers], response.controller_id) == ([NODE_ID], NODE_ID)
    assert (refused.brokers, refused.controller_id) == ([], -1)


def test_coordinators_are_the_one_broker_unless_there_is_none() -> None:
    coordinator = FindCoordinatorResponse.Coordinator
    batch = FindCoordinatorResponse(
        coordinators=[coordinator(node_id=5, host="b"), coordinator(node_id=-1, error_code=15)]
    )
    single = FindCoordinatorResponse(node_id=5, host="b", error_code=0)
    missing = FindCoordinatorResponse(node_id=-1, error_code=15)

    for message in (batch, single, missing):
        show_one(message)

    assert [one.node_id for one in batch.coordinators] == [NODE_ID, -1]
    assert (single.node_id, missing.node_id) == (NODE_ID, -1)
    assert batch.node_id == 0, "versions with a list have no such field"
