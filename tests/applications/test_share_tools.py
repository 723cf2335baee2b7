"""Share groups (KIP-932) with Kafka's own tools: a tenant's are like an owner's."""

from __future__ import annotations

from support.pages.console import (
    CONFIGS,
    GROUPS,
    SHARE_CONSUMER,
    SHARE_GROUPS,
    TOPICS,
    Console,
    play_everywhere,
)

EPOCHS = ("MEMBER-EPOCH", "GROUP-EPOCH", "ASSIGNMENT-EPOCH")


def test_share_groups(consoles: list[Console]) -> None:
    topic, group = "tools-share", "tools-share-group"
    settings = ["--alter", "--entity-type", "groups", "--entity-name", group]
    describe = ["--describe", "--group", group]
    reset = ["--reset-offsets", "--group", group, "--topic", topic]

    def scenario(console: Console) -> None:
        console(TOPICS, "--create", "--topic", topic)
        console(CONFIGS, *settings, "--add-config", "share.auto.offset.reset=earliest")
        entity = settings[1:]
        console.until("share.auto.offset.reset=earliest", CONFIGS, "--describe", *entity)
        console.produce(topic, "one", "two", "three")
        consume = ["--topic", topic, "--group", group, "--max-messages"]
        console(SHARE_CONSUMER, *consume, "2", "--command-property", "max.poll.records=2", prints="OWNER two")
        console(SHARE_CONSUMER, *consume, "1", prints="OWNER three")
        console(SHARE_GROUPS, "--list", prints=group)
        console(SHARE_GROUPS, "--list", "--state", prints=f"{group} Empty")
        console(GROUPS, "--list", prints=f"{group} Share share")
        console(SHARE_GROUPS, *describe, "--state", prints=f"{group} ADDRESS (1) Empty 0")
        console(SHARE_GROUPS, *describe, "--offsets", prints=f"{group} {topic} 0")
        console(SHARE_GROUPS, *describe, "--members", prints="no active members")
        console(SHARE_GROUPS, *reset, "--to-earliest", "--dry-run", prints=f"{topic} 0 0")
        console(SHARE_GROUPS, *reset, "--to-earliest", "--execute", prints=f"{topic} 0 0")
        console(SHARE_CONSUMER, *consume, "3", prints="OWNER one")
        console(SHARE_GROUPS, "--delete-offsets", "--group", group, "--topic", topic, prints="Successful")
        console(SHARE_GROUPS, "--delete", "--group", group, prints="successful")
        console(SHARE_GROUPS, "--delete", "--group", group, prints="is not a share group")
        console(SHARE_GROUPS, *describe, prints=f"Group {group} not found")
        console(CONFIGS, *settings, "--delete-config", "share.auto.offset.reset")

    play_everywhere(scenario, consoles)


def test_active_share_members(consoles: list[Console]) -> None:
    topic, group = "tools-share-members", "tools-share-active"
    describe = ["--describe", "--group", group]

    def scenario(console: Console) -> None:
        console(TOPICS, "--create", "--topic", topic, "--partitions", "2")
        with console.running(SHARE_CONSUMER, "--topic", topic, "--group", group):
            console.until("console 2", SHARE_GROUPS, *describe, "--members")
            console(SHARE_GROUPS, *describe, "--members", "--verbose", made_up=EPOCHS, prints=f"{topic}:0,1")
            console(SHARE_GROUPS, *describe, "--state", "--verbose", made_up=EPOCHS, prints="Stable")
            console(SHARE_GROUPS, "--list", "--state", "stable", prints=group)
            reset = ["--reset-offsets", "--group", group, "--topic", topic, "--to-latest", "--execute"]
            console(SHARE_GROUPS, *reset, fails="is not empty")
            console(SHARE_GROUPS, "--delete", "--group", group, prints="is not EMPTY")

    play_everywhere(scenario, consoles)
