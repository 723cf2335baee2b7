"""What Vault may answer, played over HTTP; a real one is in tests/kms."""

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.errors import KekUnavailable, UnknownKek
from bifrost.encryption.wrapped_dek import WrappedDek
from bifrost.keys.vault import MAX_ANSWER_BYTES, Vault, VaultSettings
from support.encryption.in_thread import in_thread

DEK = bytes(range(100, 132))
ORDERS = DekContext("cluster", "orders")
WRAPPED = WrappedDek("vault:transit/payments", 3, b"vault:v3:AAAA")
TOKEN = "s.a-token-of-vault"
ECHO = json.dumps({"errors": [base64.b64encode(DEK).decode()]}).encode()


class PlayedVault:
    """Answers as it is told, and remembers what it was asked."""

    def __init__(self) -> None:
        played = self
        self.status, self.answer, self.delay_s = 200, b"{}", 0.0
        self.asked: list[tuple[str, dict[str, str], Any]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                played.asked.append((self.path, dict(self.headers), body))
                time.sleep(played.delay_s)
                self.send_response(played.status)
                self.end_headers()
                self.wfile.write(played.answer)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: object) -> None:
                """A client that has waited long enough is gone."""

        self._server = in_thread(lambda: Server(("127.0.0.1", 0), Handler))
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def played() -> Iterator[PlayedVault]:
    vault = PlayedVault()
    yield vault
    vault.close()


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    return path


def settings(address: str, token_file: Path, **options: Any) -> VaultSettings:
    return VaultSettings(address, "payments", token_file, **options)


def test_a_dek_is_sent_with_its_topic_and_the_version_read(played: PlayedVault, token_file: Path) -> None:
    vault = Vault(settings(f"{played.address}/base", token_file, mount="kms/transit", namespace="team"))
    played.answer = json.dumps({"data": {"ciphertext": "vault:v12:AbC="}}).encode()

    wrapped = in_thread(lambda: vault.wrap(DEK, ORDERS))

    assert wrapped == WrappedDek("vault:kms/transit/payments", 12, b"vault:v12:AbC=")
    ((path, headers, body),) = played.asked
    assert path == "/base/v1/kms/transit/encrypt/payments"
    assert (headers["X-Vault-Token"], headers["X-Vault-Namespace"]) == (TOKEN, "team")
    assert {name: base64.b64decode(value) for name, value in body.items()} == {
        "plaintext": DEK,
        "associated_data": ORDERS.as_bytes(),
    }
    vault.close()


def test_a_dek_comes_back(played: PlayedVault, token_file: Path) -> None:
    vault = Vault(settings(played.address, token_file))
    played.answer = json.dumps({"data": {"plaintext": base64.b64encode(DEK).decode()}}).encode()

    assert in_thread(lambda: vault.unwrap(WRAPPED, ORDERS)) == DEK
    ((path, _, body),) = played.asked
    assert (path, body["ciphertext"]) == ("/v1/transit/decrypt/payments", "vault:v3:AAAA")


def test_the_token_is_read_for_each_call(played: PlayedVault, token_file: Path) -> None:
    vault = Vault(settings(played.address, token_file))
    played.answer = json.dumps({"data": {"ciphertext": "vault:v1:A"}}).encode()
    in_thread(lambda: vault.wrap(DEK, ORDERS))
    token_file.write_text("s.renewed")
    in_thread(lambda: vault.wrap(DEK, ORDERS))

    assert [headers["X-Vault-Token"] for _, headers, _ in played.asked] == [TOKEN, "s.renewed"]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, UnknownKek),
        (404, UnknownKek),
        (403, KekUnavailable),
        (307, KekUnavailable),
        (412, KekUnavailable),
        (429, KekUnavailable),
        (500, KekUnavailable),
        (503, KekUnavailable),
    ],
)
def test_a_refusal_is_of_one_of_two_kinds_and_shows_nothing(
    played: PlayedVault, token_file: Path, status: int, expected: type[Exception]
) -> None:
    vault = Vault(settings(played.address, token_file))
    played.status, played.answer = status, ECHO
    for call in (lambda: vault.wrap(DEK, ORDERS), lambda: vault.unwrap(WRAPPED, ORDERS)):
        shown = refused(call, expected)
        assert base64.b64encode(DEK).decode() not in shown
        assert TOKEN not in shown
        assert "vault:transit/payments" in shown


