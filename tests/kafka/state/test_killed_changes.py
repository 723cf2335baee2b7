"""Gateways change ACLs and admin APIs change namespaces and move a topic; one of each is killed at random points.

Every change has several records, so one that is half there would be seen: ACLs come in pairs, a namespace with the one
above it, and a move with the record of the topic's new place. BIFROST_STATE_KILLS: how often (`make state-kills`).
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import itertools
import os
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.acls.acl_binding import Operation, PatternType, Permission, ResourceType
from bifrost.tenancy.namespaces.alias_table import KIND as ALIAS
from bifrost.tenancy.namespaces.alias_table import NAME_KIND, AliasTable
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import CreateAclsRequest, DescribeAclsRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import create_topic
from support.control.control_process import ControlProcess
from support.gateways.fleet import Fleet
from support.gateways.gateway_process import GatewayProcess, TenantSpec
from support.gateways.worker_gateway import await_true
from support.state_clients import reading

KILLS = int(os.environ.get("BIFROST_STATE_KILLS", "1"))
TENANT = TenantSpec("killed")
KILLED = OSError, http.client.HTTPException
"""What a client of an admin API meets that is killed, also within an answer."""
PLACES = tuple(f"killed:{side}/moved" for side in ("left", "right"))

pytestmark = pytest.mark.timeout(90 * KILLS + 240)


@dataclass
class Work:
    """What goes on while processes are killed; a context manager."""

    gateways: list[Endpoint]
    controls: list[ControlProcess]
    numbers: itertools.count[int]
    done: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Work:
        jobs: list[Callable[[], None]] = [lambda one=one: self._acls(one) for one in self.gateways]  # type: ignore[misc]
        jobs += [lambda one=one: self._namespaces(one) for one in self.controls]  # type: ignore[misc]
        jobs += [lambda one=one: self._moves(one) for one in self.controls]  # type: ignore[misc]
        self._threads = [threading.Thread(target=job, daemon=True) for job in jobs]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(90)
            assert not thread.is_alive()

    def count(self, kind: str) -> int:
        """Return how many changes of a kind were answered as done."""
        return sum(one.startswith(kind) for one in list(self.done))

    def _acls(self, endpoint: Endpoint) -> None:
        with contextlib.suppress(OSError, EOFError), RawClient.authenticated(endpoint) as client:
            while not self._stop.is_set():
                number = next(self.numbers)
                creations = [creation(f"topic-{number}-{side}") for side in ("one", "other")]
                results = client.request(CreateAclsRequest(creations=creations), 3).results
                if all(one.error_code == ErrorCode.NONE for one in results):
                    self.done.append(f"acl {number}")

    def _namespaces(self, control: ControlProcess) -> None:
        with contextlib.suppress(*KILLED):
            while not self._stop.is_set():
                name = f"killed:n{next(self.numbers)}"
                if control.ask("POST", "/v1/namespaces", {"name": f"{name}:below"}).status == 201:
                    self.done.append(f"created {name}")
                    if control.ask("DELETE", f"/v1/namespaces/{name}?recursive=true").status == 200:
                        self.done.append(f"deleted {name}")

    def _moves(self, control: ControlProcess) -> None:
        with contextlib.suppress(*KILLED):
            for source, target in itertools.cycle([PLACES, PLACES[::-1]]):
                if self._stop.is_set():
                    return
                asked = {"source": source, "target": target}
                if control.ask("POST", "/v1/topics/move", asked).status == 200:
                    self.done.append(f"moved {target}")


def creation(name: str) -> Any:
    return CreateAclsRequest.AclCreation(
        resource_type=ResourceType.TOPIC,
        resource_name=name,
        resource_pattern_type=PatternType.LITERAL,
        principal="User:reader",
        host="*",
        operation=Operation.READ,
        permission_type=Permission.ALLOW,
    )


def acls_told(endpoint: Endpoint) -> set[str]:
    """Return the names of which a gateway tells ACLs."""
    every = DescribeAclsRequest(
        resource_type_filter=ResourceType.TOPIC,
        resource_name_filter=None,
        pattern_type_filter=PatternType.ANY,
        principal_filter=None,
        host_filter=None,
        operation=Operation.ANY,
        permission_type=Permission.ANY,
    )
    with RawClient.authenticated(endpoint) as client:
        return {one.resource_name for one in client.request(every, 3).resources}


def namespaces_told(control: ControlProcess) -> list[str]:
    return [one["name"] for one in control.ask("GET", "/v1/namespaces").body["namespaces"]]


def moved_told(control: ControlProcess) -> Any:
    return control.ask("GET", "/v1/topics").body


async def check_whole(bootstrap: str, topic: str) -> set[str]:
    """Check that no change is half there; return the names that ACLs are about."""
    async with reading(bootstrap, topic, creates=False) as client:
        assert list(client.reader.lost) == []
        table = client.table
        kinds: dict[str, list[StateRecord]] = {
            kind: list(table.of_kind(kind)) for kind in ("acl", "namespace", ALIAS, NAME_KIND)
        }
    names = {str((one.body or {})["name"]) for one in kinds["acl"]}
    pairs = {name.rpartition("-")[0] for name in names}
    assert names == {f"{pair}-{side}" for pair in pairs for side in ("one", "other")}
    stored = {one.key.name for one in kinds["namespace"]}
    assert {one.rpartition(":")[0] for one in stored} <= stored | {"killed"}
    aliases = AliasTable([*kinds[ALIAS], *kinds[NAME_KIND]])
    places = {
        str(place): str(home)
        for home in aliases.homes()
        for place in aliases.places_of(home)
        if place != home
    }
    assert {one.key.name: (one.body or {})["of"] for one in kinds[NAME_KIND]} == places
    return names


def test_the_state_is_whole_and_equal_after_processes_were_killed(
    kafka: EmbeddedKafka, tmp_path: Path
) -> None:
    fleet, topic = Fleet(tmp_path, kafka.bootstrap), f"__state-{time.time_ns()}"
    fleet.tenants = [TENANT]
    chance, numbers = random.Random(KILLS), itertools.count(1)
    directories = (tmp_path / f"control-{number}" for number in itertools.count())

    def start_gateway() -> GatewayProcess:
        def adjust(configuration: dict[str, Any]) -> None:
            [tenant] = configuration["tenants"]
            tenant["acls"] = {"super_users": ["User:killed"], "max_stored": 100_000}

        return fleet.start(quotas={}, adjust=adjust, state={"topic": topic})

    def start_control() -> ControlProcess:
        control = ControlProcess(next(directories), kafka.bootstrap, topic, tenants=[{"name": "killed"}])
        control.start()
        return control

    gateways, controls = [start_gateway(), start_gateway()], [start_control(), start_control()]
    try:
        for side in ("left", "right"):
            assert controls[0].ask("POST", "/v1/namespaces", {"name": f"killed:{side}"}).status == 201
        with RawClient.authenticated(gateways[0].broker_endpoint("killed")) as client:
            create_topic(client, "left:moved")
        for _ in range(KILLS):
            endpoints = [one.broker_endpoint("killed") for one in gateways]
            with Work(endpoints, controls, numbers) as work:
                for kind in ("acl", "created", "moved"):
                    await_true(lambda work=work, kind=kind: work.count(kind) >= 3, f"{kind} goes on", 90)
                time.sleep(chance.uniform(0, 0.5))
                fleet.kill(gateways[0])
                controls[0].kill()
                before = {kind: work.count(kind) for kind in ("acl", "created", "moved")}
                for kind, count in before.items():
                    await_true(
                        lambda work=work, kind=kind, count=count: work.count(kind) > count + 1,
                        f"{kind} goes on at the other",
                        90,
                    )
            gateways, controls = [gateways[1], start_gateway()], [controls[1], start_control()]

            names = asyncio.run(check_whole(kafka.bootstrap, topic))
            acknowledged = {one.removeprefix("acl ") for one in work.done if one.startswith("acl ")}
            assert {f"topic-{one}-one" for one in acknowledged} <= names, "what was answered as done is there"
            for gateway in gateways:
                endpoint = gateway.broker_endpoint("killed")
                await_true(
                    lambda one=endpoint, names=names: acls_told(one) == names, "its ACLs are equal", 60
                )
            listed = [namespaces_told(one) for one in controls]
            assert listed[0] == listed[1]
            assert moved_told(controls[0]) == moved_told(controls[1])
    finally:
        for control in controls:
            control.stop()
    fleet.end()
