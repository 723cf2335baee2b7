"""Contexts that follow their files, and how handshakes end: without a socket."""

import asyncio
import datetime
import os
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest

from bifrost.config.fields.server_tls import ClientAuth, ServerTls, TlsVersion
from bifrost.config.files.server_context import ServerContextError, build_server_context
from bifrost.gateway.sockets import server_tls as module
from bifrost.gateway.sockets.server_tls import (
    LOOK_EVERY_MS,
    Encrypted,
    ServerContexts,
    ServerSocket,
    TlsFailure,
    feed,
    shake_hands,
)
from bifrost.gateway.sockets.socket_transport import Pace, at_once
from bifrost.session.close_reason import CloseReason
from support.identity.certificates import DAY, Authority

AUTHORITY = Authority("CA")


class Clock:
    now_ms = 1000

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def contexts(tmp_path: Path, clock: Clock) -> ServerContexts:
    files = AUTHORITY.server("gateway").write(tmp_path, "server")
    tls = ServerTls(certificate_file=str(files.certificate), key_file=str(files.key))
    return ServerContexts("outside", tls, clock)


def current(contexts: ServerContexts) -> ssl.SSLContext:
    return asyncio.run(contexts.current())


def replace(path: Path, content: bytes) -> None:
    """Put a file in another's place, as tools do; its inode is another one."""
    beside = path.with_suffix(".new")
    beside.write_bytes(content)
    os.replace(beside, path)


def test_the_context_stays_while_the_files_do(contexts: ServerContexts, clock: Clock) -> None:
    first = current(contexts)
    clock.now_ms += 10 * LOOK_EVERY_MS

    assert current(contexts) is first


def test_new_files_make_a_new_context_but_not_at_every_connection(
    contexts: ServerContexts, clock: Clock, tmp_path: Path, logged: list[dict[str, Any]]
) -> None:
    first, renewed = current(contexts), AUTHORITY.server("gateway")
    replace(tmp_path / "server.pem", renewed.certificate_pem)
    replace(tmp_path / "server.key", renewed.key_pem())

    assert current(contexts) is first
    clock.now_ms += LOOK_EVERY_MS
    assert current(contexts) is not first
    assert [entry["event"] for entry in logged] == ["certificate_renewed"]


