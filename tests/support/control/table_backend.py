"""The application of the admin API in the test's own process, over a state that is in memory.

What is decided and written is what a real state decides (`state_change.decide`); brokers are in tests/kafka/control.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from starlette.testclient import TestClient

from bifrost.config.fields.control import Control
from bifrost.config.model import Config
from bifrost.control.application import build_application
from bifrost.control.clusters.group_state import GroupState, ListedGroup, TopicPartition
from bifrost.control.clusters.topic_state import TopicState
from bifrost.control.gate import Gate
from bifrost.state.state_change import Author, Change, Dependents, Unchanged
from bifrost.state.state_table import StateLimits, StateTable
from support.control.asking import TOKENS, Asking
from support.journal.loading import load
from support.state_log import decided, in_log

CONTROL: dict[str, Any] = {
    "port": 9405,
    "admins": [
        {"name": "alice", "role": "operator", "token_file": "alice.token"},
        {"name": "bob", "token_file": "bob.token"},
    ],
}


class TableBackend:
    """A backend whose state is a table, which its own changes alter."""

    def __init__(self, limits: StateLimits | None = None) -> None:
        self.table = StateTable(limits or StateLimits(1000, 10_000, 1_000_000))
        self.is_current, self.problem, self.lag = True, "", 0
        self.topics: dict[str, list[str]] = {}
        """The physical topics by tenant."""
        self.states: dict[str, TopicState] = {}
        """What is known of topics by their physical names; others have one partition."""
        self.unalterable: dict[str, str] = {}
        """Errors of topics whose configs a broker does not change."""
        self.undeletable: dict[str, str] = {}
        """Errors of topics that a broker does not delete."""
        self.groups: dict[str, GroupState] = {}
        """The groups of all tenants by their physical names."""
        self.ends: dict[TopicPartition, tuple[int, int]] = {}
        """The first offset and the end of each partition."""
        self.group_error: str | None = None
        """What a coordinator answers to a deletion or a commit."""
        self.before_change: list[Any] = []
        """Called one after the other, each before a change: other writers, or errors."""
        self._offset = 0

    async def topics_of(self, tenant: str) -> list[str]:
        return list(self.topics.get(tenant, ()))

    async def delete_topics(self, tenant: str, names: Sequence[str]) -> dict[str, str]:
        errors = {name: error for name, error in self.undeletable.items() if name in names}
        self.topics[tenant] = [one for one in self.topics[tenant] if one not in names or one in errors]
        return errors

    async def create_topic(
        self, tenant: str, name: str, wanted: TopicState, *, validate_only: bool
    ) -> TopicState | str:
        if name in self.topics.get(tenant, ()):
            return "TOPIC_ALREADY_EXISTS: it is there"
        made = TopicState(abs(wanted.partitions), abs(wanted.replication_factor), wanted.configs)
        if not validate_only:
            self.topics.setdefault(tenant, []).append(name)
            self.states[name] = made
        return made

    async def describe_topics(self, tenant: str, names: Sequence[str]) -> dict[str, TopicState]:
        known = self.topics.get(tenant, ())
        return {name: self.states.get(name, TopicState(1, 1, {})) for name in names if name in known}

    async def alter_topic_configs(
        self, tenant: str, changes: Mapping[str, Mapping[str, str | None]]
    ) -> dict[str, str]:
        for name, configs in changes.items():
            if name not in self.unalterable:
                state = self.states.get(name, TopicState(1, 1, {}))
                changed = {**state.configs, **configs}
                own = {config: value for config, value in changed.items() if value is not None}
                self.states[name] = replace(state, configs=own)
        return {name: error for name, error in self.unalterable.items() if name in changes}

    async def list_groups(self, _tenant: str) -> list[ListedGroup]:
        return [ListedGroup(name, one.state, "classic") for name, one in self.groups.items()]

    async def describe_group(self, _tenant: str, group_id: str) -> GroupState | None:
        return self.groups.get(group_id)

    async def delete_group(self, _tenant: str, group_id: str) -> str | None:
        if self.group_error is None:
            del self.groups[group_id]
        return self.group_error

    async def commit_offsets(
        self, _tenant: str, group_id: str, offsets: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, str]:
        if self.group_error is not None:
            return dict.fromkeys(offsets, self.group_error)
        before = self.groups.get(group_id, GroupState("Empty", (), {}))
        self.groups[group_id] = replace(before, offsets={**before.offsets, **offsets})
        return {}

    async def partitions_of(self, _tenant: str, topics: Sequence[str]) -> list[TopicPartition]:
        return sorted(one for one in self.ends if one[0] in topics)

    async def offsets_at(
        self, _tenant: str, partitions: Sequence[TopicPartition], timestamp: int
    ) -> dict[TopicPartition, int]:
        """Answer with the first offset or the end; a record's time is its offset."""
        found = {one: self.ends[one] for one in partitions if one in self.ends}
        match timestamp:
            case -1:
                return {one: end for one, (_, end) in found.items()}
            case -2:
                return {one: first for one, (first, _) in found.items()}
        return {one: max(timestamp, first) for one, (first, end) in found.items() if timestamp < end}

    async def change(
        self,
        changes: Sequence[Change],
        on_behalf_of: str,
        unchanged: Sequence[Unchanged] = (),
        dependents: Dependents | None = None,
    ) -> str:
        if self.before_change:
            self.before_change.pop(0)()
        more = () if dependents is None else dependents(self.table)
        self.put([*changes, *more], on_behalf_of, unchanged)
        return "change"

    def put(
        self, changes: Sequence[Change], on_behalf_of: str = "Admin:test", unchanged: Sequence[Unchanged] = ()
    ) -> None:
        """Change the table as a commit of a writer would."""
        made = decided(self.table, changes, unchanged, Author("test", on_behalf_of), 1_000, "change")
        records = in_log(made, self._offset)
        self._offset += len(records)
        changed, ignored = self.table.apply(records)
        assert not ignored
        for call in self.table.calls(changed):
            call()


