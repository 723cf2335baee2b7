"""The TLS context of connections to brokers, and its files; handshakes are in tests/kafka/upstream."""

import asyncio
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest

from bifrost.config.fields.client_tls import ClientTls
from bifrost.config.kept_secret import KeptSecret
from bifrost.gateway.brokers.broker_tls import FileWatch, new_context, tls_failure, watch_context
from bifrost.gateway.errors import StartError
from support.identity.certificates import Authority, Files


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority("a CA")


@pytest.fixture
def files(authority: Authority, tmp_path: Path) -> Files:
    authority.write(tmp_path / "ca.pem")
    return authority.client("gateway").write(tmp_path, "gateway")


def test_by_default_a_broker_must_have_a_certificate_for_its_host() -> None:
    context = new_context(ClientTls())

    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2


def test_what_is_said_is_done(files: Files, tmp_path: Path) -> None:
    tls = ClientTls(
        ca_file=str(tmp_path / "ca.pem"),
        certificate_file=str(files.certificate),
        key_file=str(files.key),
        verify_hostname=False,
        min_version="TLSv1.3",
        ciphers="ECDHE+AESGCM",
    )

    context = new_context(tls)

    assert context.verify_mode is ssl.CERT_REQUIRED
    assert not context.check_hostname
    assert context.minimum_version is ssl.TLSVersion.TLSv1_3
    assert [one["subject"] for one in context.get_ca_certs()] == [((("commonName", "a CA"),),)]
    assert context.verify_flags & ssl.VERIFY_X509_PARTIAL_CHAIN
    older = [one["name"] for one in context.get_ciphers() if one["protocol"] != "TLSv1.3"]
    assert older
    assert all("GCM" in name for name in older)


def test_an_encrypted_key_needs_its_password_and_never_asks_for_it(
    authority: Authority, tmp_path: Path
) -> None:
    files = authority.client("gateway").write(tmp_path, "gateway", password="key-pw")
    tls = ClientTls(certificate_file=str(files.certificate), key_file=str(files.key))

    new_context(tls.model_copy(update={"key_password": KeptSecret(b"key-pw")}))
    wrong = tls.model_copy(update={"key_password": KeptSecret(b"wrong-pw")})
    with pytest.raises(StartError, match=r"upstream\.tls: key_password_file") as caught:
        watch_context("upstream.tls", wrong)
    assert "wrong-pw" not in str(caught.value)
    with pytest.raises(StartError, match=r"upstream\.tls: "):
        watch_context("upstream.tls", tls)


def test_files_that_cannot_be_used_are_said_at_the_start(
    authority: Authority, files: Files, tmp_path: Path
) -> None:
    other = authority.client("other").write(tmp_path, "other")
    (tmp_path / "broken.pem").write_text("-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n")
    cases: list[tuple[dict[str, Any], str]] = [
        (
            {"certificate_file": str(files.certificate), "key_file": str(other.key)},
            "key_file is not the key of",
        ),
        ({"ca_file": str(tmp_path / "broken.pem")}, "TLS failed|holds no certificate|PEM"),
        ({"ca_file": str(tmp_path / "none.pem")}, "No such file"),
        ({"ciphers": "NONE-SUCH"}, "OpenSSL knows no cipher suite of those in ciphers"),
    ]
    for fields, expected in cases:
        with pytest.raises(StartError, match=expected):
            watch_context("upstream.tls", ClientTls(**fields))


def current(watch: FileWatch[str]) -> str:
    return asyncio.run(watch.current())


def test_files_that_changed_are_read_again(tmp_path: Path, logged: list[dict[str, Any]]) -> None:
    file = tmp_path / "file"
    file.write_text("one")
    watch = FileWatch("upstream.tls", [str(file), None], file.read_text)
    assert [current(watch), current(watch)] == ["one", "one"]

    file.write_text("three")
    assert [current(watch), current(watch)] == ["three", "three"]

    file.unlink()
    assert [current(watch), current(watch)] == ["three", "three"]
    file.write_text("four")
    assert current(watch) == "four"
    assert [one["event"] for one in logged] == ["files_read_again", "files_not_usable", "files_read_again"]


def test_files_are_read_in_a_thread_once_for_all_that_wait(tmp_path: Path) -> None:
    file, makers = tmp_path / "file", list[threading.Thread]()
    file.write_text("one")

    def make() -> str:
        makers.append(threading.current_thread())
        return file.read_text()

    watch = FileWatch("upstream.tls", [str(file)], make)
    file.write_text("three")

    async def scenario() -> list[str]:
        return await asyncio.gather(watch.current(), watch.current())

    assert asyncio.run(scenario()) == ["three", "three"]
    assert [one is threading.main_thread() for one in makers] == [True, False]


def test_a_link_that_points_elsewhere_is_a_change(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
    link = tmp_path / "link"
    link.symlink_to("one")
    watch = FileWatch("upstream.tls", [str(link)], link.read_text)

    link.unlink()
    link.symlink_to("two")

    assert current(watch) == "two"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (FileNotFoundError(2, "No such file or directory", "ca.pem"), "ca.pem: No such file or directory"),
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
        (ValueError("why"), "why"),
        (EOFError(), "EOFError"),
    ],
)
def test_failures_are_worded(error: Exception, expected: str) -> None:
    assert tls_failure(error) == expected


def test_failures_of_tls_are_worded() -> None:
    error = ssl.SSLError()
    error.reason = "WRONG_VERSION_NUMBER"
    untrusted = ssl.SSLCertVerificationError()
    untrusted.verify_message = "Hostname mismatch, certificate is not valid for 'kafka-1'."
    other = ssl.SSLError()
    other.reason = "SOME_NEW_REASON"

    assert tls_failure(error) == (
        "the other side does not speak TLS on this port: mend the port or security_protocol (wrong version number)"
    )
    assert tls_failure(untrusted) == (
        "the certificate is not trusted: Hostname mismatch, certificate is not valid for 'kafka-1'"
    )
    assert tls_failure(other) == "TLS failed (some new reason)"
