import base64
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bifrost.encryption.dek import DekLimits
from bifrost.encryption.dek_cache import ReadingDeks
from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.errors import BrokenSeal, KekUnavailable, UnknownKek
from bifrost.encryption.sealing_key import SEALING_CONTEXT, SealingKey, id_of
from bifrost.encryption.wrapped_dek import WrappedDek
from bifrost.keys import dek_keeper
from bifrost.keys.dek_keeper import RETRY_MS, UNKNOWN_MS, DekKeeper
from bifrost.keys.key_file import KeyFile

ORDERS, OTHERS = DekContext("cluster", "orders"), DekContext("cluster", "others")


class Watched(KeyFile):
    """A key file that counts its calls, and fails when it is told to."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "payments")
        self.calls, self.error = 0, None
        self.gate: threading.Event | None = None

    def _asked(self) -> None:
        self.calls += 1
        if self.gate is not None:
            assert self.gate.wait(30)
        if self.error is not None:
            raise self.error

    def wrap(self, key: bytes, context: DekContext) -> WrappedDek:
        self._asked()
        return super().wrap(key, context)

    def unwrap(self, wrapped: WrappedDek, context: DekContext) -> bytes:
        self._asked()
        return super().unwrap(wrapped, context)


@pytest.fixture(autouse=True)
def core_dumps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tests' own process stays as it is; test_core_dumps.py has another one."""
    calls: list[str] = []
    monkeypatch.setattr(dek_keeper, "forbid_core_dumps", lambda: calls.append("forbidden"))
    return calls


@pytest.fixture
def provider(tmp_path: Path) -> Watched:
    path = tmp_path / "keks"
    path.write_text(f"payments 1 {base64.b64encode(bytes(32)).decode()}")
    path.chmod(0o600)
    return Watched(path)


class Clock:
    now = 1_000_000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keeper(clock: Clock) -> DekKeeper:
    return DekKeeper(clock, limits=DekLimits(max_age_ms=100_000))


def test_core_files_are_forbidden_before_a_key_is_there(keeper: DekKeeper, core_dumps: list[str]) -> None:
    assert core_dumps == ["forbidden"]


def test_a_dek_is_made_once_for_a_topic_and_opens_what_it_sealed(
    keeper: DekKeeper, provider: Watched
) -> None:
    assert keeper.cached_writing(provider, ORDERS) is None
    dek = keeper.writing(provider, ORDERS)

    assert keeper.cached_writing(provider, ORDERS) is dek is keeper.writing(provider, ORDERS)
    assert keeper.writing(provider, OTHERS) is not dek
    assert provider.calls == 2
    assert keeper.cached_reading(provider, ORDERS, dek.header) is dek.dek
    assert keeper.cached_reading(provider, OTHERS, dek.header) is None
    assert dek.nonce_prefix != keeper.writing(provider, OTHERS).nonce_prefix


def test_another_process_opens_it_by_its_kek(keeper: DekKeeper, provider: Watched, clock: Clock) -> None:
    dek = keeper.writing(provider, ORDERS)
    reader = DekKeeper(clock)

    assert reader.cached_reading(provider, ORDERS, dek.header) is None
    first = reader.reading(provider, ORDERS, dek.header)
    assert reader.reading(provider, ORDERS, dek.header) is first
    assert provider.calls == 2
    data = dek.dek.cipher.encrypt(bytes(12), b"x", b"")
    assert first.cipher.decrypt(bytes(12), data, b"") == b"x"


def test_a_dek_is_renewed_while_it_serves_and_made_anew_when_it_expired(
    keeper: DekKeeper, provider: Watched, clock: Clock
) -> None:
    first = keeper.writing(provider, ORDERS)
    keeper.renew(provider, ORDERS)
    assert provider.calls == 1
    clock.now += 80_000
    assert keeper.is_due(provider, ORDERS)
    assert keeper.writing(provider, ORDERS) is first
    keeper.renew(provider, ORDERS)
    second = keeper.writing(provider, ORDERS)
    assert second is not first
    clock.now += 100_000
    assert keeper.cached_writing(provider, ORDERS) is None
    assert keeper.writing(provider, ORDERS) is not second


def test_deks_serve_until_they_expire_while_the_kek_is_away(
    keeper: DekKeeper, provider: Watched, clock: Clock
) -> None:
    dek = keeper.writing(provider, ORDERS)
    provider.error = KekUnavailable("away")
    clock.now += 80_000
    keeper.renew(provider, ORDERS)
    assert provider.calls == 2
    assert keeper.writing(provider, ORDERS) is dek
    keeper.renew(provider, ORDERS)
    assert provider.calls == 2, "it has just failed"
    clock.now += 20_000
    with pytest.raises(KekUnavailable, match="away"):
        keeper.writing(provider, ORDERS)
    with pytest.raises(KekUnavailable, match="away"):
        keeper.reading(provider, ORDERS, dek.header)
    provider.error = None
    clock.now += RETRY_MS
    assert keeper.writing(provider, ORDERS) is not dek
    assert keeper.reading(provider, ORDERS, dek.header).wrapped == dek.dek.wrapped


def test_a_kek_that_fails_is_not_asked_again_at_once(
    keeper: DekKeeper, provider: Watched, clock: Clock
) -> None:
    provider.error = KekUnavailable("away")
    for _ in range(5):
        with pytest.raises(KekUnavailable, match="away"):
            keeper.writing(provider, ORDERS)
    assert provider.calls == 1
    clock.now += RETRY_MS
    with pytest.raises(KekUnavailable):
        keeper.writing(provider, ORDERS)
    assert provider.calls == 2


