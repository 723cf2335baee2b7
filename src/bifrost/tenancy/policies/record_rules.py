"""What the policies of namespaces say about records that are produced to one topic."""

from collections import Counter
from collections.abc import Iterable, Sequence

from bifrost.config.records.filter_configs import AcksName
from bifrost.tenancy.policies.ruling import Ruling, Violation
from bifrost.tenancy.policy import Refusal

_ACKS = {-1: AcksName.ALL, 1: AcksName.LEADER, 0: AcksName.NONE}


class RecordRules:
    """The policies that hold for a topic, as far as they are about records."""

    __slots__ = ("_hits", "_rulings", "_tenant", "has_codecs")

    def __init__(self, rulings: Sequence[Ruling], hits: Counter[tuple[str, str]], tenant: str) -> None:
        """Take at least one policy; `hits` counts refusals by key and tenant."""
        self._rulings, self._hits, self._tenant = tuple(rulings), hits, tenant
        self.has_codecs = any(one.policy.compression is not None for one in rulings)
        """Whether it depends on a batch's codec, so that batches have to be looked at."""

    def refuse_acks(self, acks: int) -> Refusal | None:
        """Return why records may not be produced with this setting, None when they may.

        One that Kafka does not have is left to the broker, which refuses it.
        """
        name = _ACKS.get(acks)
        return None if name is None else self._first(one.refuse_acks(name) for one in self._rulings)

    def refuse_compression(self, codec: str) -> Refusal | None:
        """Return why a batch may not be compressed so, None when it may."""
        return self._first(one.refuse_compression(codec) for one in self._rulings)

    def _first(self, violations: Iterable[Violation | None]) -> Refusal | None:
        for one in violations:
            if one is not None:
                self._hits[one.key, self._tenant] += 1
                return one.refusal
        return None
