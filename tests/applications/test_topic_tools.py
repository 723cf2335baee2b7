"""Kafka's tools for topics, their records and their configs print for a tenant what they print for an owner."""

from __future__ import annotations

import json

from support.pages.console import (
    CONFIGS,
    CONSUMER,
    DELETE_RECORDS,
    GET_OFFSETS,
    LOG_DIRS,
    TOPICS,
    Console,
    play_everywhere,
)


def test_topics(consoles: list[Console]) -> None:
    def scenario(console: Console) -> None:
        create = [
            "--create",
            "--topic",
            "tools-topics",
            "--partitions",
            "3",
            "--config",
            "retention.ms=60000",
        ]
        console(TOPICS, *create, prints="Created topic tools-topics.")
        console(TOPICS, *create, fails="Topic 'tools-topics' already exists.")
        console(TOPICS, *create, "--if-not-exists")
        console(
            TOPICS, "--create", "--topic", "tools-other", "--replication-factor", "2", fails="factor of 2"
        )
        console(TOPICS, "--create", "--topic", "no/name", fails="Topic name is invalid")
        console(TOPICS, "--describe", "--topic", "tools-topics", prints="PartitionCount: 3")
        console(
            TOPICS, "--describe", "--topic", "tools-top.*", "--topics-with-overrides", prints="retention.ms"
        )
        console(TOPICS, "--alter", "--topic", "tools-topics", "--partitions", "5")
        console(TOPICS, "--alter", "--topic", "tools-topics", "--partitions", "2", fails="currently has 5")
        console(TOPICS, "--describe", "--exclude-internal", prints="PartitionCount: 5")
        console(TOPICS, "--list", prints="tools-topics")
        console(TOPICS, "--delete", "--topic", "tools-topics")
        console.until_gone("tools-topics", TOPICS, "--list")
        console(TOPICS, "--delete", "--topic", "tools-topics", fails="does not exist as expected")
        console(TOPICS, "--describe", "--topic", "tools-topics", fails="does not exist as expected")

    play_everywhere(scenario, consoles)


def test_configs(consoles: list[Console]) -> None:
    def scenario(console: Console) -> None:
        topic = ["--entity-type", "topics", "--entity-name", "tools-configs"]
        group = ["--entity-type", "groups", "--entity-name", "tools-configs-group"]
        configs = "retention.ms=70000,cleanup.policy=[compact,delete]"
        console(TOPICS, "--create", "--topic", "tools-configs")
        console(CONFIGS, "--alter", *topic, "--add-config", configs, prints="Completed updating config")
        console(CONFIGS, "--alter", *topic, "--add-config", "retention.ms=never", fails="Not a number")
        console(CONFIGS, "--alter", *topic, "--add-config", "no.such=1", fails="Unknown topic config name")
        console.until("cleanup.policy=compact,delete", CONFIGS, "--describe", *topic)
        console(CONFIGS, "--describe", *topic, "--all", prints="max.message.bytes=1048588")
        console(CONFIGS, "--alter", *topic, "--delete-config", "retention.ms")
        console.until_gone("retention.ms", CONFIGS, "--describe", "--topic", "tools-configs")
        console(CONFIGS, "--describe", "--topic", "tools-absent", prints="doesn't exist")
        console(CONFIGS, "--alter", *group, "--add-config", "consumer.session.timeout.ms=46000")
        console.until("consumer.session.timeout.ms=46000", CONFIGS, "--describe", *group)
        console(CONFIGS, "--describe", "--entity-type", "groups", prints="tools-configs-group")
        console(CONFIGS, "--alter", *group, "--delete-config", "consumer.session.timeout.ms")
        console.until("doesn't exist", CONFIGS, "--describe", *group)

    play_everywhere(scenario, consoles)


def test_offsets_and_records(consoles: list[Console]) -> None:
    def scenario(console: Console) -> None:
        console(TOPICS, "--create", "--topic", "tools-records", "--partitions", "2")
        console(TOPICS, "--create", "--topic", "tools-records-too")
        console.produce("tools-records", "one", "two", "three", "four", "five")
        console.produce("tools-records-too", "six")
        for time in ("latest", "earliest", "max-timestamp", "earliest-local", "0"):
            console(
                GET_OFFSETS, "--topic", "tools-records-too", "--time", time, prints="tools-records-too:0:"
            )
        console.produce("tools-records-too", "seven")
        console(GET_OFFSETS, "--topic", "tools-records.*", "--time", "latest-tiered")
        console(
            GET_OFFSETS, "--topic-partitions", "tools-records:0-2,tools-absent", prints="tools-records:1:"
        )
        console(GET_OFFSETS, "--topic", "tools-absent", fails="Could not match any topic-partitions")
        console(GET_OFFSETS, prints="tools-records-too:0:2")
        cut = {"topic": "tools-records-too", "partition": 0, "offset": 1}
        for offsets, answer in ((cut, "low_watermark: 1"), (cut | {"offset": 17}, "OffsetOutOfRange")):
            text = json.dumps({"version": 1, "partitions": [offsets]})
            console(DELETE_RECORDS, "--offset-json-file", console.file("offsets.json", text), prints=answer)
        console(
            GET_OFFSETS, "--topic", "tools-records-too", "--time", "earliest", prints="tools-records-too:0:1"
        )
        left = ["--topic", "tools-records-too", "--from-beginning", "--max-messages", "1"]
        console(CONSUMER, *left, prints="OWNER seven")
        named = "tools-records,tools-records-too,tools-absent"
        console(LOG_DIRS, "--describe", "--topic-list", named, prints='"partition": "tools-records-too-0"')
        console(LOG_DIRS, "--describe", prints='"partition": "tools-records-too-0"')
        console(LOG_DIRS, "--describe", "--broker-list", "1,7", fails="do not exist")

    play_everywhere(scenario, consoles)
