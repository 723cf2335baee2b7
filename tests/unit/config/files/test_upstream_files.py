"""The files that secure connections to the brokers, read by the loader."""

from pathlib import Path

import pytest

from bifrost.config.files.upstream_files import UnusableFile, read_token
from support.journal.loading import load
from unit.config.conftest import PROXY_YAML, problems_of

BOOTSTRAP = '  bootstrap: ["kafka-1.internal:9092", "kafka-2.internal:9092", "kafka-3.internal:9092"]\n'
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\n"
LOCKED = KEY.replace("PRIVATE", "ENCRYPTED PRIVATE")


def with_tls(*lines: str) -> str:
    section = "".join(f"    {line}\n" for line in lines)
    return PROXY_YAML.replace(BOOTSTRAP, f"{BOOTSTRAP}  security_protocol: SSL\n  tls:\n{section}")


def with_sasl(*lines: str) -> str:
    section = "".join(f"    {line}\n" for line in lines)
    return PROXY_YAML.replace(BOOTSTRAP, f"{BOOTSTRAP}  security_protocol: SASL_SSL\n  sasl:\n{section}")


@pytest.fixture
def files(folder: Path) -> Path:
    for name, content in {
        "ca.pem": CERTIFICATE,
        "gateway.pem": CERTIFICATE,
        "gateway.key": KEY,
        "locked.key": LOCKED,
        "token": "header.claims.signature\n",
        "secret": "hunter2\n",
    }.items():
        (folder / name).write_text(content)
    return folder


def test_paths_start_at_the_folder_and_secrets_are_kept(files: Path) -> None:
    text = with_tls(
        "ca_file: ca.pem",
        "certificate_file: gateway.pem",
        "key_file: locked.key",
        "key_password_file: secret",
    )
    (files / "proxy.yaml").write_text(text)

    tls = load(files / "proxy.yaml").upstream.tls

    assert tls is not None
    assert (tls.ca_file, tls.key_file) == (str(files / "ca.pem"), str(files / "locked.key"))
    assert tls.key_password is not None
    assert tls.key_password.reveal() == b"hunter2"
    assert "hunter2" not in repr(tls)


def test_paths_that_are_kept_are_absolute(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The watch of files completes relative paths to the folder of the configuration, and would do so twice."""
    (files / "proxy.yaml").write_text(with_tls("ca_file: ca.pem"))
    monkeypatch.chdir(files.parent)

    tls = load(Path(files.name) / "proxy.yaml").upstream.tls

    assert tls is not None
    assert tls.ca_file == str(files / "ca.pem")


def test_every_account_has_its_secret(files: Path) -> None:
    account = "{ mechanism: PLAIN, username: x, password_file: secret }"
    text = with_sasl("mechanism: SCRAM-SHA-256", "username: gateway", "password_file: secret")
    text = text.replace("  - name: acme\n", f"  - name: acme\n    upstream_sasl: {account}\n")
    text = text.replace("username: globex,", f"username: globex, upstream_sasl: {account},")
    (files / "proxy.yaml").write_text(text)

    config = load("proxy.yaml")

    acme, globex = config.tenants
    accounts = [config.upstream.sasl, acme.upstream_sasl, globex.auth.credentials[0].upstream_sasl]
    assert [one.password.reveal() for one in accounts] == [b"hunter2"] * 3
    assert "hunter2" not in repr(config)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["ca_file: none.pem"], "none.pem: no such file; a relative path starts at the folder of this file"),
        (["ca_file: gateway.key"], "gateway.key: holds no certificate in PEM: is it the right file?"),
        (["ca_file: jks"], "jks: holds no certificate in PEM: it is a Java key store; convert it with keytool "
         "-importkeystore to PKCS12, then with openssl pkcs12"),
        (["ca_file: der"], "der: holds no certificate in PEM: it is binary (DER or PKCS12); convert it with openssl "
         "x509 or openssl pkcs12"),
        (["ca_file: ."], ".: a directory, not a file"),
    ],
)  # fmt: skip
def test_a_file_of_certificates_must_be_one(files: Path, lines: list[str], expected: str) -> None:
    (files / "jks").write_bytes(b"\xfe\xed\xfe\xed\0")
    (files / "der").write_bytes(b"\x30\x82\0")

    assert problems_of(files, with_tls(*lines)) == [
        f"proxy.yaml:14: upstream.tls.ca_file: certificate file {expected}"
    ]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("ca.pem", "holds no private key in PEM: is it the right file?"),
        ("locked.key", "encrypted: add key_password_file"),
    ],
)
def test_a_key_must_be_usable(files: Path, key: str, expected: str) -> None:
    assert problems_of(files, with_tls("certificate_file: gateway.pem", f"key_file: {key}")) == [
        f"proxy.yaml:15: upstream.tls.key_file: key file {key}: {expected}"
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [("", "empty: write the token into it"), ("two words", "holds no bearer token, or more than one")],
)
def test_a_token_must_be_one(files: Path, content: str, expected: str) -> None:
    (files / "token").write_text(content)

    assert problems_of(files, with_sasl("mechanism: OAUTHBEARER", "token_file: token")) == [
        f"proxy.yaml:15: upstream.sasl.token_file: token file token: {expected}"
    ]
    with pytest.raises(UnusableFile):
        read_token(content.encode())


def test_a_secret_in_the_file_is_refused_and_not_repeated(files: Path) -> None:
    found = problems_of(
        files, with_sasl("mechanism: PLAIN", "username: x", "password_file: secret", "password: hunter3")
    )

    assert found == [
        "proxy.yaml:17: upstream.sasl.password: a password never stands in this file: write it to a file and name "
        "that with password_file"
    ]


def test_a_keytab_must_be_one(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bifrost.config.files.upstream_files.find_spec", lambda _name: object())

    found = problems_of(files, with_sasl("mechanism: GSSAPI", "principal: x", "keytab_file: secret"))

    assert found == [
        "proxy.yaml:16: upstream.sasl.keytab_file: keytab secret: no keytab: is it the right file?"
    ]


def test_a_token_is_what_rfc_6750_calls_one() -> None:
    assert read_token(b" aB0-._~+/== \n") == "aB0-._~+/=="