def test_files_are_read_in_a_thread_while_the_loop_goes_on_and_connections_wait(
    contexts: ServerContexts, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, renewed, go_on = current(contexts), AUTHORITY.server("gateway"), threading.Event()
    made: list[ssl.SSLContext] = []

    def build(tls: ServerTls) -> ssl.SSLContext:
        assert go_on.wait(10)
        made.append(build_server_context(tls))
        return made[-1]

    monkeypatch.setattr(module, "build_server_context", build)
    replace(tmp_path / "server.key", renewed.key_pem())
    replace(tmp_path / "server.pem", renewed.certificate_pem)
    clock.now_ms += LOOK_EVERY_MS

    async def scenario() -> list[ssl.SSLContext]:
        tasks = [asyncio.create_task(contexts.current()) for _ in range(3)]
        await asyncio.sleep(0.01)
        assert not any(task.done() for task in tasks)
        tasks[0].cancel()
        go_on.set()
        return await asyncio.gather(*tasks[1:])

    found = asyncio.run(scenario())

    assert found == made * 2
    assert len(made) == 1
    assert made[0] is not first


def test_files_that_do_not_fit_leave_the_old_ones_with_one_warning(
    contexts: ServerContexts, tmp_path: Path, logged: list[dict[str, Any]]
) -> None:
    first, renewed = current(contexts), AUTHORITY.server("gateway")
    replace(tmp_path / "server.pem", renewed.certificate_pem)

    asyncio.run(contexts.refresh())
    asyncio.run(contexts.refresh())

    assert current(contexts) is first
    assert [(entry["event"], entry["listener"], entry["key"]) for entry in logged] == [
        ("certificate_not_renewed", "outside", "tls.key_file")
    ]
    replace(tmp_path / "server.key", renewed.key_pem())
    asyncio.run(contexts.refresh())
    assert current(contexts) is not first


def test_a_context_goes_on_while_neither_settings_nor_files_have_changed(
    contexts: ServerContexts, tmp_path: Path, logged: list[dict[str, Any]]
) -> None:
    tls = contexts._tls
    others = {"min_version": TlsVersion.V1_3}, {"certificate_file": "b.pem"}, {"ciphers": "ECDHE+AESGCM"}

    assert contexts.has("outside", tls.model_copy())
    assert not contexts.has("inside", tls)
    assert not any(contexts.has("outside", tls.model_copy(update=one)) for one in others)

    renewed = AUTHORITY.server("gateway")
    replace(tmp_path / "server.pem", renewed.certificate_pem)
    assert not contexts.has("outside", tls), "a file has changed"
    asyncio.run(contexts.refresh())
    assert not contexts.has("outside", tls), "it is not what the files say, which cannot be used"
    replace(tmp_path / "server.key", renewed.key_pem())
    asyncio.run(contexts.refresh())
    assert contexts.has("outside", tls)
    assert len(logged) == 2


def test_a_file_that_is_gone_is_warned_of_and_may_come_back(
    contexts: ServerContexts, tmp_path: Path, logged: list[dict[str, Any]]
) -> None:
    first, key = current(contexts), (tmp_path / "server.key").read_bytes()
    (tmp_path / "server.key").unlink()
    asyncio.run(contexts.refresh())
    assert current(contexts) is first
    (tmp_path / "server.key").write_bytes(key)
    asyncio.run(contexts.refresh())

    assert [entry["event"] for entry in logged] == ["certificate_not_renewed", "certificate_renewed"]


def test_at_the_start_there_must_be_certificates(tmp_path: Path, clock: Clock) -> None:
    with pytest.raises(ServerContextError, match="no such file"):
        ServerContexts("outside", ServerTls(certificate_file=str(tmp_path / "a"), key_file="b"), clock)


def mutual(tmp_path: Path, until: datetime.datetime) -> ServerTls:
    """Write the files of a server that asks for certificates, with a list that is valid until then."""
    files = AUTHORITY.server("gateway").write(tmp_path, "server")
    AUTHORITY.write(tmp_path / "ca.pem")
    (tmp_path / "crl.pem").write_bytes(AUTHORITY.revocations(until=until))
    return ServerTls(
        certificate_file=str(files.certificate),
        key_file=str(files.key),
        client_auth=ClientAuth.REQUIRED,
        client_ca_file=str(tmp_path / "ca.pem"),
        client_crl_file=str(tmp_path / "crl.pem"),
    )


UNTIL = datetime.datetime(2040, 1, 1, tzinfo=datetime.UTC)


def test_a_context_whose_list_of_revoked_certificates_has_expired_does_not_go_on(
    tmp_path: Path, clock: Clock
) -> None:
    now = [UNTIL.timestamp() - 1]
    tls = mutual(tmp_path, UNTIL)
    contexts = ServerContexts("outside", tls, clock, lambda: now[0])

    assert contexts.has("outside", tls)
    now[0] += 1
    assert not contexts.has("outside", tls)


def test_a_new_list_of_revoked_certificates_makes_a_new_context(
    tmp_path: Path, clock: Clock, logged: list[dict[str, Any]]
) -> None:
    contexts = ServerContexts("outside", mutual(tmp_path, UNTIL), clock, lambda: UNTIL.timestamp() - 1)
    first = current(contexts)
    replace(tmp_path / "crl.pem", AUTHORITY.revocations(AUTHORITY.client("shop"), until=UNTIL + DAY))
    clock.now_ms += LOOK_EVERY_MS

    assert current(contexts) is not first
    assert [entry["event"] for entry in logged] == ["certificate_renewed"]


def test_a_list_that_expires_is_warned_of_once_and_ends_the_sessions_that_could_be_resumed(
    tmp_path: Path, clock: Clock, logged: list[dict[str, Any]]
) -> None:
    now = [UNTIL.timestamp() - 1]
    contexts = ServerContexts("outside", mutual(tmp_path, UNTIL), clock, lambda: now[0])
    first = current(contexts)
    assert (current(contexts), logged) == (first, [])

    now[0] += 1
    second = current(contexts)

    assert second is not first
    assert current(contexts) is second
    assert [(entry["event"], entry["listener"], entry["next_update"]) for entry in logged] == [
        ("client_crl_expired", "outside", "2040-01-01T00:00:00+00:00")
    ]


def test_a_list_that_expires_and_cannot_be_read_leaves_no_session_to_resume(
    tmp_path: Path, clock: Clock, logged: list[dict[str, Any]]
) -> None:
    now = [UNTIL.timestamp() - 1]
    contexts = ServerContexts("outside", mutual(tmp_path, UNTIL), clock, lambda: now[0])
    (tmp_path / "crl.pem").unlink()
    now[0] += 1

    assert current(contexts).minimum_version is ssl.TLSVersion.TLSv1_3
    assert [entry["event"] for entry in logged] == ["certificate_not_renewed"]


def hello_to(name: str) -> bytes:
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(to_client, to_server, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return to_server.read()


def test_the_server_name_is_noted(contexts: ServerContexts) -> None:
    context, incoming = current(contexts), ssl.MemoryBIO()
    assert context.sslsocket_class is ServerSocket
    incoming.write(hello_to("kafka.example.com"))
    made: Any = context.wrap_bio(incoming, ssl.MemoryBIO(), server_side=True)

    with pytest.raises(ssl.SSLWantReadError):
        made.do_handshake()

    assert made.server_name == "kafka.example.com"


class Shaken:
    """A transport whose handshake ends as it is told."""

    def __init__(self, outcome: Any) -> None:
        self.outcome = outcome

    async def shake_hands(self, _context: ssl.SSLContext, *, server_side: bool, pace: Pace) -> Any:
        assert server_side
        assert pace is at_once
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


class Resumed:
    """A client's TLS that goes on with a session of before."""

    session_reused, server_name = True, None

    def __init__(self, not_after: str) -> None:
        self.not_after = not_after

    def getpeercert(self, binary_form: bool = False) -> Any:
        return b"a certificate" if binary_form else {"notAfter": self.not_after}


def shake(contexts: ServerContexts, outcome: Any) -> Encrypted:
    return asyncio.run(shake_hands(Shaken(outcome), current(contexts)))  # type: ignore[arg-type]


def test_a_failed_handshake_ends_in_words(contexts: ServerContexts) -> None:
    error = ssl.SSLError(1, "[SSL: NO_SHARED_CIPHER] no shared cipher")
    error.reason = "NO_SHARED_CIPHER"
    with pytest.raises(TlsFailure, match="no cipher in common") as caught:
        shake(contexts, error)
    assert caught.value.reason is CloseReason.TLS_HANDSHAKE_FAILED


def test_who_is_gone_has_not_failed(contexts: ServerContexts) -> None:
    with pytest.raises(ConnectionResetError):
        shake(contexts, ConnectionResetError("gone"))


def test_a_resumed_session_does_not_outlive_the_certificate(contexts: ServerContexts) -> None:
    assert shake(contexts, Resumed("Jan  1 00:00:00 2090 GMT")).certificate == b"a certificate"
    with pytest.raises(TlsFailure, match="expired since"):
        shake(contexts, Resumed("Jan  1 00:00:00 2020 GMT"))


def test_what_came_before_is_given_in_the_room_there_is() -> None:
    class Reader(asyncio.BufferedProtocol):
        def __init__(self) -> None:
            self.buffer, self.got = bytearray(3), b""

        def get_buffer(self, sizehint: int) -> bytearray:
            return self.buffer

        def buffer_updated(self, nbytes: int) -> None:
            self.got += self.buffer[:nbytes]

    reader = Reader()
    feed(reader, b"12345678")

    assert reader.got == b"12345678"
