"""What a configuration says of its tenants, in the forms in which a running gateway looks it up.

All of it follows from the configuration alone, and making it takes time for each tenant: 10,000 of them 50 ms. A reload
makes it in a thread, so that the event loop only puts it in place of what was there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bifrost.config.fields.tenants import Tenant
from bifrost.config.model import Config
from bifrost.config.name_template import DEFAULT_MARK
from bifrost.filters.build import (
    load_access_filters,
    load_quota_filters,
    load_record_filters,
    load_user_filters,
    load_virtual_partitions,
)
from bifrost.forwarding.shares import Shares
from bifrost.gateway.brokers.limits_of_tenants import LimitsOfTenants
from bifrost.tenancy.quotas.quotas_of_tenants import GivenQuotas, quotas_of

if TYPE_CHECKING:
    from bifrost.config.policies.namespace_policy import NamespacePolicy
    from bifrost.tenancy.namespaces.topic_aliases import TenantPlace


@dataclass(frozen=True, slots=True)
class TenantSettings:
    """The settings of all tenants, by their names."""

    tenants: Mapping[str, Tenant]
    upstreams: Mapping[str, str]
    """The configuration's name of each tenant's physical cluster."""
    foreign_marks: frozenset[str]
    """The prefixes of all tenants' names; a text for a tenant must contain none of them, once its own are removed."""
    namespaced_client_ids: frozenset[str]
    """The tenants whose client IDs have a prefix at the brokers."""
    limits: LimitsOfTenants
    gateway_time: Shares
    """Tenants' shares of the gateway's time."""
    broker_time: Shares
    """Tenants' shares of the brokers' time."""
    quota_setters: frozenset[str]
    """The tenants whose users may set quotas."""
    quotas: GivenQuotas
    namespaces: Mapping[str, tuple[tuple[str, ...], ...]]
    """The namespaces that the configuration names, of the tenants that have any."""
    policies: "Mapping[tuple[str, ...], NamespacePolicy]"
    """The policies of namespaces, by their paths."""
    places: "Mapping[str, TenantPlace]"
    """Where tenants' own names are; none without a state, in which alone topics are moved or shared."""

    @classmethod
    def of(cls, config: Config) -> "TenantSettings":
        """Return the settings of a configuration. May run in any thread."""
        limits, tenants = config.proxy.limits, config.tenants
        own = LimitsOfTenants.of(tenants)
        if any(one.acls is not None for one in tenants):
            load_access_filters()
        if any(one.filters for one in tenants):
            load_record_filters()
        if any(one.virtual_partitions for one in tenants):
            load_virtual_partitions()
        if any(one.allow_quota_changes for one in tenants):
            load_quota_filters()
        if any(one.auth.stored_users for one in tenants):
            load_user_filters()
        upstreams = {one.name: config.cluster_of(one).name for one in tenants}
        return cls(
            tenants={one.name: one for one in tenants},
            upstreams=upstreams,
            foreign_marks=_foreign_marks(config),
            namespaced_client_ids=config.namespaced_client_ids(),
            limits=own,
            gateway_time=Shares(
                limits.gateway_time_percent,
                {name: one.gateway_time_percent for name, one in own.each.items()},
            ),
            broker_time=Shares(
                limits.broker_time_percent, {name: one.broker_time_percent for name, one in own.each.items()}
            ),
            quota_setters=frozenset(one.name for one in tenants if one.allow_quota_changes),
            quotas=quotas_of(tenants),
            namespaces={one.name: found for one in tenants if (found := one.configured_namespaces)},
            policies=_policies(tenants),
            places={} if config.proxy.state is None else _places(tenants, upstreams),
        )


def _policies(tenants: Sequence[Tenant]) -> "Mapping[tuple[str, ...], NamespacePolicy]":
    if not any(one.namespace_policies for one in tenants):
        return {}
    from bifrost.tenancy.policies.policies_of_tenants import policies_of  # memory, only if there are some

    return policies_of(tenants)


def _places(tenants: Sequence[Tenant], upstreams: Mapping[str, str]) -> "Mapping[str, TenantPlace]":
    from bifrost.tenancy.namespaces.topic_aliases import TenantPlace  # memory, only if there is a state

    return {
        one.name: TenantPlace(
            upstreams[one.name], one.name_prefixes.topic, is_dotted=one.namespace_encoding == "dotted"
        )
        for one in tenants
    }


def _foreign_marks(config: Config) -> frozenset[str]:
    # One set for all: a set for each of a thousand tenants with prefixes of their own takes a hundred megabytes.
    literal = (one.prefixes.model_dump(exclude_none=True).values() for one in config.tenants if one.prefixes)
    return frozenset(prefix for prefixes in literal for prefix in prefixes) | {DEFAULT_MARK}
