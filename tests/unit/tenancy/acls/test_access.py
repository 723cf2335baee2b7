from bifrost.tenancy.acls.access import ACCESS, DENIED_CODES
from bifrost.tenancy.acls.acl_binding import ResourceType
from bifrost.wire.entity import Entity
from bifrost.wire.fields.entities import SERVED, entities_of, served_versions
from bifrost.wire.schema import request_schema

KINDS = {
    Entity.TOPIC_NAME: ResourceType.TOPIC,
    Entity.TOPIC_ID: ResourceType.TOPIC,
    Entity.GROUP_ID: ResourceType.GROUP,
    Entity.TRANSACTIONAL_ID: ResourceType.TRANSACTIONAL_ID,
}


def test_every_api_in_the_table_is_served() -> None:
    assert set(ACCESS) <= set(SERVED)
    assert all(set(one.needs) <= set(DENIED_CODES) for one in ACCESS.values())


def test_requests_that_the_engine_decides_about_need_an_operation_on_all_that_they_name() -> None:
    for api_key, access in ACCESS.items():
        versions = served_versions(api_key)
        assert versions is not None
        if access.is_in_place:
            named = entities_of(request_schema(api_key).name, versions.high).values()
            assert {KINDS[one] for one in named if one in KINDS} <= set(access.needs), api_key
