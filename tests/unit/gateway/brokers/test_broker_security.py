import asyncio
from pathlib import Path
from ssl import SSLContext
from typing import Any

import pytest

from bifrost.config.fields.client_tls import ClientTls
from bifrost.config.fields.tenants import Auth, Credential, Tenant
from bifrost.config.fields.upstream import SecurityProtocol, Upstream
from bifrost.config.fields.upstream_sasl import UpstreamMechanism, UpstreamSasl
from bifrost.config.kept_secret import KeptSecret
from bifrost.config.secrets import Secret
from bifrost.config.values import Address
from bifrost.gateway.brokers.broker_security import BrokerSecurity
from bifrost.gateway.errors import StartError
from support.identity.certificates import Authority


def account(name: str) -> UpstreamSasl:
    return UpstreamSasl(
        mechanism=UpstreamMechanism.PLAIN,
        username=name,
        password_file="password",
        password=KeptSecret(name.encode()),
    )


def user(name: str, sasl: UpstreamSasl | None = None) -> Credential:
    return Credential(username=name, password_file="x", password=Secret(b"x"), upstream_sasl=sasl)


ACME = Auth(credentials=[user("one", account("one")), user("two")])
GLOBEX = Auth(credentials=[user("three"), user("four", account("acme"))])
TENANTS = (
    Tenant(name="acme", upstream_sasl=account("acme"), auth=ACME),
    Tenant(name="globex", auth=GLOBEX),
)


def security(
    protocol: SecurityProtocol, before: BrokerSecurity | None = None, **fields: Any
) -> BrokerSecurity:
    upstream = Upstream(bootstrap=[Address("kafka-1", 9092)], security_protocol=protocol, **fields)
    return BrokerSecurity(upstream, TENANTS, timeout_ms=1000, now_ms=lambda: 0, before=before)


def context_of(one: BrokerSecurity) -> SSLContext | None:
    return asyncio.run(one.tls_context())


@pytest.mark.parametrize("protocol", [SecurityProtocol.PLAINTEXT, SecurityProtocol.SSL])
def test_without_sasl_the_gateway_does_not_log_in(protocol: SecurityProtocol) -> None:
    one = security(protocol)

    assert one.own is None
    assert one.login_of("acme", "one") is None


def test_each_has_the_nearest_account_and_the_same_account_is_one() -> None:
    one = security(SecurityProtocol.SASL_PLAINTEXT, sasl=account("gateway"))

    of = {name: one.login_of(tenant, name) for tenant, name in
          (("acme", "one"), ("acme", "two"), ("globex", "three"), ("globex", "four"))}  # fmt: skip
    assert of["three"] is one.own
    assert of["two"] is of["four"]
    assert len({of["one"], of["two"], of["three"]}) == 3


@pytest.mark.parametrize("protocol", SecurityProtocol)
def test_connections_are_encrypted_as_the_protocol_says(protocol: SecurityProtocol) -> None:
    sasl = account("gateway") if protocol.has_sasl else None

    options = asyncio.run(security(protocol, sasl=sasl).connect_options("kafka-1.internal"))

    if protocol.has_tls:
        assert options["server_hostname"] == "kafka-1.internal"
        assert options["ssl"].check_hostname
    else:
        assert options == {}


def test_files_that_cannot_be_read_keep_the_gateway_from_starting() -> None:
    with pytest.raises(StartError, match=r"upstream\.tls: .*No such file"):
        security(SecurityProtocol.SSL, tls=ClientTls(ca_file="none.pem"))


def test_certificates_that_have_not_changed_are_not_read_again(tmp_path: Path) -> None:
    file, ssl = tmp_path / "ca.pem", SecurityProtocol.SSL
    Authority("a CA").write(file)
    tls = ClientTls(ca_file=str(file))
    first = security(ssl, tls=tls)
    context = context_of(first)

    assert context_of(security(ssl, first, tls=tls.model_copy())) is context
    other = security(ssl, first, tls=ClientTls(ca_file=str(file), verify_hostname=False))
    assert context_of(other) is not context
    assert context_of(security(SecurityProtocol.PLAINTEXT, first)) is None
    file.write_text("no certificate")
    assert context_of(first) is context
    with pytest.raises(StartError):
        security(ssl, first, tls=tls)


def test_the_certificates_of_the_system_are_read_again() -> None:
    first = security(SecurityProtocol.SSL)

    assert context_of(security(SecurityProtocol.SSL, first)) is not context_of(first)
