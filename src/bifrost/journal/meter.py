"""What one connection's requests are counted in, and the events it brings about: from its authentication to its end."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bifrost.journal.identity import UNNAMED, Identity, Software
from bifrost.journal.journal import Journal
from bifrost.journal.topic_names import TopicNames
from bifrost.journal.usage_table import Client
from bifrost.wire.engine import Usage

MAX_SOFTWARE_LENGTH = 128
"""Of a client software's name or version; the rest is cut off."""


class Meter:
    """Of one connection that is authenticated."""

    def __init__(
        self,
        journal: Journal,
        identity: Identity,
        topics: TopicNames,
        address: str | None,
    ) -> None:
        """Begin; it counts for `identity` as soon as the first request says its client ID.

        Args:
            journal: the gateway's.
            identity: who the client is, but for its ID.
            topics: what its topics are called.
            address: the client's, host:port.
        """
        self._journal, self._identity, self._topics = journal, identity, topics
        self._address = address
        self._began_ms = journal.now_ms()
        self._client: Client | None = None

    @property
    def identity(self) -> Identity:
        """Who the client is, as far as it is known by now."""
        return self._identity

    def is_of(self, client_id: bytes | None) -> bool:
        """Whether the requests before this one had its client ID."""
        return self._client is not None and self._identity.client_id == client_id

    def become(self, client_id: bytes | None) -> None:
        """Count for another client ID from now on."""
        self._change(replace(self._identity, client_id=client_id))

    def name(self, software: Software) -> bool:
        """Learn what the client is; return whether that changes what it is counted for."""
        named = bounded_software(software)
        if named == self._identity.software:
            return False
        if self._client is None:
            self._identity = replace(self._identity, software=named)
        else:
            self._change(replace(self._identity, software=named))
        return True

    def usage(self, api_key: int, api_version: int) -> Usage:
        """Return what counts its messages of an API and version."""
        assert self._client is not None
        return self._client.usage(api_key, api_version)

    def event(self, type_: str, outcome: str, **fields: Any) -> None:
        """Write down what the client brought about."""
        self._journal.client_event(type_, outcome, self._identity, client_address=self._address, **fields)

    def change(
        self,
        physical: str | None,
        after: Mapping[str, str],
        *,
        is_done: bool,
        is_topic: bool,
        is_deleted: bool,
        **fields: Any,
    ) -> None:
        """Write down what the client changed, or tried to, and what was before as far as that is known.

        Args:
            physical: what the physical cluster calls it.
            after: what was asked for.
            is_done: whether it was done.
            is_topic: whether it is a topic.
            is_deleted: whether it was to be deleted.
            fields: others of the schema's struct `event`.
        """
        known, before, before_ms = self._journal.known_topics, None, None
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
        """The connection has ended."""
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
    """Return it with what is too long cut off."""
    if software == UNNAMED:
        return software
    cut = slice(MAX_SOFTWARE_LENGTH)
    return Software((software.name or "")[cut] or None, (software.version or "")[cut] or None)
