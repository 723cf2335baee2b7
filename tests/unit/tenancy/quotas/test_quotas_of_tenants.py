"""The quotas of a configuration by namespace and entity."""

from bifrost.config.fields.tenants import Tenant
from bifrost.tenancy.quotas.quota_entity import DEFAULT, NAMESPACE, QuotaEntity
from bifrost.tenancy.quotas.quota_key import QuotaKey
from bifrost.tenancy.quotas.quotas_of_tenants import quotas_of


def test_quotas_are_given_to_namespaces_users_and_client_ids() -> None:
    acme = Tenant.model_validate(
        {
            "name": "acme",
            "quotas": {
                "producer_byte_rate": "1KiB",
                "each_user": {"request_rate": 2},
                "each_client_id": {"request_percentage": 3},
                "namespaces": [
                    {"namespace": "analytics:eu", "connection_creation_rate": 4},
                    {"namespace": "empty"},
                ],
            },
        }
    )
    globex = Tenant.model_validate({"name": "globex"})

    assert quotas_of([acme, globex]) == {
        "acme": {
            NAMESPACE: {QuotaKey.PRODUCER_BYTE_RATE: 1024.0},
            QuotaEntity(DEFAULT): {QuotaKey.REQUEST_RATE: 2.0},
            QuotaEntity(None, DEFAULT): {QuotaKey.REQUEST_PERCENTAGE: 3.0},
        },
        "acme:analytics:eu": {NAMESPACE: {QuotaKey.CONNECTION_CREATION_RATE: 4.0}},
    }
