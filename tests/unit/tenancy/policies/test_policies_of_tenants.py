from bifrost.config.fields.tenants import Tenant
from bifrost.tenancy.policies.policies_of_tenants import policies_of


def test_each_policy_is_found_by_the_path_of_its_namespace() -> None:
    tenant = Tenant.model_validate(
        {
            "name": "acme",
            "namespace_policies": [{"max_topics": 9}, {"namespace": "analytics:eu", "max_topics": 3}],
        }
    )

    found = policies_of([tenant, Tenant.model_validate({"name": "globex"})])

    assert {path: one.max_topics for path, one in found.items()} == {
        ("acme",): 9,
        ("acme", "analytics", "eu"): 3,
    }