def test_what_a_kek_does_not_unwrap_is_asked_again_after_a_while(
    keeper: DekKeeper, provider: Watched, clock: Clock
) -> None:
    header = WrappedDek("file:payments", 1, b"another's wrapped DEK").as_bytes()
    for _ in range(3):
        with pytest.raises(UnknownKek):
            keeper.reading(provider, ORDERS, header)
    assert provider.calls == 1
    clock.now += UNKNOWN_MS
    with pytest.raises(UnknownKek):
        keeper.reading(provider, ORDERS, header)
    assert provider.calls == 2


def test_a_header_that_is_none_asks_nothing(keeper: DekKeeper, provider: Watched) -> None:
    with pytest.raises(BrokenSeal):
        keeper.reading(provider, ORDERS, b"none")
    assert provider.calls == 0


def test_what_another_rule_s_kek_unwrapped_is_not_used(
    keeper: DekKeeper, provider: Watched, tmp_path: Path
) -> None:
    dek = keeper.writing(provider, ORDERS)
    path = tmp_path / "others"
    path.write_text(f"others 1 {base64.b64encode(bytes(32)).decode()}")
    path.chmod(0o600)
    other = KeyFile(path, "others")

    assert keeper.cached_reading(other, ORDERS, dek.header) is None
    with pytest.raises(UnknownKek):
        keeper.reading(other, ORDERS, dek.header)


def test_a_key_that_is_no_dek_is_not_used(keeper: DekKeeper, provider: Watched) -> None:
    header = KeyFile.wrap(provider, b"too short", ORDERS).as_bytes()

    with pytest.raises(UnknownKek, match="no DEK"):
        keeper.reading(provider, ORDERS, header)


def test_of_several_threads_one_asks(keeper: DekKeeper, provider: Watched) -> None:
    provider.gate = threading.Event()
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(keeper.writing, provider, ORDERS) for _ in range(8)]
        provider.gate.set()
        found = {id(one.result(30)) for one in asked}

    assert (len(found), provider.calls) == (1, 1)


def test_a_rotated_kek_is_in_use_within_the_time_of_a_dek(
    keeper: DekKeeper, provider: Watched, clock: Clock, tmp_path: Path
) -> None:
    assert keeper.writing(provider, ORDERS).dek.wrapped.kek_version == 1
    with (tmp_path / "keks").open("a") as file:
        file.write(f"\npayments 2 {base64.b64encode(b'2' * 32).decode()}\n")
    assert keeper.writing(provider, ORDERS).dek.wrapped.kek_version == 1
    clock.now += 100_000

    assert keeper.writing(provider, ORDERS).dek.wrapped.kek_version == 2


def test_failures_that_are_remembered_are_bounded(
    clock: Clock, provider: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dek_keeper, "MAX_FAILURES", 3)
    keeper = DekKeeper(clock, reading=ReadingDeks(max_deks=5))
    provider.error = KekUnavailable("away")
    for number in range(5):
        with pytest.raises(KekUnavailable):
            keeper.writing(provider, DekContext("cluster", f"topic-{number}"))

    assert len(keeper._failed) == 3


def sealing_of(provider: Watched, key: bytes = b"k" * 32) -> SealingKey:
    return SealingKey(id_of(key), provider.wrap(key, SEALING_CONTEXT))


def test_the_key_of_a_topic_comes_from_the_sealing_key_and_is_asked_for_once_in_a_while(
    keeper: DekKeeper, provider: Watched, clock: Clock
) -> None:
    sealing = sealing_of(provider)
    assert keeper.cached_topic_key(provider, ORDERS, sealing) is None

    key = keeper.topic_key(provider, ORDERS, sealing)

    assert keeper.topic_key(provider, ORDERS, sealing) is key
    assert keeper.cached_topic_key(provider, ORDERS, sealing) is key
    assert keeper.topic_key(provider, OTHERS, sealing).key_id != key.key_id
    assert provider.calls == 3
    again = sealing_of(provider)
    assert again.wrapped != sealing.wrapped
    assert keeper.topic_key(provider, ORDERS, again).key_id == key.key_id
    clock.now += 100_000
    assert keeper.topic_key(provider, ORDERS, sealing).key_id == key.key_id
    assert provider.calls == 6


def test_what_wraps_a_dek_or_another_key_gives_no_key_of_a_topic(
    keeper: DekKeeper, provider: Watched
) -> None:
    sealing = sealing_of(provider)
    of_dek = SealingKey(sealing.key_id, keeper.writing(provider, ORDERS).dek.wrapped)
    other = SealingKey(sealing.key_id, sealing_of(provider, b"o" * 32).wrapped)

    for wrong in (of_dek, other):
        for _ in range(2):
            calls = provider.calls
            with pytest.raises(UnknownKek):
                keeper.topic_key(provider, ORDERS, wrong)
        assert provider.calls == calls, "it has just been asked"
    with pytest.raises(UnknownKek):
        keeper.reading(provider, ORDERS, sealing.wrapped.as_bytes())


def test_while_the_kek_is_away_the_key_of_a_topic_is_not_asked_for_again_at_once(
    keeper: DekKeeper, provider: Watched, clock: Clock
) -> None:
    sealing = sealing_of(provider)
    provider.error = KekUnavailable("away")
    for _ in range(2):
        with pytest.raises(KekUnavailable, match="away"):
            keeper.topic_key(provider, ORDERS, sealing)
    assert provider.calls == 2
    provider.error = None
    clock.now += RETRY_MS
    assert keeper.topic_key(provider, ORDERS, sealing)
