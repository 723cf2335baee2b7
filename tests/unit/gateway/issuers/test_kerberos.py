"""What is made of the library's words; that it accepts real tickets is in tests/kafka."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.authentication.gssapi_server import ContextFailed
from bifrost.config.fields.kerberos import Kerberos
from bifrost.gateway.errors import StartError
from bifrost.gateway.issuers.kerberos import Context, kerberos_settings

REPLAY, NOT_YET_VALID, OTHER = 0x96C73A22, 0x96C73A21, 0x96C73A1F
SETTINGS = Kerberos(keytab_file="/nowhere/kafka.keytab", realm="EXAMPLE.COM")


class LibraryError(Exception):
    def __init__(self, text: str, min_code: int = 0) -> None:
        super().__init__(text)
        self.min_code = min_code


class FakeLibrary:
    """As much of the package as is used; `fails` is what it raises, wherever it is asked."""

    initiator_name = "alice@EXAMPLE.COM"

    def __init__(self, fails: Exception | None = None) -> None:
        self.fails = fails
        self.steps: list[bytes] = []
        self.late: Exception | None = None

    @property
    def complete(self) -> bool:
        if self.late is not None:
            raise self.late
        return True

    def step(self, token: bytes) -> bytes | None:
        if self.fails is not None:
            raise self.fails
        self.steps.append(token)
        return None

    def wrap(self, message: bytes, encrypts: bool) -> Any:
        assert not encrypts
        return SimpleNamespace(message=b"w" + message)

    def unwrap(self, message: bytes) -> Any:
        return SimpleNamespace(message=message[1:])


def test_a_context_is_the_library_s() -> None:
    library = FakeLibrary()
    context = Context(lambda: library, LibraryError)

    assert context.step(b"ticket") == b""
    assert (context.is_complete, context.initiator(), library.steps) == (
        True,
        "alice@EXAMPLE.COM",
        [b"ticket"],
    )
    assert (context.wrap(b"x"), context.unwrap(b"wx")) == (b"wx", b"x")


@pytest.mark.parametrize(
    ("code", "is_passing"), [(REPLAY, True), (REPLAY - 2**32, True), (NOT_YET_VALID, True), (OTHER, False)]
)
def test_what_the_library_raises_becomes_ours(code: int, is_passing: bool) -> None:
    context = Context(lambda: FakeLibrary(LibraryError("the reason", code)), LibraryError)

    with pytest.raises(ContextFailed, match="the reason") as caught:
        context.step(b"ticket")

    assert caught.value.is_passing == is_passing


def test_what_the_library_raises_late_is_of_the_same_step() -> None:
    library = FakeLibrary()
    library.late = LibraryError("Request is a replay", REPLAY)

    with pytest.raises(ContextFailed, match="replay"):
        Context(lambda: library, LibraryError).step(b"ticket")


def test_a_bug_is_no_failure_of_the_client() -> None:
    context = Context(lambda: FakeLibrary(ZeroDivisionError()), LibraryError)

    with pytest.raises(ZeroDivisionError):
        context.step(b"ticket")


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[dict[str, Any]]]:
    """Let there be a package; give what credentials were asked for."""

    def package(fails: Exception | None = None) -> list[dict[str, Any]]:
        asked: list[dict[str, Any]] = []

        def credentials(**options: Any) -> object:
            asked.append(options)
            if fails is not None:
                raise fails
            return object()

        fake = SimpleNamespace(
            Name=lambda text, name_type: (text, name_type),
            NameType=SimpleNamespace(hostbased_service="service"),
            MechType=SimpleNamespace(kerberos="krb5"),
            Credentials=credentials,
            SecurityContext=lambda **_options: FakeLibrary(),
            exceptions=SimpleNamespace(GSSError=LibraryError),
        )
        monkeypatch.setitem(sys.modules, "gssapi", fake)
        return asked

    return package


def test_without_the_package_the_start_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)

    with pytest.raises(
        StartError, match=r"needs the package gssapi: pip install '\.\[gssapi\]' in a clone of Bifrost"
    ):
        kerberos_settings(SETTINGS)


@pytest.mark.parametrize(
    ("changed", "name", "store"),
    [
        ({}, "kafka", {"keytab": "FILE:/nowhere/kafka.keytab"}),
        (
            {"service_name": "gate", "hostname": "h", "replay_cache": "none:"},
            "gate@h",
            {"keytab": "FILE:/nowhere/kafka.keytab", "rcache": "none:"},
        ),
    ],
)
def test_credentials_are_those_of_the_configuration(
    package: Any, changed: dict[str, Any], name: str, store: dict[str, str]
) -> None:
    asked = package()

    settings = kerberos_settings(SETTINGS.model_copy(update=changed))

    assert asked == [{"name": (name, "service"), "usage": "accept", "store": store, "mechs": ["krb5"]}]
    assert settings.names.of("alice@EXAMPLE.COM") == "alice"
    assert settings.new_context().step(b"ticket") == b""


def test_a_keytab_without_the_service_stops_the_start(package: Any) -> None:
    package(LibraryError("No key table entry found"))

    with pytest.raises(StartError) as caught:
        kerberos_settings(SETTINGS)

    assert str(caught.value) == (
        "proxy.kerberos: /nowhere/kafka.keytab gives no key for kafka/HOST@EXAMPLE.COM: No key table entry found; "
        "klist -k shows what it has"
    )
    assert not Path("/nowhere").exists()
