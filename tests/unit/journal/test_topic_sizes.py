from bifrost.journal.topic_sizes import Replica, TopicSizes
from support.physical_names import physical_name


def topic() -> TopicSizes:
    return TopicSizes(
        physical_name("acme", "orders"),
        bytes(range(16)),
        {0: Replica(1, {1: None, 2: None}), 1: Replica(2, {2: None, 1: None})},
    )


def test_sizes_are_of_leaders_and_of_all_replicas() -> None:
    orders = topic()
    for partition, node_id, size in ((0, 1, 100), (0, 2, 90), (1, 1, 0), (1, 2, 7)):
        orders.weigh(partition, node_id, size)
    orders.weigh(0, 3, 5)  # No broker's replica.
    orders.weigh(9, 1, 5)

    snapshot = orders.snapshot("main", "orders")

    assert snapshot["partitions"] == [
        {"partition": 0, "leader": 1, "replicas": [1, 2], "bytes": 100, "replica_bytes": 190},
        {"partition": 1, "leader": 2, "replicas": [1, 2], "bytes": 7, "replica_bytes": 7},
    ]
    assert (snapshot["bytes"], snapshot["replica_bytes"]) == (107, 197)
    assert (snapshot["partition_count"], snapshot["replication_factor"]) == (2, 2)
    assert snapshot["topic_id"] == "AAECAwQFBgcICQoLDA0ODw"
    assert orders.node_ids == {1, 2}
    assert orders.facts() == {"partitions": "2", "replication_factor": "2"}


def test_what_a_broker_did_not_say_is_unknown_and_not_zero() -> None:
    orders = topic()
    orders.weigh(0, 1, 100)
    orders.weigh(1, 1, 5)

    snapshot = orders.snapshot("main", "orders")

    assert snapshot["partitions"][0] == {"partition": 0, "leader": 1, "replicas": [1, 2], "bytes": 100}
    assert "bytes" not in snapshot["partitions"][1]
    assert (snapshot["bytes"], snapshot["replica_bytes"]) == (None, None)


def test_a_replica_on_two_disks_is_both_of_them() -> None:
    orders = topic()

    orders.weigh(0, 1, 100)
    orders.weigh(0, 1, 20)

    assert orders.partitions[0].sizes == {1: 120, 2: None}
