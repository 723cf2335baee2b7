"""Tenants' shares."""

from bifrost.forwarding.shares import Shares


def test_a_tenant_has_its_own_share_or_the_usual_one() -> None:
    shares = Shares(50, {"acme": 10, "globex": None, "initech": 0})

    assert [shares.of(name) for name in ("acme", "globex", "initech", "umbrella")] == [10, 50, 0, 50]
