"""The records of quotas in the state: kind `quota`, a record for each entity for which a tenant has set some.

quota:acme/users/alice                            {"values": {"producer_byte_rate": 1048576.0}}
quota:acme:analytics/users/<default>/clients/app  of the tenant's namespace `analytics`
quota:acme:analytics/namespace                    of all clients of it together, which only an operator sets
"""

from bifrost.state.state_key import StateKey
from bifrost.state.state_record import Body
from bifrost.tenancy.quotas.quota_entity import QuotaEntity
from bifrost.tenancy.quotas.quota_key import QuotaKey, refuse_value
from bifrost.tenancy.quotas.quota_table import Values

QUOTA = "quota"
"""The kind of these records."""

_VALUES = "values"


def quota_key(path: str, entity: QuotaEntity) -> StateKey:
    """Return the key of an entity's record.

    Args:
        path: the path of the namespace, from its tenant on (`acme`, `acme:analytics:eu`).
        entity: whose quotas they are.
    Raises:
        ValueError: the names are longer than a key may be.
    """
    return StateKey(QUOTA, f"{path}/{entity}")


def read_key(key: StateKey) -> tuple[str, QuotaEntity]:
    """Return the path of the namespace and the entity of a record.

    Raises:
        ValueError: it is no key of a quota.
    """
    path, _, entity = key.name.partition("/")
    return path, QuotaEntity.from_text(entity)


def quota_body(values: Values) -> Body:
    """Return the body of a record."""
    return {_VALUES: {key.value: value for key, value in values.items()}}


def read_body(body: Body) -> Values:
    """Return the quotas of a record.

    Raises:
        ValueError: a newer version of the gateway, or something else, has written it.
    """
    values = body.get(_VALUES)
    if len(body) != 1 or not isinstance(values, dict):
        raise ValueError(
            "the body of a quota has values and nothing else: run the version of the gateway that wrote it"
        )
    for key, value in values.items():
        why = refuse_value(key, value) if type(value) in (int, float) else f"{key} is no number"
        if why is not None:
            raise ValueError(f"{why}: run the version of the gateway that wrote it")
    return {QuotaKey(key): float(value) for key, value in values.items()}
