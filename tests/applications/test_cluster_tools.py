"""Kafka's tools for the cluster itself: what a client may know of it, and what is not a tenant's to do."""

from __future__ import annotations

import json
import re

import pytest

from bifrost.wire.api_keys import ApiKey
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.pages.console import (
    ACLS,
    BROKER_API_VERSIONS,
    CLIENT_METRICS,
    CLUSTER,
    CONFIGS,
    DELEGATION_TOKENS,
    FEATURES,
    LEADER_ELECTION,
    METADATA_QUORUM,
    REASSIGN_PARTITIONS,
    TOPICS,
    Console,
    play_everywhere,
)

DENIED = "ClusterAuthorizationException"
NOT_SUPPORTED = "The node does not support"
BROKER = ("--entity-type", "brokers", "--entity-name", "1")


def test_cluster(consoles: list[Console]) -> None:
    def scenario(console: Console) -> None:
        console(CLUSTER, "cluster-id", prints="Cluster ID: CLUSTER")
        console(CLUSTER, "list-endpoints", prints="1 127.0.0.1 PORT rack-1 unfenced broker")
        console(ACLS, "--list", fails="No Authorizer is configured on the broker")
        console(
            ACLS, "--add", "--allow-principal", "User:x", "--topic", "t", "--force", fails="No Authorizer"
        )
        console(CLIENT_METRICS, "--list")
        console(TOPICS, "--create", "--topic", "tools-generate", "--partitions", "2")
        topics = console.file(
            "topics.json", json.dumps({"topics": [{"topic": "tools-generate"}], "version": 1})
        )
        generate = ["--topics-to-move-json-file", topics, "--broker-list", "1", "--generate"]
        console(REASSIGN_PARTITIONS, *generate, prints="Proposed partition reassignment configuration")

    play_everywhere(scenario, consoles)


def test_features(consoles: list[Console]) -> None:
    direct, *tenants = (console(FEATURES, "describe", prints="share.version") for console in consoles)

    for tenant in tenants:
        # How often they have changed is of the moment when it was asked.
        assert [line.partition("Epoch")[0] for line in tenant.lines] == [
            line.partition("Epoch")[0] for line in direct.lines
        ]


REFUSED = {
    "elect-leaders": (
        (LEADER_ELECTION, "--election-type", "preferred", "--topic", "tools-refused", "--partition", "0"),
        "Not authorized to perform leader election",
    ),
    "elect-all-leaders": (
        (LEADER_ELECTION, "--election-type", "unclean", "--all-topic-partitions"),
        "Not authorized to perform leader election",
    ),
    "move": ((REASSIGN_PARTITIONS, "--reassignment-json-file", "PLAN", "--execute"), DENIED),
    "verify-a-move": ((REASSIGN_PARTITIONS, "--reassignment-json-file", "PLAN", "--verify"), DENIED),
    "list-moves": ((REASSIGN_PARTITIONS, "--list"), DENIED),
    "alter-a-broker": ((CONFIGS, "--alter", *BROKER, "--add-config", "log.cleaner.threads=1"), DENIED),
    "describe-quotas": ((CONFIGS, "--describe", "--entity-type", "users"), DENIED),
    "alter-a-quota": (
        (CONFIGS, "--alter", "--client", "c", "--add-config", "producer_byte_rate=9"),
        DENIED,
    ),
    "alter-a-password": (
        (CONFIGS, "--alter", "--user", "u", "--add-config", "SCRAM-SHA-256=[password=x]"),
        DENIED,
    ),
    "alter-client-metrics": (
        (CLIENT_METRICS, "--alter", "--name", "m", "--metrics", "*", "--interval", "1000"),
        DENIED,
    ),
    "upgrade": ((FEATURES, "upgrade", "--feature", "group.version=1"), f"{NOT_SUPPORTED} UPDATE_FEATURES"),
    "describe-the-quorum": ((METADATA_QUORUM, "describe", "--status"), f"{NOT_SUPPORTED} DESCRIBE_QUORUM"),
    "create-a-token": (
        (DELEGATION_TOKENS, "--create", "--max-life-time-period", "-1"),
        "Delegation Token feature is not enabled",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_operators_tools_are_refused(consoles: list[Console], name: str) -> None:
    (tool, *arguments), reason = REFUSED[name]
    move = {"topic": "tools-refused", "partition": 0, "replicas": [1]}

    for console in consoles:
        console(TOPICS, "--create", "--topic", "tools-refused", "--if-not-exists")
    for console in consoles[1:]:
        plan = console.file("plan.json", json.dumps({"version": 1, "partitions": [move]}))
        words = [plan if argument == "PLAN" else argument for argument in arguments]
        console(tool, *words, fails=reason)


def test_a_broker_is_not_unregistered(consoles: list[Console]) -> None:
    for console in consoles[1:]:
        console(CLUSTER, "unregister", "--id", "1", prints="does not support the broker unregistration API")


def test_api_versions_are_a_part_of_the_brokers(
    consoles: list[Console], endpoints: dict[str, Endpoint]
) -> None:
    direct, *tenants = (offered(console) for console in consoles)

    for tenant, console in zip(tenants, consoles[1:], strict=True):
        for api, versions in tenant.items():
            assert set(versions) <= set(direct[api]), api
        with RawClient.authenticated(endpoints[console.owner]) as client:
            raw = {ApiKey(key): range(low, high + 1) for key, (low, high) in client.versions().items()}
        assert {api: versions for api, versions in raw.items() if versions} == tenant
    assert len(tenants[0]) > 50


def offered(console: Console) -> dict[ApiKey, range]:
    """Return what kafka-broker-api-versions prints: the versions of each API that the broker has."""
    printed = console(BROKER_API_VERSIONS, prints="ADDRESS (id: 1 rack: rack-1 isFenced: false) -> (")
    found = re.findall(r"\w+\((\d+)\): (\d+)(?: to (\d+))? \[", str(printed))
    return {ApiKey(int(key)): range(int(low), int(high or low) + 1) for key, low, high in found}
