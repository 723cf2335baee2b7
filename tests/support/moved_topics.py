"""Moves and shares of topics in the state of running gateways, made as `bifrost control` makes them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from bifrost.state.state_change import Author, Change
from bifrost.tenancy.namespaces.alias_table import KIND, NAME_KIND, Access, AliasTable, Place
from support.clients.endpoint import Endpoint
from support.gateways.gateway_process import HOST, GatewayProcess
from support.state_clients import reading

WITHIN_S = 60
"""A change is in force within a second; a slow machine may take longer."""

PASSWORD = "some-password"


@dataclass
class MovedTopics:
    """A gateway whose state is changed."""

    bootstrap: str
    state_topic: str
    gateway: GatewayProcess

    def endpoint(self, user: str) -> Endpoint:
        """Return where a user comes in: a tenant's own, or one of `bound_users`."""
        return self.gateway.endpoint(user) if "." not in user else self._bound(user)

    def _bound(self, user: str) -> Endpoint:
        return Endpoint(HOST, self.gateway.bootstrap_port, user, PASSWORD)

    def move(self, source: str, target: str, *, keeps_name: bool = False) -> None:
        self._change(lambda table: table.move(_place(source), _place(target), keeps_name=keeps_name))

    def share(self, source: str, target: str, access: Access = Access.READ) -> None:
        self._change(lambda table: table.share(_place(source), _place(target), access))

    def unshare(self, source: str, target: str) -> None:
        self._change(lambda table: table.revoke(_place(source), _place(target)))

    def topics_of(self, user: str) -> set[str]:
        """Return the topics that a user's client lists.

        It asks again when its connection ends, as the first share with a tenant without ACLs does.
        """
        client, ends = AdminClient(self.endpoint(user).for_confluent), time.monotonic() + WITHIN_S
        while True:
            try:
                return set(client.list_topics(timeout=30).topics)
            except KafkaException as refusal:
                if refusal.args[0].code() != KafkaError._TRANSPORT or time.monotonic() > ends:
                    raise

    def await_topics(self, user: str, *, has: str = "", lacks: str = "") -> None:
        """Wait until a user's client lists a topic, or lists it no longer."""
        ends = time.monotonic() + WITHIN_S
        while True:
            found = self.topics_of(user)
            if (not has or has in found) and lacks not in found:
                return
            assert time.monotonic() < ends, found
            time.sleep(0.1)

    def _change(self, plan: Callable[[AliasTable], list[Change]]) -> None:
        async def write() -> None:
            async with reading(self.bootstrap, self.state_topic) as one:
                table = AliasTable([*one.table.of_kind(KIND), *one.table.of_kind(NAME_KIND)])
                await one.writer.change(plan(table), Author("test/1", "Admin:test"))

        asyncio.run(write())


def bound_users(directory: File, **namespaces: str) -> Callable[[dict[str, Any]], None]:
    """Return what gives the first tenant a user for each of these namespaces, called `<tenant>.<keyword>`."""

    def adjust(configuration: dict[str, Any]) -> None:
        tenant = configuration["tenants"][0]
        password_file = directory / "bound.password"
        password_file.write_text(PASSWORD)
        tenant["auth"]["credentials"] += [
            {
                "username": f"{tenant['name']}.{user}",
                "password_file": str(password_file),
                "namespace": namespace,
            }
            for user, namespace in namespaces.items()
        ]

    return adjust


def _place(text: str) -> Place:
    return Place.read(text)
