import ssl
from pathlib import Path
from typing import Any

import pytest

from bifrost.config.fields.server_tls import ServerTls
from bifrost.config.files.server_context import ServerContextError, build_server_context
from support.identity.certificates import Authority, Identity

AUTHORITY = Authority("CA")
SERVER = AUTHORITY.server("gateway.example.com")


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, Any]:
    files = SERVER.write(tmp_path, "server")
    AUTHORITY.write(tmp_path / "ca.pem")
    return {"certificate_file": str(files.certificate), "key_file": str(files.key)}


def build(keys: dict[str, Any], **more: Any) -> ssl.SSLContext:
    return build_server_context(ServerTls.model_validate(keys | more))


def connect(server: ssl.SSLContext, client: ssl.SSLContext) -> tuple[ssl.SSLObject, ssl.SSLObject]:
    """Let two contexts speak with each other, without any socket; give the server's side and the client's."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    there = server.wrap_bio(to_server, to_client, server_side=True)
    here = client.wrap_bio(to_client, to_server, server_hostname="gateway.example.com")
    for _ in range(5):
        for side in (here, there):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return there, here


def client_of(tmp_path: Path, identity: Identity | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=AUTHORITY.pem.decode())
    if identity is not None:
        files = identity.write(tmp_path, "client")
        context.load_cert_chain(files.certificate, files.key)
    return context


def test_clients_that_trust_the_ca_connect(keys: dict[str, Any], tmp_path: Path) -> None:
    server, client = connect(build(keys), client_of(tmp_path))

    assert client.version() == server.version() == "TLSv1.3"
    assert client.compression() is None
    assert server.getpeercert(binary_form=True) is None


def test_nothing_is_resumed_compressed_or_negotiated_anew(keys: dict[str, Any]) -> None:
    context = build(keys)

    assert context.num_tickets == 0
    for option in (ssl.OP_NO_TICKET, ssl.OP_NO_COMPRESSION, ssl.OP_NO_RENEGOTIATION):
        assert context.options & option
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert build(keys, min_version="TLSv1.3").minimum_version is ssl.TLSVersion.TLSv1_3


def test_an_intermediate_ca_is_believed_without_its_root_and_nothing_else(
    keys: dict[str, Any], tmp_path: Path
) -> None:
    intermediate = Authority("CA of clients", AUTHORITY)
    intermediate.write(tmp_path / "clients.pem")
    context = build(keys, client_auth="required", client_ca_file=str(tmp_path / "clients.pem"))

    trusted = intermediate.client("billing")
    server, _ = connect(context, client_of(tmp_path, trusted))
    assert server.getpeercert(binary_form=True) == trusted.der
    with pytest.raises(ssl.SSLCertVerificationError):
        connect(context, client_of(tmp_path, AUTHORITY.client("billing")))
    with pytest.raises(ssl.SSLError, match="did not return a certificate"):
        connect(context, client_of(tmp_path))


def test_a_certificate_that_is_only_requested_may_be_absent(keys: dict[str, Any], tmp_path: Path) -> None:
    context = build(keys, client_auth="requested", client_ca_file=str(tmp_path / "ca.pem"))

    server, _ = connect(context, client_of(tmp_path))
    assert server.getpeercert(binary_form=True) is None
    with pytest.raises(ssl.SSLCertVerificationError):
        connect(context, client_of(tmp_path, Authority("another").client("billing")))


def test_an_encrypted_key_is_opened(keys: dict[str, Any], tmp_path: Path) -> None:
    Path(keys["key_file"]).write_bytes(SERVER.key_pem("open sesame"))
    (tmp_path / "password").write_text("open sesame\n")

    context = build(keys, key_password_file=str(tmp_path / "password"))

    assert connect(context, client_of(tmp_path))[1].version() == "TLSv1.3"


def test_ciphers_are_those_of_the_section(keys: dict[str, Any], tmp_path: Path) -> None:
    client = client_of(tmp_path)
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    _, side = connect(build(keys, ciphers="ECDHE-ECDSA-CHACHA20-POLY1305"), client)

    cipher = side.cipher()
    assert cipher is not None
    assert cipher[0] == "ECDHE-ECDSA-CHACHA20-POLY1305"


PEM = "-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n"
BAD: dict[str, tuple[dict[str, str | bytes | None], dict[str, str], str, str]] = {
    "no certificate": ({"server.pem": None}, {}, "certificate_file", "no such file"),
    "no key": ({"server.key": None}, {}, "key_file", "no such file"),
    "DER": ({"server.pem": SERVER.der}, {}, "certificate_file", "not PEM"),
    "a key for a certificate": (
        {"server.pem": SERVER.key_pem()},
        {},
        "certificate_file",
        "no CERTIFICATE block",
    ),
    "a certificate for a key": (
        {"server.key": SERVER.certificate_pem},
        {},
        "key_file",
        "no PRIVATE KEY block",
    ),
    "broken": ({"server.pem": PEM}, {}, "certificate_file", "cannot be read as certificates"),
    "broken key": (
        {"server.key": PEM.replace("CERTIFICATE", "PRIVATE KEY")},
        {},
        "key_file",
        "cannot be read as a private key",
    ),
    "another's key": (
        {"server.key": AUTHORITY.server("other").key_pem()},
        {},
        "key_file",
        "is not that of the first",
    ),
    "the CA first": (
        {"server.pem": AUTHORITY.pem + SERVER.certificate_pem},
        {},
        "key_file",
        "stands first there",
    ),
    "encrypted": ({"server.key": SERVER.key_pem("x")}, {}, "key_file", "is encrypted"),
    "wrong password": (
        {"server.key": SERVER.key_pem("x"), "password": "y"},
        {"key_password_file": "password"},
        "key_password_file",
        "does not open",
    ),
    "needless password": (
        {"password": "y"},
        {"key_password_file": "password"},
        "key_password_file",
        "not encrypted",
    ),
    "empty password": ({"password": "\n"}, {"key_password_file": "password"}, "key_password_file", "empty"),
    "no password": ({}, {"key_password_file": "password"}, "key_password_file", "no such file"),
    "no CA": (
        {"ca.pem": None},
        {"client_auth": "required", "client_ca_file": "ca.pem"},
        "client_ca_file",
        "no such file",
    ),
    "broken CA": (
        {"ca.pem": PEM},
        {"client_auth": "required", "client_ca_file": "ca.pem"},
        "client_ca_file",
        "cannot be read as certificates",
    ),
    "ciphers": ({}, {"ciphers": "none-of-these"}, "ciphers", "OpenSSL knows none"),
}


@pytest.mark.parametrize("name", BAD)
def test_files_that_do_not_serve_are_named_with_their_key(
    name: str, keys: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    files, more, key, expected = BAD[name]
    for file, content in files.items():
        path = tmp_path / file
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    paths = {one: str(tmp_path / value) if one.endswith("_file") else value for one, value in more.items()}

    with pytest.raises(ServerContextError, match=expected) as caught:
        build(keys, **paths)

    assert caught.value.key == key
    assert caught.value.__cause__ is None
    # OpenSSL asks for nothing at the terminal.
    assert capfd.readouterr() == ("", "")
