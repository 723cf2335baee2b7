import base64
from pathlib import Path

import pytest
import structlog

from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.errors import KekUnavailable, UnknownKek
from bifrost.encryption.wrapped_dek import WrappedDek
from bifrost.keys.key_file import KeyFile

DEK = bytes(range(100, 132))
ORDERS = DekContext("cluster", "orders")
FIRST, SECOND = (base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2))


def written(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(["# name version key", "", *lines]))
    path.chmod(0o600)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path / "keks", f"payments 1 {FIRST}", f"others 7 {SECOND}")


def test_a_dek_is_unwrapped_as_it_was_wrapped(path: Path) -> None:
    provider = KeyFile(path, "payments")
    wrapped = provider.wrap(DEK, ORDERS)

    assert (wrapped.kek, wrapped.kek_version) == ("file:payments", 1)
    assert DEK not in wrapped.wrapped
    assert provider.unwrap(wrapped, ORDERS) == DEK
    assert provider.wrap(DEK, ORDERS).wrapped != wrapped.wrapped
    provider.close()


def test_a_new_version_wraps_and_the_old_one_unwraps_without_a_restart(path: Path) -> None:
    provider = KeyFile(path, "payments")
    old = provider.wrap(DEK, ORDERS)
    written(path, f"payments 1 {FIRST}", f"payments 2 {SECOND}")
    new = provider.wrap(DEK, ORDERS)

    assert (old.kek_version, new.kek_version) == (1, 2)
    assert [provider.unwrap(one, ORDERS) for one in (old, new)] == [DEK, DEK]
    written(path, f"payments 2 {SECOND}")
    with pytest.raises(UnknownKek, match="no version 1"):
        provider.unwrap(old, ORDERS)


def test_a_dek_is_unwrapped_for_its_topic_and_by_its_kek_alone(path: Path) -> None:
    provider, other = KeyFile(path, "payments"), KeyFile(path, "others")
    wrapped = provider.wrap(DEK, ORDERS)

    for context in (DekContext("cluster", "others"), DekContext("other", "orders")):
        with pytest.raises(UnknownKek, match="for this topic"):
            provider.unwrap(wrapped, context)
    with pytest.raises(UnknownKek, match="names the KEK"):
        other.unwrap(wrapped, ORDERS)
    forged = other.wrap(DEK, ORDERS)._replace(kek="file:payments", kek_version=1)
    with pytest.raises(UnknownKek):
        provider.unwrap(forged, ORDERS)
    for spoilt in (b"", b"x" * 5, wrapped.wrapped[:-1]):
        with pytest.raises(UnknownKek):
            provider.unwrap(WrappedDek("file:payments", 1, spoilt), ORDERS)


def test_it_says_at_every_start_that_it_is_for_trying_out(path: Path) -> None:
    for _ in range(2):
        with structlog.testing.capture_logs() as logs:
            KeyFile(path, "payments")
        (line,) = logs
        assert (line["event"], line["log_level"]) == ("key_file_in_use", "warning")
        assert line["files"] == [str(path)]
        assert "trying out" in line["detail"]


def test_a_file_that_others_may_read_is_refused(path: Path) -> None:
    for mode in (0o640, 0o604, 0o660):
        path.chmod(mode)
        with pytest.raises(KekUnavailable, match="chmod 600"):
            KeyFile(path, "payments")


@pytest.mark.parametrize(
    "line",
    [
        "payments 1",
        f"payments one {FIRST}",
        f"payments 0 {FIRST}",
        f"payments 4294967296 {FIRST}",
        f"payments 1 {FIRST} more",
        f"payments 1 {FIRST[:-8]}",
        "payments 1 c2VjcmV0!",
    ],
)
def test_a_line_that_is_none_is_named_and_not_shown(path: Path, line: str) -> None:
    written(path, line)

    with pytest.raises(KekUnavailable, match="line 3: expected") as caught:
        KeyFile(path, "payments")
    for shown in (str(caught.value), repr(caught.value)):
        assert FIRST[:10] not in shown
        assert "c2Vj" not in shown


def test_a_file_or_a_kek_that_is_not_there_is_an_error(path: Path) -> None:
    with pytest.raises(UnknownKek, match="no KEK 'missing'"):
        KeyFile(path, "missing")
    with pytest.raises(KekUnavailable, match="cannot be read"):
        KeyFile(path.with_name("none"), "payments")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(KekUnavailable, match="no text"):
        KeyFile(path, "payments")


def test_keys_are_not_shown(path: Path) -> None:
    provider = KeyFile(path, "payments")

    for shown in (repr(provider), str(vars(provider)), repr(provider.wrap(DEK, ORDERS))):
        assert FIRST[:10] not in shown
        assert DEK.hex() not in shown
        assert repr(DEK)[2:20] not in shown
