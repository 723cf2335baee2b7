"""Kerberos towards a broker, with a library that is played by the test; the real one is in tests/kafka/upstream."""

import asyncio
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.authentication.sasl_client import LoginFailed
from bifrost.config.fields.upstream_sasl import UpstreamMechanism, UpstreamSasl
from bifrost.gateway.brokers.gssapi_client import GssapiAccount
from bifrost.gateway.errors import StartError


class GSSError(Exception):
    """What the library raises."""


class Context:
    """A security context that is complete after the broker's answer; what it wraps is marked."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        self.complete = False

    def step(self, token: bytes | None) -> bytes | None:
        if token is None:
            return b"AP-REQ"
        if token != b"AP-REP":
            raise GSSError("the broker\nis another")
        self.complete = True
        return None

    def unwrap(self, token: bytes) -> Any:
        if not token.startswith(b"wrapped "):
            raise GSSError("not wrapped")
        return SimpleNamespace(message=token.removeprefix(b"wrapped "))

    def wrap(self, message: bytes, is_encrypted: bool) -> Any:
        assert not is_encrypted
        return SimpleNamespace(message=b"wrapped " + message)


class Library(SimpleNamespace):
    """The parts of the library that are used."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__(
            Name=lambda name, kind: (name, kind),
            NameType=SimpleNamespace(kerberos_principal="principal", hostbased_service="service"),
            RequirementFlag=SimpleNamespace(
                mutual_authentication=1, integrity=2, out_of_sequence_detection=4
            ),
            MechType=SimpleNamespace(kerberos="kerberos"),
            SecurityContext=Context,
            exceptions=SimpleNamespace(GSSError=GSSError),
        )
        self.error = error
        self.credentials: list[dict[str, Any]] = []

    def Credentials(self, **fields: Any) -> str:  # noqa: N802
        self.credentials.append(fields)
        if self.error is not None:
            raise self.error
        return "credentials"


def account(monkeypatch: pytest.MonkeyPatch, library: Any, **fields: Any) -> GssapiAccount:
    monkeypatch.setitem(sys.modules, "gssapi", library)
    return GssapiAccount(UpstreamSasl(mechanism=UpstreamMechanism.GSSAPI, **fields))


def test_both_prove_themselves_and_no_layer_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    client = account(monkeypatch, Library()).new_client("kafka-1.internal")

    assert client._context.fields["name"] == ("kafka@kafka-1.internal", "service")
    assert client.first() == b"AP-REQ"
    assert client.respond(b"AP-REP") == b""
    assert client.respond(b"wrapped \x07\0\xff\xff") == b"wrapped \x01\0\0\0"
    assert client.respond(b"") is None
    with pytest.raises(LoginFailed, match="goes on after the end"):
        client.respond(b"more")


@pytest.mark.parametrize(
    ("offer", "expected"),
    [
        (b"wrapped \x06\0\xff\xff", "wants GSSAPI to protect the connection"),
        (b"wrapped \x01", "wants GSSAPI to protect the connection"),
        (b"\x01\0\0\0", "Kerberos: not wrapped"),
    ],
)
def test_a_broker_that_wants_a_layer_is_refused(
    monkeypatch: pytest.MonkeyPatch, offer: bytes, expected: str
) -> None:
    client = account(monkeypatch, Library()).new_client("kafka-1.internal")
    client.first()
    client.respond(b"AP-REP")

    with pytest.raises(LoginFailed, match=expected):
        client.respond(offer)


def test_a_broker_that_does_not_prove_itself_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    client = account(monkeypatch, Library()).new_client("kafka-1.internal")
    client.first()

    with pytest.raises(LoginFailed, match="Kerberos: the broker is another"):
        client.respond(b"forged")


def test_tickets_are_the_keytab_s_and_each_account_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    for _ in range(2):
        one = account(
            monkeypatch, library, principal="gateway@X", keytab_file="/a/b.keytab", service_name="k"
        )
        one.new_client("h")
    account(monkeypatch, library).new_client("h")

    first, second, default = library.credentials
    assert (first["usage"], first["name"]) == ("initiate", ("gateway@X", "principal"))
    assert first["store"]["client_keytab"] == "FILE:/a/b.keytab"
    assert first["store"]["ccache"].startswith("MEMORY:")
    assert first["store"]["ccache"] != second["store"]["ccache"]
    assert (default["name"], default["store"]) == (None, None)


def test_without_a_ticket_there_is_no_login(monkeypatch: pytest.MonkeyPatch) -> None:
    one = account(monkeypatch, Library(GSSError("No Kerberos credentials\n available")))

    with pytest.raises(LoginFailed, match="Kerberos: No Kerberos credentials available"):
        one.new_client("kafka-1.internal")


def test_a_kdc_is_waited_for_in_a_thread_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    one = account(monkeypatch, Library())

    name = asyncio.run(one.in_thread(lambda: threading.current_thread().name))

    assert name.startswith("kerberos")


def test_without_the_library_the_gateway_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StartError, match=r"pip install '\.\[gssapi\]' in a clone of Bifrost"):
        account(monkeypatch, None)
