"""The child of `java_clients.py`: one version of Kafka's Java clients in this process's JVM, by JPype.

It answers JSON lines, and imports nothing of ours: it is run as a script.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

JVM_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xmx256m")


class Driver:
    """The child's side: one method per operation, with plain values in and out."""

    WAIT_S = 30

    def __init__(self, jpype: Any) -> None:
        self._java = jpype.JPackage("java")
        self._kafka = jpype.JPackage("org").apache.kafka
        self._clients: dict[int, Any] = {}

    # -- clients

    def open(self, kind: str, properties: dict[str, str]) -> int:
        classes = {
            "producer": lambda: self._kafka.clients.producer.KafkaProducer(self._map(properties)),
            "consumer": lambda: self._kafka.clients.consumer.KafkaConsumer(self._map(properties)),
            "share consumer": lambda: self._kafka.clients.consumer.KafkaShareConsumer(self._map(properties)),
            "admin": lambda: self._kafka.clients.admin.Admin.create(self._map(properties)),
        }
        number = len(self._clients)
        self._clients[number] = classes[kind]()
        return number

    def close(self, *clients: int) -> None:
        for client in clients:
            self._clients[client].close(self._seconds(10))

    # -- producers

    def send(self, producer: int, topic: str, values: list[str], partition: int = 0) -> list[int]:
        """Return the offsets of the records."""
        client = self._clients[producer]
        record = self._kafka.clients.producer.ProducerRecord
        futures = [client.send(record(topic, self._int(partition), None, value)) for value in values]
        return [int(self._result(future).offset()) for future in futures]

    def send_pairs(self, producer: int, topic: str, pairs: list[list[str | None]], partition: int) -> None:
        """Send keys and values, of which None deletes its key."""
        client = self._clients[producer]
        record = self._kafka.clients.producer.ProducerRecord
        futures = [client.send(record(topic, self._int(partition), *pair)) for pair in pairs]
        for future in futures:
            self._result(future)

    def transaction(self, producer: int, *steps: str) -> None:
        """Do `init`, `begin`, `commit` or `abort`, one after the other."""
        client = self._clients[producer]
        calls = {
            "init": client.initTransactions,
            "begin": client.beginTransaction,
            "commit": client.commitTransaction,
            "abort": client.abortTransaction,
        }
        for step in steps:
            calls[step]()

    def send_offsets(self, producer: int, consumer: int) -> None:
        """Put a consumer's positions into a producer's transaction."""
        reader = self._clients[consumer]
        offsets = self._java.util.HashMap()
        for partition in reader.assignment():
            position = reader.position(partition)
            offsets.put(partition, self._kafka.clients.consumer.OffsetAndMetadata(position))
        self._clients[producer].sendOffsetsToTransaction(offsets, reader.groupMetadata())

    # -- consumers

    def subscribe(self, consumer: int, *topics: str) -> None:
        self._clients[consumer].subscribe(self._list(topics))

    def subscribe_to_pattern(self, consumer: int, pattern: str) -> None:
        self._clients[consumer].subscribe(self._java.util.regex.Pattern.compile(pattern))

    def subscribe_to_brokers_pattern(self, consumer: int, pattern: str) -> None:
        """KIP-848: the broker evaluates it."""
        self._clients[consumer].subscribe(self._kafka.clients.consumer.SubscriptionPattern(pattern))

    def assign(self, consumer: int, topic: str, *partitions: int) -> None:
        self._clients[consumer].assign(self._list([self._partition(topic, one) for one in partitions]))

    def poll(self, consumer: int, timeout_ms: int = 200) -> list[list[Any]]:
        records = self._clients[consumer].poll(self._java.time.Duration.ofMillis(timeout_ms))
        return [[str(r.topic()), int(r.partition()), int(r.offset()), str(r.value())] for r in records]

    def poll_pairs(self, consumer: int, timeout_ms: int = 200) -> list[list[Any]]:
        """Return partitions, keys and values."""
        records = self._clients[consumer].poll(self._java.time.Duration.ofMillis(timeout_ms))
        return [
            [int(r.partition()), str(r.key()), None if r.value() is None else str(r.value())] for r in records
        ]

    def poll_until(self, consumer: int, count: int) -> list[list[Any]]:
        end = self._java.lang.System.nanoTime() + self.WAIT_S * 10**9
        records: list[list[Any]] = []
        while len(records) < count and self._java.lang.System.nanoTime() < end:
            records += self.poll(consumer)
        return records + self.poll(consumer, 100)

    def poll_shared(self, consumer: int, answers: dict[str, str], timeout_ms: int = 500) -> list[list[Any]]:
        """Poll as a member of a share group that acknowledges explicitly.

        Args:
            consumer: the member.
            answers: the AcknowledgeType for the first delivery of a value that is not accepted.
            timeout_ms: how long to wait for records.
        Returns:
            Partition, offset, value, how often it was delivered, and what the commit threw for the partition.
        """
        client, types = self._clients[consumer], self._kafka.clients.consumer.AcknowledgeType
        records = list(client.poll(self._java.time.Duration.ofMillis(timeout_ms)))
        for one in records:
            is_first = int(one.deliveryCount().get()) == 1
            client.acknowledge(
                one, types.valueOf(answers.get(str(one.value()), "ACCEPT") if is_first else "ACCEPT")
            )
        thrown = {}
        for entry in client.commitSync().entrySet():
            if entry.getValue().isPresent():
                name = str(entry.getValue().get().getClass().getSimpleName())
                thrown[int(entry.getKey().partition())] = name
        return [
            [
                int(one.partition()),
                int(one.offset()),
                str(one.value()),
                int(one.deliveryCount().get()),
                thrown.get(int(one.partition())),
            ]
            for one in records
        ]

    def assignment(self, consumer: int) -> list[list[Any]]:
        return sorted(
            [str(one.topic()), int(one.partition())] for one in self._clients[consumer].assignment()
        )

    def seek(self, consumer: int, topic: str, partition: int, offset: int) -> None:
        self._clients[consumer].seek(
            self._partition(topic, partition), self._java.lang.Long(offset).longValue()
        )

    def seek_to_committed(self, consumer: int) -> None:
        """Read on from what is committed, on every assigned partition; from the start where nothing is."""
        client = self._clients[consumer]
        committed = client.committed(client.assignment())
        for partition in client.assignment():
            found = committed.get(partition)
            if found is None:
                client.seekToBeginning(self._java.util.Collections.singleton(partition))
            else:
                client.seek(partition, found)

    def commit(self, consumer: int) -> None:
        self._clients[consumer].commitSync()

    def committed(self, consumer: int, topic: str, partition: int = 0) -> int | None:
        one = self._partition(topic, partition)
        found = self._clients[consumer].committed(self._java.util.Collections.singleton(one)).get(one)
        return None if found is None else int(found.offset())

    def offsets(self, consumer: int, topic: str, time_ms: int, partition: int = 0) -> list[int | None]:
        """Return the first offset, the end, and the offset of a time."""
        client, one = self._clients[consumer], self._partition(topic, partition)
        only = self._java.util.Collections.singleton(one)
        times = self._java.util.Collections.singletonMap(one, self._java.lang.Long(time_ms))
        by_time = client.offsetsForTimes(times).get(one)
        ends = [client.beginningOffsets(only).get(one), client.endOffsets(only).get(one)]
        return [int(ends[0]), int(ends[1]), None if by_time is None else int(by_time.offset())]

    def topics_of(self, consumer: int) -> list[str]:
        return sorted(str(topic) for topic in self._clients[consumer].listTopics().keySet())

    def metric(self, client: int, name: str) -> float:
        """Return the sum of what a client has measured under this name, over all it is measured of."""
        measured = self._clients[client].metrics().entrySet()
        values = [float(one.getValue().metricValue()) for one in measured if str(one.getKey().name()) == name]
        return sum(value for value in values if value == value)

    # -- admin

    def create_topic(self, admin: int, name: str, partitions: int, configs: dict[str, str]) -> None:
        topic = self._kafka.clients.admin.NewTopic(name, partitions, self._java.lang.Short(1).shortValue())
        self._all(self._clients[admin].createTopics(self._list([topic.configs(self._map(configs))])))

    def delete_topic(self, admin: int, name: str) -> None:
        self._all(self._clients[admin].deleteTopics(self._list([name])))

    def list_topics(self, admin: int) -> list[str]:
        return sorted(str(name) for name in self._result(self._clients[admin].listTopics().names()))

    def describe_topic(self, admin: int, name: str) -> list[int]:
        """Return the leaders' ports, by partition."""
        result = self._clients[admin].describeTopics(self._list([name]))
        futures = result.values() if self._is_before_topic_ids(result) else result.topicNameValues()
        return [int(one.leader().port()) for one in self._result(futures.get(name)).partitions()]

    @staticmethod
    def _is_before_topic_ids(result: Any) -> bool:
        return not hasattr(result, "topicNameValues")

    def read_groups_from_the_start(self, admin: int, group: str) -> None:
        """Let a share group begin with the first record (its reset is the group's config)."""
        package, kafka = self._kafka.clients.admin, self._kafka.common.config.ConfigResource
        entry = package.ConfigEntry("share.auto.offset.reset", "earliest")
        operation = package.AlterConfigOp(entry, package.AlterConfigOp.OpType.SET)
        resource = kafka(kafka.Type.GROUP, group)
        singleton = self._java.util.Collections.singletonMap(resource, self._list([operation]))
        self._all(self._clients[admin].incrementalAlterConfigs(singleton))

    def create_partitions(self, admin: int, name: str, count: int) -> None:
        grown = self._kafka.clients.admin.NewPartitions.increaseTo(count)
        singleton = self._java.util.Collections.singletonMap(name, grown)
        self._all(self._clients[admin].createPartitions(singleton))

    def delete_records(self, admin: int, topic: str, offset: int) -> int:
        """Return the offset at which the partition begins now."""
        before = self._kafka.clients.admin.RecordsToDelete.beforeOffset(offset)
        partition = self._partition(topic, 0)
        singleton = self._java.util.Collections.singletonMap(partition, before)
        lows = self._clients[admin].deleteRecords(singleton).lowWatermarks()
        return int(self._result(lows.get(partition)).lowWatermark())

    def list_offsets(self, admin: int, topic: str) -> list[int]:
        """Return earliest and latest offset."""
        spec, found = self._kafka.clients.admin.OffsetSpec, []
        for which in (spec.earliest(), spec.latest()):
            partition = self._partition(topic, 0)
            singleton = self._java.util.Collections.singletonMap(partition, which)
            result = self._clients[admin].listOffsets(singleton).partitionResult(partition)
            found.append(int(self._result(result).offset()))
        return found

    def list_groups(self, admin: int) -> list[str]:
        listed = self._result(self._clients[admin].listConsumerGroups().all())
        return sorted(str(group.groupId()) for group in listed)

    def describe_group(self, admin: int, group: str) -> list[Any]:
        """Return the state, and each member's host and partitions."""
        result = self._clients[admin].describeConsumerGroups(self._list([group]))
        described = self._result(result.describedGroups().get(group))
        members = [
            [str(one.host()), sorted(str(tp) for tp in one.assignment().topicPartitions())]
            for one in described.members()
        ]
        state = described.groupState() if hasattr(described, "groupState") else described.state()
        return [str(state), members]

    def group_offsets(self, admin: int, group: str) -> dict[str, int]:
        result = self._clients[admin].listConsumerGroupOffsets(group)
        found = self._result(result.partitionsToOffsetAndMetadata())
        return {str(one.getKey()): int(one.getValue().offset()) for one in found.entrySet()}

    def alter_group_offsets(self, admin: int, group: str, topic: str, offset: int) -> None:
        to = self._kafka.clients.consumer.OffsetAndMetadata(offset)
        singleton = self._java.util.Collections.singletonMap(self._partition(topic, 0), to)
        self._all(self._clients[admin].alterConsumerGroupOffsets(group, singleton))

    def delete_group_offsets(self, admin: int, group: str, topic: str) -> None:
        only = self._java.util.Collections.singleton(self._partition(topic, 0))
        self._all(self._clients[admin].deleteConsumerGroupOffsets(group, only))

    def delete_group(self, admin: int, group: str) -> None:
        self._all(self._clients[admin].deleteConsumerGroups(self._list([group])))

    def describe_configs(self, admin: int, topic: str) -> dict[str, str]:
        resource = self._resource(topic)
        configs = self._result(self._clients[admin].describeConfigs(self._list([resource])).all())
        return {str(one.name()): str(one.value()) for one in configs.get(resource).entries()}

    def alter_config(self, admin: int, topic: str, name: str, value: str) -> None:
        package = self._kafka.clients.admin
        operation = package.AlterConfigOp(package.ConfigEntry(name, value), package.AlterConfigOp.OpType.SET)
        singleton = self._java.util.Collections.singletonMap(self._resource(topic), self._list([operation]))
        self._all(self._clients[admin].incrementalAlterConfigs(singleton))

    def describe_cluster(self, admin: int) -> list[Any]:
        """Return the cluster's ID, and each node's ID, host and port."""
        result = self._clients[admin].describeCluster()
        nodes = [[int(one.id()), str(one.host()), int(one.port())] for one in self._result(result.nodes())]
        return [str(self._result(result.clusterId())), nodes]

    # -- Java's values

    def _result(self, future: Any) -> Any:
        return future.get(self.WAIT_S, self._java.util.concurrent.TimeUnit.SECONDS)

    def _all(self, result: Any) -> None:
        self._result(result.all())

    def _partition(self, topic: str, partition: int) -> Any:
        return self._kafka.common.TopicPartition(topic, partition)

    def _resource(self, topic: str) -> Any:
        resource = self._kafka.common.config.ConfigResource
        return resource(resource.Type.TOPIC, topic)

    def _map(self, values: Mapping[str, str]) -> Any:
        result = self._java.util.HashMap()
        for key, value in values.items():
            result.put(key, value)
        return result

    def _list(self, values: Sequence[Any]) -> Any:
        result = self._java.util.ArrayList()
        for value in values:
            result.add(value)
        return result

    def _int(self, value: int) -> Any:
        return self._java.lang.Integer(value)

    def _seconds(self, value: int) -> Any:
        return self._java.time.Duration.ofSeconds(value)


def main() -> None:
    """Answer each line `[operation, arguments]` with `["gave", value]` or `["threw", class, message]`."""
    import jpype

    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # What Java prints is no answer.
    home = Path(sys.argv[1]).resolve().parents[1]
    library = next(home.glob("lib/**/libjvm.so"), None) or next(home.glob("lib/**/libjvm.*"))
    jpype.startJVM(str(library), *JVM_OPTIONS, classpath=os.environ["CLASSPATH"].split(":"))
    driver = Driver(jpype)
    for line in sys.stdin:
        operation, arguments = json.loads(line)
        try:
            answer = ["gave", getattr(driver, operation)(*arguments)]
        except jpype.JException as error:
            cause = error
            while str(cause.getClass().getSimpleName()) == "ExecutionException":
                cause = cause.getCause()
            answer = ["threw", str(cause.getClass().getSimpleName()), str(cause.getMessage())]
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
