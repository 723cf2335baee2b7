"""What a gateway builds from its configuration; that it serves is in tests/kafka."""

from typing import Any

import pytest

from bifrost.config.fields.verifiers import Mechanism, ScramVerifier
from bifrost.config.model import Config
from bifrost.config.secrets import Secret
from bifrost.forwarding.in_flight_limits import UNLIMITED
from bifrost.gateway.brokers.limits_of_tenants import LimitsOfTenants
from bifrost.gateway.brokers.tenant_settings import TenantSettings
from bifrost.gateway.gateway import Gateway, now_ms
from bifrost.session.close_reason import CloseReason
from support.identity.passwords import proved_account

CONFIG: dict[str, Any] = {
    "proxy": {
        "listener_sets": [
            {
                "name": "plaintext",
                "port_range": {
                    "advertised_host": "proxy.example.com",
                    "bootstrap_port": 9092,
                    "broker_port_range": {"start": 9093, "end": 9095},
                },
            }
        ],
        "limits": {"max_connections": 2, "max_in_flight_requests": 7, "max_names_per_namespace": 100},
    },
    "upstream": {"bootstrap": ["kafka-1.internal:9092"]},
    "tenants": [
        {
            "name": name,
            "allowed_topics": topics,
            "allow_topic_deletion": name == "globex",
            "auth": {
                "credentials": [
                    {"username": user, "password_file": "f", "password": Secret(user.encode())}
                    for user in users
                ]
            },
        }
        for name, topics, users in (("acme", ["orders"], ["acme", "acme-2"]), ("globex", None, ["globex"]))
    ],
}


class Connection:
    """As much of one as is asked for when it is counted."""

    tenant = "acme"


@pytest.fixture
def gateway() -> Gateway:
    return Gateway(Config.model_validate(CONFIG))


def test_every_user_has_an_account_of_its_tenant(gateway: Gateway) -> None:
    accounts = gateway.shared.sasl.accounts

    tenants = {user: "globex" if user == "globex" else "acme" for user in ("acme", "acme-2", "globex")}
    for user, tenant in tenants.items():
        account = proved_account(accounts, user, user.encode())
        assert account is not None
        assert account.tenant == tenant
    assert proved_account(accounts, "acme", b"acme-2") is None


def test_verifiers_are_those_of_the_configuration() -> None:
    verifier = ScramVerifier.derive(Mechanism.SCRAM_SHA_512, b"pw", b"salt of sixteen.", 4096)
    user = {"username": "initech", "scram_file": "f", "verifiers": (verifier,)}
    tenant = {"name": "initech", "auth": {"credentials": [user]}}
    gateway = Gateway(Config.model_validate({**CONFIG, "tenants": [tenant]}))

    accounts = gateway.shared.sasl.accounts

    assert accounts.mechanisms == (Mechanism.PLAIN, Mechanism.SCRAM_SHA_512)
    assert accounts.verifier("initech", Mechanism.SCRAM_SHA_512)[1] is verifier
    assert proved_account(accounts, "initech", b"pw") is not None


def test_nonces_differ_and_are_what_scram_may_carry(gateway: Gateway) -> None:
    nonces = {gateway.shared.sasl.new_nonce() for _ in range(50)}

    assert len(nonces) == 50
    assert all(nonce.isascii() and nonce.isprintable() and "," not in nonce for nonce in nonces)
    assert all(len(nonce) >= 24 for nonce in nonces)


def test_two_gateways_make_other_salts_for_who_does_not_exist() -> None:
    verifier = ScramVerifier.derive(Mechanism.SCRAM_SHA_256, b"pw", b"salt of sixteen.", 4096)
    user = {"username": "initech", "scram_file": "f", "verifiers": (verifier,)}
    tenant = {"name": "initech", "auth": {"credentials": [user]}}
    config = Config.model_validate({**CONFIG, "tenants": [tenant]})

    salts = {
        Gateway(config).shared.sasl.accounts.verifier("unknown", Mechanism.SCRAM_SHA_256)[1].salt
        for _ in range(2)
    }

    assert len(salts) == 2


@pytest.mark.parametrize(("longest_ms", "delay_ms"), [(1_000, 1_000), (60_000, 2_500), (0, 0)])
def test_a_delay_leaves_half_of_the_time_to_authenticate(longest_ms: int, delay_ms: int) -> None:
    limits = {"max_authentication_delay_ms": longest_ms, "authentication_timeout_ms": 5_000}
    gateway = Gateway(Config.model_validate({**CONFIG, "proxy": {**CONFIG["proxy"], "limits": limits}}))

    for _ in range(20):
        gateway.failed_authentications.note("192.0.2.1", 0)

    assert gateway.failed_authentications.delay_ms("192.0.2.1", 0) == delay_ms


