import datetime
import ssl
from pathlib import Path
from typing import Any

import pytest

from bifrost.config.fields.server_tls import ServerTls
from bifrost.config.files.revocation import MAX_CRL_BYTES
from bifrost.config.files.server_context import ServerContextError, build_server_context, crl_expiry
from support.identity.certificates import DAY, Authority, Identity

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
    # OpenSSL asks for nothing at the terminal. Other lines may be there: clients of earlier tests write them.
    assert "pass phrase" not in "".join(capfd.readouterr())


def crls_of(keys: dict[str, Any], tmp_path: Path, cas: bytes, lists: bytes) -> ssl.SSLContext:
    (tmp_path / "cas.pem").write_bytes(cas)
    (tmp_path / "crl.pem").write_bytes(lists)
    files = {"client_ca_file": str(tmp_path / "cas.pem"), "client_crl_file": str(tmp_path / "crl.pem")}
    return build(keys, client_auth="required", **files)


def test_a_revoked_client_is_refused_and_others_are_not(keys: dict[str, Any], tmp_path: Path) -> None:
    good, revoked = AUTHORITY.client("billing"), AUTHORITY.client("shop")
    context = crls_of(keys, tmp_path, AUTHORITY.pem, AUTHORITY.revocations(revoked))

    server, _ = connect(context, client_of(tmp_path, good))
    assert server.getpeercert(binary_form=True) == good.der
    with pytest.raises(ssl.SSLCertVerificationError, match="certificate revoked"):
        connect(context, client_of(tmp_path, revoked))


def test_an_expired_list_refuses_every_client_of_its_ca(keys: dict[str, Any], tmp_path: Path) -> None:
    other = Authority("another CA")
    late = AUTHORITY.revocations(until=datetime.datetime.now(datetime.UTC) - DAY)
    context = crls_of(keys, tmp_path, AUTHORITY.pem + other.pem, late + other.revocations())

    with pytest.raises(ssl.SSLCertVerificationError, match="CRL has expired"):
        connect(context, client_of(tmp_path, AUTHORITY.client("billing")))
    connect(context, client_of(tmp_path, other.client("billing")))


def test_every_ca_of_a_chain_needs_a_list(keys: dict[str, Any], tmp_path: Path) -> None:
    below = Authority("CA of clients", AUTHORITY)
    client = client_of(tmp_path, below.client("billing"))
    cas = AUTHORITY.pem + below.pem

    connect(crls_of(keys, tmp_path, cas, AUTHORITY.revocations() + below.revocations()), client)
    connect(crls_of(keys, tmp_path, AUTHORITY.pem, AUTHORITY.revocations() + below.revocations()), client)
    for some in (AUTHORITY.revocations(), below.revocations()):
        with pytest.raises(ssl.SSLCertVerificationError, match="unable to get certificate CRL"):
            connect(crls_of(keys, tmp_path, cas, some), client)
    with pytest.raises(ssl.SSLCertVerificationError, match="certificate revoked"):
        connect(crls_of(keys, tmp_path, cas, AUTHORITY.revocations(below) + below.revocations()), client)


def test_a_list_that_another_ca_has_signed_is_worth_nothing(keys: dict[str, Any], tmp_path: Path) -> None:
    forged = Authority("CA").revocations()

    with pytest.raises(ssl.SSLCertVerificationError):
        connect(
            crls_of(keys, tmp_path, AUTHORITY.pem, forged),
            client_of(tmp_path, AUTHORITY.client("billing")),
        )


def test_lists_need_the_roots_of_intermediate_cas(keys: dict[str, Any], tmp_path: Path) -> None:
    below = Authority("CA of clients", AUTHORITY)

    with pytest.raises(ServerContextError, match="has commonName=CA of clients without the CA") as caught:
        crls_of(keys, tmp_path, below.pem, below.revocations())
    assert caught.value.key == "client_ca_file"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "no such file"),
        (b"lists", "has no X509 CRL block"),
        (AUTHORITY.revocations() + Authority("mine").pem, "has a block 'CERTIFICATE'"),
        (bytes(MAX_CRL_BYTES + 1), "larger than 1048576 bytes"),
    ],
)
def test_a_file_without_lists_is_named_with_its_key(
    keys: dict[str, Any], tmp_path: Path, content: bytes | None, expected: str
) -> None:
    path = tmp_path / "lists.pem"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ServerContextError, match=expected) as caught:
        build(
            keys,
            client_auth="required",
            client_ca_file=str(tmp_path / "ca.pem"),
            client_crl_file=str(path),
        )
    assert caught.value.key == "client_crl_file"


def test_the_expiry_of_lists_is_that_of_the_file(keys: dict[str, Any], tmp_path: Path) -> None:
    until = datetime.datetime(2040, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    (tmp_path / "crl.pem").write_bytes(AUTHORITY.revocations(until=until))
    files = {"client_ca_file": str(tmp_path / "ca.pem"), "client_crl_file": str(tmp_path / "crl.pem")}

    assert crl_expiry(ServerTls.model_validate(keys | {"client_auth": "required"} | files)) == until
    assert crl_expiry(ServerTls.model_validate(keys)) is None
