from bifrost.tenancy.acls.acl_binding import Operation, ResourceType
from bifrost.tenancy.acls.broker_authority import BrokerAuthority
from bifrost.tenancy.acls.stored_acls import StoredAcls


def test_it_permits_everything_and_knows_the_accounts() -> None:
    authority = BrokerAuthority("acme", StoredAcls())
    assert authority.accounts == {}
    authority.take_accounts({"shop": "acme-shop"})

    assert (authority.mode, authority.is_open) == ("broker", True)
    assert authority.accounts == {"shop": "acme-shop"}
    assert authority.permitted(ResourceType.TOPIC, "orders", "User:x", "::1") & Operation.WRITE.bit