def test_limits_are_those_of_the_configuration(gateway: Gateway) -> None:
    assert gateway.shared.max_in_flight_requests == 7
    assert gateway.limits.max_connections == 2


def test_connections_are_counted_in_and_out(gateway: Gateway) -> None:
    first, second, third = (Connection() for _ in range(3))

    refusals = [gateway.admit(one, "192.0.2.1") for one in (first, second, third)]  # type: ignore[arg-type]
    assert refusals == [None, None, (CloseReason.TOO_MANY_CONNECTIONS, "2 are open")]
    gateway.forget(third)  # type: ignore[arg-type]
    gateway.forget(first)  # type: ignore[arg-type]
    assert gateway.admit(third, "192.0.2.1") is None  # type: ignore[arg-type]


def test_ends_are_counted_by_reason(gateway: Gateway) -> None:
    for reason in (CloseReason.HTTP, CloseReason.HTTP, CloseReason.MALFORMED):
        gateway.count_end(reason, None)

    assert gateway.ends == {CloseReason.HTTP: 2, CloseReason.MALFORMED: 1}


def test_a_limit_that_ends_connections_is_counted_by_tenant(gateway: Gateway) -> None:
    gateway.count_end(CloseReason.TENANT_CONNECTIONS, "acme")
    gateway.count_end(CloseReason.FRAME_TOO_LARGE, "acme")
    gateway.count_end(CloseReason.FRAME_TOO_LARGE, None)
    gateway.count_end(CloseReason.IDLE, "acme")

    assert gateway.limits_hit == {
        ("max_connections", "acme"): 1,
        ("max_request_bytes", "acme"): 1,
        ("max_unauthenticated_frame_bytes", ""): 1,
    }


def test_limits_of_tenants_are_those_of_the_configuration() -> None:
    tenants = [{**tenant, "limits": {"max_in_flight_requests": 5}} for tenant in CONFIG["tenants"][:1]]
    gateway = Gateway(Config.model_validate({**CONFIG, "tenants": [*tenants, CONFIG["tenants"][1]]}))
    limits = gateway.shared.lanes.in_flight_limits

    assert (limits.load("acme").most, limits.load("globex").most) == (5, UNLIMITED)
    assert limits.of_all.most == 100_000


def test_limits_change_with_the_configuration(gateway: Gateway) -> None:
    limits = gateway.shared.lanes.in_flight_limits
    assert limits.load("acme").most == UNLIMITED
    tenants = [{**tenant, "limits": {"max_in_flight_requests": 5}} for tenant in CONFIG["tenants"]]
    changed = {"max_in_flight_requests_total": 9, "max_request_bytes": 4000}
    proxy = {**CONFIG["proxy"], "limits": changed}

    config = Config.model_validate({**CONFIG, "proxy": proxy, "tenants": tenants})
    gateway.take_settings(config, TenantSettings.of(config), gateway.client_authenticators.secure(config))

    assert (limits.load("acme").most, limits.of_all.most) == (5, 9)
    assert gateway.tenants.max_request_bytes("acme") == 4000


def test_a_client_that_has_authenticated_by_the_way_it_came_is_no_newcomer(gateway: Gateway) -> None:
    gateway.newcomers.most = 0

    assert gateway.admit(Connection(), None, is_newcomer=False) is None  # type: ignore[arg-type]
    assert gateway.admit(Connection(), None) is not None  # type: ignore[arg-type]


def test_a_connection_that_its_tenant_may_not_have_stays_a_newcomer(gateway: Gateway) -> None:
    one, other = Connection(), Connection()
    for each in (one, other):
        gateway.admit(each, "192.0.2.1")  # type: ignore[arg-type]
    gateway.tenants.limit(
        gateway.limits.model_copy(update={"max_connections": 1}), LimitsOfTenants.of(gateway.config.tenants)
    )

    assert [gateway.let_in("acme", each) for each in (one, other)] == [True, False]  # type: ignore[arg-type]
    assert len(gateway.newcomers) == 1


def test_connections_are_counted_by_tenant(gateway: Gateway) -> None:
    first, second = Connection(), Connection()
    for one in (first, second):
        gateway.admit(one, "192.0.2.1")  # type: ignore[arg-type]

    assert gateway.let_in("acme", first)  # type: ignore[arg-type]
    assert len(gateway.newcomers) == 1

    assert gateway.count_connections() == {"acme": 1, "": 1}
    gateway.forget(first)  # type: ignore[arg-type]
    assert gateway.count_connections() == {"acme": 0, "": 1}


def test_the_clock_only_goes_forward() -> None:
    first = now_ms()

    assert 0 < first <= now_ms() < first + 60_000
