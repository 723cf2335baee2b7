"""Kafka's tools for consumer groups print for a tenant what they print for an owner: classic groups and KIP-848's."""

from __future__ import annotations

import pytest

from support.clients.group_member import member_of
from support.pages.console import CONSUMER, CONSUMER_GROUPS, GROUPS, TOPICS, Console, play_everywhere

EPOCHS = ("CURRENT-EPOCH", "TARGET-EPOCH", "GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH")


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups(consoles: list[Console], protocol: str) -> None:
    topic, other, group = (f"tools-{protocol}-{kind}" for kind in ("one", "two", "group"))
    consume = ["--group", group, "--from-beginning", "--command-property", f"group.protocol={protocol}"]
    offsets = ["--reset-offsets", "--group", group]

    def scenario(console: Console) -> None:
        console(TOPICS, "--create", "--topic", topic)
        console(TOPICS, "--create", "--topic", other)
        console.produce(topic, "one", "two", "three")
        console.produce(other, "four", "five")
        console(CONSUMER, *consume, "--topic", topic, "--max-messages", "3", prints="OWNER three")
        console(CONSUMER, *consume, "--topic", other, "--max-messages", "1", prints="OWNER four")

        console(CONSUMER_GROUPS, "--list", prints=group)
        console(CONSUMER_GROUPS, "--list", "--state", prints=f"{group} Empty")
        console(CONSUMER_GROUPS, "--list", "--type", protocol, prints=group)
        console(GROUPS, "--list", prints=f"{group} {protocol.capitalize()} consumer")
        console(CONSUMER_GROUPS, "--describe", "--group", group, prints=f"{group} {topic} 0 3 3 0")
        console(CONSUMER_GROUPS, "--describe", "--group", group, "--state", prints=f"{group} ADDRESS (1)")
        console(CONSUMER_GROUPS, "--describe", "--group", group, "--members", prints="has no active members")
        console(CONSUMER_GROUPS, "--describe", "--all-groups", prints=f"{group} {other} 0 1 2 1")
        console(
            CONSUMER_GROUPS, "--describe", "--group", "tools-absent", prints="Group tools-absent not found"
        )

        console(
            CONSUMER_GROUPS, *offsets, "--topic", topic, "--to-earliest", "--dry-run", prints=f"{topic} 0 0"
        )
        console(
            CONSUMER_GROUPS, *offsets, "--topic", f"{topic}:0", "--shift-by", "-2", "--execute", prints=" 0 1"
        )
        exported = console(CONSUMER_GROUPS, *offsets, "--all-topics", "--to-current", "--export", "--dry-run")
        assert exported.lines == (f"{topic},0,1", f"{other},0,1")
        plan = console.file("offsets.csv", f"{topic},0,2\n")
        console(CONSUMER_GROUPS, *offsets, "--from-file", plan, "--execute", prints=f"{topic} 0 2")
        console(CONSUMER, *consume, "--topic", topic, "--max-messages", "1", prints="OWNER three")
        console(CONSUMER_GROUPS, "--delete-offsets", "--group", group, "--topic", topic, prints="Successful")
        console(
            CONSUMER_GROUPS, "--delete-offsets", "--group", group, "--topic", "tools-absent", prints="absent"
        )
        described = console(
            CONSUMER_GROUPS, "--describe", "--group", group, prints=f"{group} {other} 0 1 2 1"
        )
        assert topic not in described
        console(CONSUMER_GROUPS, "--delete", "--group", group, prints="successful")
        console(CONSUMER_GROUPS, "--delete", "--group", group, prints="GroupIdNotFoundException")
        console.until_gone(group, CONSUMER_GROUPS, "--list")

    play_everywhere(scenario, consoles)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_active_members(consoles: list[Console], protocol: str) -> None:
    topic, group = f"tools-{protocol}-members", f"tools-{protocol}-active"

    def scenario(console: Console) -> None:
        console(TOPICS, "--create", "--topic", topic, "--partitions", "2")
        console.produce(topic, "one")
        with member_of(console.endpoint, group, topic, protocol=protocol, client_id="console-member"):
            console(CONSUMER_GROUPS, "--describe", "--group", group, prints="console-member")
            console(CONSUMER_GROUPS, "--describe", "--group", group, "--members", prints="console-member 2")
            verbose = ["--members", "--verbose"]
            console(
                CONSUMER_GROUPS,
                "--describe",
                "--group",
                group,
                *verbose,
                made_up=EPOCHS,
                prints=topic,
            )
            console(
                CONSUMER_GROUPS,
                "--describe",
                "--group",
                group,
                "--state",
                "--verbose",
                made_up=EPOCHS,
                prints="Stable",
            )
            reset = ["--reset-offsets", "--group", group, "--all-topics", "--to-earliest", "--execute"]
            console(CONSUMER_GROUPS, *reset, prints="is inactive, but the current state is Stable")
            console(CONSUMER_GROUPS, "--delete", "--group", group, prints="The group is not empty")
        console(CONSUMER_GROUPS, "--delete", "--group", group, prints="successful")

    play_everywhere(scenario, consoles)
