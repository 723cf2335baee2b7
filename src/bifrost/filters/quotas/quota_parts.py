"""The entity of a quota in Kafka's messages: parts with a type and a name each, a null name for the default.

A tenant has users and client IDs, and no IP addresses: its clients' addresses say nothing about who they are, and
limits of connections are the operator's.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from bifrost.tenancy.quotas.quota_entity import CLIENT_ID, DEFAULT, USER, EntityName, QuotaEntity

Parts = Mapping[str, str | None]
"""By type; in the order of the request."""

TYPES = (USER, CLIENT_ID)

MAX_PARTS, MAX_KEYS = 10, 100
"""Most parts of an entity, and keys of its quotas, that are looked at: there are two, and six. What is beyond is not
told in answers either."""

MAX_TEXT = 1_000
"""Most characters of a text for a client: some quote what it has sent, and a string of Kafka has a limit."""


def read_parts(entity: Iterable[Any]) -> Parts:
    """Return the parts of an entity in a request; of two with the same type the last, as Kafka has it."""
    return {part.entity_type: part.entity_name for part in islice(entity, MAX_PARTS)}


def parts_of(entity: QuotaEntity) -> Parts:
    """Return the parts of an entity."""
    named = ((USER, entity.user), (CLIENT_ID, entity.client_id))
    return {kind: None if name is DEFAULT else str(name) for kind, name in named if name is not None}


def entity_of(parts: Parts) -> QuotaEntity:
    """Return the entity with these parts, which `refuse_parts` has not refused."""
    return QuotaEntity(_name(parts, USER), _name(parts, CLIENT_ID))


def refuse_parts(parts: Parts) -> str | None:
    """Return why an entity is refused, in the words of Kafka's ClientQuotaControlManager; None: it is not."""
    if not parts:
        return "Invalid empty client quota entity"
    for kind, name in parts.items():
        if kind not in TYPES:
            return f"Unhandled client quota entity type: {kind}"
        if name == "":
            return f"Empty {kind} not supported"
    return None


def refuse_counts(parts: int, keys: int) -> str | None:
    """Return why an entity is refused with so many parts and keys; None: it is not."""
    if parts > MAX_PARTS or keys > MAX_KEYS:
        return f"An entity has at most {MAX_PARTS} parts, and {MAX_KEYS} keys of quotas"
    return None


def shortened(text: str) -> str:
    """Return a text for a client, cut off where it is too long."""
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}..."


def _name(parts: Parts, kind: str) -> EntityName:
    if kind not in parts:
        return None
    name = parts[kind]
    return DEFAULT if name is None else name
