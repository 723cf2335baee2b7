"""The quotas that a configuration gives to tenants, as the tables of quotas take them."""

from collections.abc import Iterable, Mapping

from bifrost.config.fields.tenants import NO_QUOTAS, Tenant
from bifrost.config.quotas.tenant_quotas import ClientQuotas, WholeQuotas
from bifrost.tenancy.quotas.quota_entity import DEFAULT, NAMESPACE, QuotaEntity
from bifrost.tenancy.quotas.quota_key import QuotaKey
from bifrost.tenancy.quotas.quota_table import Values

GivenQuotas = Mapping[str, Mapping[QuotaEntity, Values]]
"""By the path of a namespace, from its tenant on (`acme`, `acme:analytics:eu`)."""


def quotas_of(tenants: Iterable[Tenant]) -> GivenQuotas:
    """Return the quotas of these tenants; those without any are not in it. May run in any thread."""
    found: dict[str, Mapping[QuotaEntity, Values]] = {}
    for tenant in tenants:
        if tenant.quotas is NO_QUOTAS:
            continue
        found[tenant.name] = _of(tenant.quotas)
        found |= {f"{tenant.name}:{one.namespace}": _of(one) for one in tenant.quotas.namespaces}
    return {path: quotas for path, quotas in found.items() if quotas}


def _of(quotas: WholeQuotas) -> Mapping[QuotaEntity, Values]:
    given = {
        NAMESPACE: _values(quotas),
        QuotaEntity(DEFAULT): _values(quotas.each_user),
        QuotaEntity(None, DEFAULT): _values(quotas.each_client_id),
    }
    return {entity: values for entity, values in given.items() if values}


def _values(quotas: ClientQuotas) -> Values:
    found = {key: getattr(quotas, key.value, None) for key in QuotaKey}
    return {key: float(value) for key, value in found.items() if value is not None}
