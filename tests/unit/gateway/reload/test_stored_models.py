from types import SimpleNamespace
from typing import Any

from bifrost.gateway.reload.stored_models import follow_stored
from bifrost.tenancy.namespaces.existing_namespaces import ExistingNamespaces
from bifrost.tenancy.users.stored_users import StoredUsers


def test_a_gateway_follows_namespaces_users_policies_and_moved_topics() -> None:
    followed: dict[str, object] = {}
    state: Any = SimpleNamespace(follow=followed.__setitem__)
    clusters = SimpleNamespace(namespaces=ExistingNamespaces())
    lanes = SimpleNamespace(in_flight_limits=SimpleNamespace(hits={}))
    gateway: Any = SimpleNamespace(
        shared=SimpleNamespace(users=None, lanes=lanes, virtual_clusters=clusters),
        client_authenticators=SimpleNamespace(users=StoredUsers()),
    )

    follow_stored(state, gateway)

    assert set(followed) == {"alias", "namespace", "namespace-policy", "user"}