def refused(call: Callable[[], object], expected: type[Exception]) -> str:
    with pytest.raises(expected) as caught:
        in_thread(call)
    return f"{caught.value!r} {caught.value}"


@pytest.mark.parametrize(
    "answer", [b"", b"{", b"[]", b'{"data": null}', b'{"data": {}}', b'{"data": {"plaintext": 5}}', ECHO]
)
def test_an_answer_that_vault_does_not_give_is_no_key(
    played: PlayedVault, token_file: Path, answer: bytes
) -> None:
    vault = Vault(settings(played.address, token_file))
    played.answer = answer

    assert "does not give" in refused(lambda: vault.unwrap(WRAPPED, ORDERS), KekUnavailable)


def test_an_answer_is_bounded_and_must_be_base64(played: PlayedVault, token_file: Path) -> None:
    vault = Vault(settings(played.address, token_file))
    played.answer = b'{"data": {"plaintext": "' + b"A" * MAX_ANSWER_BYTES + b'"}}'
    refused(lambda: vault.unwrap(WRAPPED, ORDERS), KekUnavailable)
    played.answer = b'{"data": {"plaintext": "A!"}}'

    assert "no key" in refused(lambda: vault.unwrap(WRAPPED, ORDERS), KekUnavailable)


def test_a_vault_that_is_away_or_silent_may_come_back(played: PlayedVault, token_file: Path) -> None:
    played.delay_s = 5
    silent = Vault(settings(played.address, token_file, timeout_s=0.2))
    assert "TimeoutError" in refused(lambda: silent.wrap(DEK, ORDERS), KekUnavailable)
    away = Vault(settings("http://127.0.0.1:9", token_file))
    assert "ConnectionRefusedError" in refused(lambda: away.wrap(DEK, ORDERS), KekUnavailable)


def test_a_token_that_cannot_be_used_is_named_and_not_shown(played: PlayedVault, tmp_path: Path) -> None:
    missing = Vault(settings(played.address, tmp_path / "none"))
    assert "cannot be read" in refused(lambda: missing.wrap(DEK, ORDERS), KekUnavailable)
    for content in ("", "two\nlines", "é", "a\x00b"):
        (tmp_path / "bad").write_text(content)
        shown = refused(
            lambda: Vault(settings(played.address, tmp_path / "bad")).wrap(DEK, ORDERS), KekUnavailable
        )
        assert "bad" in shown
        assert "lines" not in shown
    assert played.asked == []


def test_only_its_own_kek_is_asked(played: PlayedVault, token_file: Path) -> None:
    vault = Vault(settings(played.address, token_file))
    for kek in ("vault:transit/others", "file:payments", "vault:transit/payments/../others"):
        assert "names the KEK" in refused(
            lambda kek=kek: vault.unwrap(WRAPPED._replace(kek=kek), ORDERS),  # type: ignore[misc]
            UnknownKek,
        )
    assert played.asked == []


def test_a_ciphertext_without_a_version_has_version_0(played: PlayedVault, token_file: Path) -> None:
    vault = Vault(settings(played.address, token_file))
    for text, version in (("vault:x:A", 0), ("bare", 0), ("vault:v99999999999:A", 2**32 - 1)):
        played.answer = json.dumps({"data": {"ciphertext": text}}).encode()
        assert in_thread(lambda: vault.wrap(DEK, ORDERS)).kek_version == version


def test_an_address_has_to_be_a_url(token_file: Path) -> None:
    for address in ("localhost:8200", "ftp://vault", "http://"):
        with pytest.raises(ValueError, match="http://host:port"):
            Vault(settings(address, token_file))
    secure = Vault(settings("https://localhost:1", token_file))
    assert "ConnectionRefusedError" in refused(lambda: secure.wrap(DEK, ORDERS), KekUnavailable)
    assert TOKEN not in repr(secure)
