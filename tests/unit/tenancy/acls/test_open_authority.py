from collections import Counter

from bifrost.tenancy.acls.acl_binding import Operation, ResourceType
from bifrost.tenancy.acls.acl_index import EVERY_OPERATION
from bifrost.tenancy.acls.open_authority import OpenAuthority
from bifrost.tenancy.acls.stored_acls import StoredAcls


def test_everything_is_permitted_and_denials_of_shares_are_counted() -> None:
    stored = StoredAcls()
    authority = OpenAuthority("acme", stored)
    everyone = ("User:anyone", "127.0.0.1")

    assert authority.is_open
    assert authority.permitted(ResourceType.TOPIC, "orders", *everyone) == EVERY_OPERATION
    assert authority.permits_some(Operation.WRITE, ResourceType.TOPIC, *everyone)
    assert authority.permits_all(Operation.DESCRIBE, ResourceType.TOPIC, *everyone)
    assert authority.is_super_user("User:anyone")
    authority.deny(Operation.WRITE, 2)
    assert stored.denials == Counter({("acme", "WRITE"): 2})
