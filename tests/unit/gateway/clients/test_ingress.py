from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.authentication.accounts import AuthenticationFailed
from bifrost.authentication.sasl_server import SaslSettings
from bifrost.config.fields.listener_sets import ListenerSet, ProxyProtocol, SecurityProtocol
from bifrost.gateway.clients.client_handshake import ClientHandshake
from bifrost.gateway.clients.ingress import Ingress, contexts_of
from bifrost.gateway.errors import StartError
from bifrost.gateway.sockets.client_origin import ClientOrigin
from bifrost.session.shared_state import Entry
from support.identity.certificates import Authority
from support.identity.passwords import proved_account
from support.stage import stage as stages
from support.stage.stage import Stage

AUTHORITY = Authority("CA")
PORTS = {
    "advertised_host": "gw",
    "bootstrap_port": 9092,
    "broker_port_range": {"start": 9093, "end": 9095},
}


def ingress(before: Ingress | None = None, **keys: Any) -> Ingress:
    gateway: Any = SimpleNamespace(shared=Stage(max_reauth_ms=1000).shared)
    listener_set = ListenerSet.model_validate({"name": "one", "port_range": PORTS} | keys)
    contexts = contexts_of(listener_set, lambda: 0, None if before is None else before.contexts)
    return Ingress(listener_set, gateway, contexts)


@pytest.fixture
def tls(tmp_path: Path) -> dict[str, str]:
    files = AUTHORITY.server("gw").write(tmp_path, "server")
    AUTHORITY.write(tmp_path / "ca.pem")
    return {"certificate_file": str(files.certificate), "key_file": str(files.key)}


def test_certificates_that_have_not_changed_are_not_read_again(tls: dict[str, str]) -> None:
    first = ingress(security_protocol="SASL_SSL", tls=tls)
    assert first.contexts is not None

    assert (
        ingress(first, security_protocol="SASL_SSL", tls=tls, sasl_mechanisms=["PLAIN"]).contexts
        is first.contexts
    )
    Path(tls["key_file"]).touch()
    again = ingress(first, security_protocol="SASL_SSL", tls=tls).contexts
    assert again is not None
    assert again is not first.contexts
    assert ingress(first).contexts is None


def opened(one: Ingress) -> Any:
    """What a new connection's bytes go to; the origin itself, where it comes in at once."""
    return one.open(lambda origin: origin)  # type: ignore[arg-type,return-value]


def settings_of(origin: ClientOrigin) -> SaslSettings:
    """How a client that came in so authenticates."""
    stage = Stage(max_reauth_ms=1000)
    entry = Entry({}, stage.versions, stages.PORTS, (), origin.account, origin.tenant)
    return entry.settings(stage.shared.sasl)


def test_sasl_without_anything_before_it_comes_in_at_once() -> None:
    assert opened(ingress()) == ClientOrigin(SecurityProtocol.SASL_PLAINTEXT)


def test_without_sasl_every_client_is_the_tenants_and_nothing_expires() -> None:
    origin = opened(ingress(security_protocol="PLAINTEXT", tenant="acme"))

    assert (origin.account.username, origin.account.tenant) == ("ANONYMOUS", "acme")
    assert settings_of(origin).max_reauth_ms == 0


def test_with_sasl_a_tenants_own_listener_set_has_its_users_alone() -> None:
    origin = opened(ingress(tenant="acme"))

    assert origin.account is None
    settings = settings_of(origin)
    assert settings.max_reauth_ms == 1000
    assert proved_account(settings.accounts, "acme", b"acme-password") is not None
    assert proved_account(settings.accounts, "globex", b"globex-password") is None


def test_tls_and_a_proxy_header_begin_with_a_handshake(tls: dict[str, str]) -> None:
    assert isinstance(opened(ingress(security_protocol="SASL_SSL", tls=tls)), ClientHandshake)
    one = ingress(proxy_protocol="allowed")
    assert one.proxy_protocol is ProxyProtocol.ALLOWED
    assert isinstance(opened(one), ClientHandshake)


def test_a_certificate_says_who_it_is(tls: dict[str, str], tmp_path: Path) -> None:
    mutual = tls | {"client_auth": "required", "client_ca_file": str(tmp_path / "ca.pem")}
    shop = AUTHORITY.client("shop").der
    with pytest.raises(AuthenticationFailed):
        ingress(security_protocol="SSL", tls=mutual).origin(shop)

    origin = ingress(security_protocol="SSL", tls=mutual, tenant="acme").origin(
        shop, ("192.0.2.1", 5), "gw", 40
    )

    assert origin.account is not None
    assert (origin.account.username, origin.account.tenant) == ("CN=shop", "acme")
    assert (origin.address, origin.server_name, origin.waited_ms) == (("192.0.2.1", 5), "gw", 40)


def test_a_certificate_that_is_gone_since_it_was_loaded_stops_the_start(tls: dict[str, str]) -> None:
    Path(tls["key_file"]).unlink()

    with pytest.raises(StartError, match=r"listener one: tls.key_file: file .*: no such file"):
        ingress(security_protocol="SASL_SSL", tls=tls)
