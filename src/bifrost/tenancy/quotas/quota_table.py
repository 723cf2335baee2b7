"""The quotas of one namespace, and which limits a client has by them.

    operator (YAML)  ──give──▶  QuotaTable  ──limits_of(user, client ID)──▶ QuotaLimits
    tenant (state)   ──put───▶      │ parent: the table of the namespace above, whose limits apply as well

Of the operator's quotas and of the tenant's own, each by itself, the first of Kafka's eight levels that has a value
decides, for each key by itself. Both limits apply, so a tenant can only lower what it has. What the whole namespace may
use together operators say in the configuration, in the state, or in both; each of them applies.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from bifrost.tenancy.quotas.quota_entity import NAMESPACE, QuotaEntity, levels
from bifrost.tenancy.quotas.quota_key import QuotaKey

Values = Mapping[QuotaKey, float]
"""Quotas of one entity: bytes per second, percent, or partitions per second."""

MAX_ENTITIES = 1_000
"""Most entities for which a tenant may set quotas in one namespace: each is a record that every gateway keeps."""


class Bucket(NamedTuple):
    """The clients for which a limit is one budget together."""

    namespace: str
    """The namespace whose table has the limit: the tenant, and behind a `/` the tiers (`acme/analytics:eu`)."""
    is_given: bool
    """Whether the configuration gave it; False: the state has it."""
    user: str | None
    """None: the users share it."""
    client_id: str | None
    """None: the client IDs share it."""


@dataclass(frozen=True, slots=True)
class QuotaLimit:
    """A rate that the clients of a bucket have together."""

    rate: float
    bucket: Bucket


_NONE: tuple[QuotaLimit, ...] = ()


@dataclass(frozen=True, slots=True)
class QuotaLimits:
    """The limits of one client; all limits of a key apply at the same time, none: there is no limit."""

    producer_byte_rate: tuple[QuotaLimit, ...] = _NONE
    consumer_byte_rate: tuple[QuotaLimit, ...] = _NONE
    request_percentage: tuple[QuotaLimit, ...] = _NONE
    controller_mutation_rate: tuple[QuotaLimit, ...] = _NONE
    request_rate: tuple[QuotaLimit, ...] = _NONE
    connection_creation_rate: tuple[QuotaLimit, ...] = _NONE

    def of(self, key: QuotaKey) -> tuple[QuotaLimit, ...]:
        """Return the limits of a key."""
        found: tuple[QuotaLimit, ...] = getattr(self, key.value)
        return found


UNLIMITED = QuotaLimits()


@dataclass(slots=True)
class QuotaTable:
    """The quotas of one namespace."""

    namespace: str
    """As in `Bucket`."""
    parent: "QuotaTable | None" = None
    """The table of the namespace above; None: this is the tenant's whole."""
    _given: dict[QuotaEntity, dict[QuotaKey, float]] = field(default_factory=dict)
    _own: dict[QuotaEntity, dict[QuotaKey, float]] = field(default_factory=dict)
    _generation: int = 0

    @property
    def generation(self) -> int:
        """A number that changes with every quota here and above: limits that were asked before may be others now."""
        return self._generation + (0 if self.parent is None else self.parent.generation)

    @property
    def own(self) -> Mapping[QuotaEntity, Values]:
        """What the state has: what the tenant has set, and under NAMESPACE what an operator has."""
        return self._own

    @property
    def given(self) -> Mapping[QuotaEntity, Values]:
        """What the operator has given; under NAMESPACE what all clients of the namespace have together."""
        return self._given

    def give(self, quotas: Mapping[QuotaEntity, Values]) -> None:
        """Replace what the operator gives."""
        self._given = {entity: dict(values) for entity, values in quotas.items() if values}
        self._generation += 1

    def put(self, entity: QuotaEntity, values: Values) -> None:
        """Replace what the state has for an entity; no values: nothing is set."""
        if values:
            self._own[entity] = dict(values)
        else:
            self._own.pop(entity, None)
        self._generation += 1

    def limits_of(self, user: str, client_id: str) -> QuotaLimits:
        """Return the limits of the clients that have this user name and this client ID.

        A few look-ups in dictionaries: ask once for a client, and again when `generation` has changed.
        """
        if not self._has_any:
            return UNLIMITED
        entities = levels(user, client_id)
        return QuotaLimits(*(tuple(self._limits(key, entities, user, client_id)) for key in QuotaKey))

    def bound_of(self, entity: QuotaEntity, key: QuotaKey) -> float | None:
        """Return the most that a tenant may set for an entity, by what the operator gave; None: any value.

        Only what it gave to entities with the same parts, or with fewer, counts: a quota for one client ID of a user
        says nothing about all client IDs of the user together.
        """
        found = [] if self.parent is None else [self.parent.bound_of(entity, key)]
        found.append(self._given.get(NAMESPACE, {}).get(key))
        if not entity.is_namespace:
            found.append(self._own.get(NAMESPACE, {}).get(key))
        for level in levels(entity.user, entity.client_id):
            is_finer = (level.user is not None and entity.user is None) or (
                level.client_id is not None and entity.client_id is None
            )
            value = None if is_finer else self._given.get(level, {}).get(key)
            if value is not None:
                found.append(value)
                break
        return min((one for one in found if one is not None), default=None)

    @property
    def _has_any(self) -> bool:
        return bool(self._given or self._own or (self.parent is not None and self.parent._has_any))

    def _limits(
        self, key: QuotaKey, entities: tuple[QuotaEntity, ...], user: str, client_id: str
    ) -> list[QuotaLimit]:
        found = [] if self.parent is None else self.parent._limits(key, entities, user, client_id)
        for is_given, quotas in ((True, self._given), (False, self._own)):
            total = quotas.get(NAMESPACE, {}).get(key)
            if total is not None:
                found.append(QuotaLimit(total, Bucket(self.namespace, is_given, None, None)))
            for entity in entities if quotas else ():
                rate = quotas.get(entity, {}).get(key)
                if rate is not None:
                    bucket = Bucket(
                        self.namespace,
                        is_given,
                        None if entity.user is None else user,
                        None if entity.client_id is None else client_id,
                    )
                    found.append(QuotaLimit(rate, bucket))
                    break
        return found