def config_with(folder: Path, *, tenant: Mapping[str, Any] | None = None, **control: Any) -> Config:
    """Return a configuration with the tenants acme and globex, and the admins alice and bob.

    Args:
        folder: where its files are written.
        tenant: further keys of acme.
        control: further keys of `proxy.control`.
    """
    for name, token in TOKENS.items():
        (folder / f"{name}.token").write_text(token)
    listeners = [
        {
            "name": name,
            "security_protocol": "PLAINTEXT",
            "tenant": name,
            "port_range": {"advertised_host": "localhost", "bootstrap_port": port},
        }
        for name, port in (("acme", 9092), ("globex", 9192))
    ]
    proxy = {"listener_sets": listeners, "state": {}, "control": CONTROL | control}
    text = yaml.safe_dump(
        {
            "proxy": proxy,
            "upstream": {"bootstrap": ["kafka:9092"]},
            "tenants": [{"name": "acme", **(tenant or {})}, {"name": "globex"}],
        }
    )
    (folder / "proxy.yaml").write_text(text)
    return load(folder / "proxy.yaml")


def settings_with(folder: Path, **control: Any) -> Control:
    """Return the section `proxy.control` of that configuration."""
    found = config_with(folder, **control).proxy.control
    assert found is not None
    return found


class Api(Asking[Any]):
    """The application and its clients."""

    def __init__(self, folder: Path, **control: Any) -> None:
        self.backend = TableBackend()
        self.gate: Gate = build_application(config_with(folder, **control), self.backend)
        self.client = TestClient(self.gate, raise_server_exceptions=False)

    def send(self, method: str, path: str, body: Any, headers: dict[str, str], **_how: Any) -> Any:
        return self.client.request(method, path, json=body, headers=headers)
