"""The quotas that the operator gives to a tenant: the section `quotas` of a tenant."""

from pydantic import Field, model_validator

from bifrost.config.section import Section
from bifrost.config.values import NamespacePath, Rate, SizeBytes

MAX_NAMESPACES = 1_000
"""Most namespaces of a tenant with quotas of their own in the file: each has budgets in every process."""


class ClientQuotas(Section):
    """What some clients may use in a second. Traffic above a quota is slowed down, as a Kafka broker does it: the
    answer tells the client to wait (`throttle_time_ms`), and its connection is not read until the debt is paid, 10 s
    at the most. No connection is closed."""

    producer_byte_rate: SizeBytes | None = Field(default=None, ge=1, le=2**50)
    """Bytes of Produce requests per second. Default: the key is absent, and there is no quota."""

    consumer_byte_rate: SizeBytes | None = Field(default=None, ge=1, le=2**50)
    """Bytes of Fetch responses per second. Default: the key is absent, and there is no quota."""

    request_rate: Rate | None = None
    """Requests per second, of every kind. Kafka has no such quota. Default: the key is absent, and there is no
    quota."""

    request_percentage: Rate | None = None
    """Time that a process of the gateway works on requests and answers, in percent of that process; with several
    workers 200 are two of them. Default: the key is absent, and there is no quota."""

    controller_mutation_rate: Rate | None = None
    """Partitions that are created or deleted per second (KIP-599). Default: the key is absent, and there is no
    quota."""


class WholeQuotas(ClientQuotas):
    """Quotas of a tenant, or of one of its namespaces, as a whole, and of each of its clients."""

    connection_creation_rate: Rate | None = None
    """New connections per second; a further one is served later (KIP-612). Default: the key is absent, and there is no
    quota."""

    each_user: ClientQuotas = ClientQuotas()
    """What each user may use, by itself: Kafka's quota of the default user. Default: no quota."""

    each_client_id: ClientQuotas = ClientQuotas()
    """What each client ID may use, by itself: Kafka's quota of the default client ID. As in Kafka it does not apply to
    clients whose user has this quota. Default: no quota."""


class NamespaceQuotas(WholeQuotas):
    """Quotas of one of the tenant's namespaces."""

    namespace: NamespacePath = Field(examples=["analytics:eu"])
    """The namespace: tiers separated by `:`. Required."""


class TenantQuotas(WholeQuotas):
    """What the clients of a tenant may use in a second. What they use counts for their client ID or user, for their
    namespace, for each namespace above it, and for the tenant; each of these may be used up."""

    namespaces: tuple[NamespaceQuotas, ...] = Field(
        default=(), max_length=MAX_NAMESPACES, examples=["[{ namespace: analytics, request_rate: 100 }]"]
    )
    """Quotas of namespaces of the tenant. Default: none."""

    @model_validator(mode="after")
    def _check_namespaces(self) -> "TenantQuotas":
        names = [one.namespace for one in self.namespaces]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"namespaces has {twice} twice: make one of them")
        return self
