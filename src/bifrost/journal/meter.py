"""Counts one connection's requests and writes its events down, from its authentication to its end."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bifrost.journal.identity import UNNAMED, Identity, Software
from bifrost.journal.journal import Journal
from bifrost.journal.topic_names import TopicNames
from bifrost.journal.usage import Usage
from bifrost.journal.usage_table import Client

MAX_SOFTWARE_LENGTH = 128
"""Most characters of a client software's name or version; the rest is cut off."""


class Meter:
    """The meter of one authenticated connection."""

    def __init__(
        self,
        journal: Journal,
        identity: Identity,
        topics: TopicNames,
        address: str | None,
    ) -> None:
        """Begin; counting starts when the first request gives the client ID.

        Args:
            journal: the gateway's.
            identity: the client's identity without its client ID.
            topics: resolves the topics that the client names.
            address: the client's, host:port.
        """
        self._journal, self._identity, self._topics = journal, identity, topics
        self._address = address
        self._began_ms = journal.now_ms()
        self._client: Client | None = None

    @property
    def identity(self) -> Identity:
        """The client's identity, as far as it is known by now."""
        return self._identity

    def is_of(self, client_id: bytes | None) -> bool:
        """Whether the requests are counted for this client ID already."""
        return self._client is not None and self._identity.client_id == client_id

    def become(self, client_id: bytes | None) -> None:
        """Count for another client ID from now on."""
        self._change(replace(self._identity, client_id=client_id))

    def name(self, software: Software) -> bool:
        """Note the client's software; return whether the client is counted under another identity from now on."""
        named = bounded_software(software)
        if named == self._identity.software:
            return False
        if self._client is None:
            self._identity = replace(self._identity, software=named)
        else:
            self._change(replace(self._identity, software=named))
        return True

    def usage(self, api_key: int, api_version: int) -> Usage:
        """Return the counters of the client's messages of an API and version."""
        assert self._client is not None
        return self._client.usage(api_key, api_version)

    def event(self, type_: str, outcome: str, **fields: Any) -> None:
        """Write an event down that the client caused."""
        self._journal.client_event(type_, outcome, self._identity, client_address=self._address, **fields)

    def change(
        self,
        physical: str | None,
        after: Mapping[str, str],
        *,
        is_done: bool,
        is_topic: bool,
        is_deleted: bool,
        told_before: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> None:
        """Write down what the client changed or tried to change, and the state before as far as it is known.

        Args:
            physical: the changed item's name on the physical cluster.
            after: the state that the client asked for.
            is_done: whether the change succeeded.
            is_topic: whether the item is a topic.
            is_deleted: whether the client asked to delete it.
            told_before: the state before, as far as the answer has told it.
            fields: other fields of the schema's struct `event`.
        """
        known, before, before_ms = self._journal.known_topics, told_before, None
        upstream = self._identity.upstream
        if is_topic and physical is not None:
            facts = known.get(upstream, physical)
            if facts is not None:
                before_ms = facts.at_ms
                before = (
                    facts.facts
                    if is_deleted
                    else {key: facts.facts[key] for key in after if key in facts.facts}
                )
            if is_done and is_deleted:
                known.learn_gone(upstream, physical, self._journal.now_ms())
            elif is_done:
                known.learn(upstream, physical, self._journal.now_ms(), after)
        outcome = "success" if is_done else "failure"
        self.event(
            "admin",
            outcome,
            physical_name=physical,
            before=before,
            before_ms=before_ms,
            after=dict(after),
            **fields,
        )

    def close(self) -> None:
        """Count the end of the connection."""
        if self._client is None:
            self._change(self._identity)
        assert self._client is not None
        self._client.leave(has_ended=True)

    def _change(self, identity: Identity) -> None:
        self._identity = identity
        before, self._client = self._client, self._journal.table.client(identity, self._topics)
        if before is None:
            self._client.enter(is_new=True, before_ms=max(self._journal.now_ms() - self._began_ms, 0))
        elif before is not self._client:
            before.leave(has_ended=False)
            self._client.enter(is_new=False)


def bounded_software(software: Software) -> Software:
    """Return the software with its name and version cut off at MAX_SOFTWARE_LENGTH."""
    if software == UNNAMED:
        return software
    cut = slice(MAX_SOFTWARE_LENGTH)
    return Software((software.name or "")[cut] or None, (software.version or "")[cut] or None)
