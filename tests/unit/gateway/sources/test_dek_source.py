"""DEKs for messages, with a key file as the KEK."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import structlog

from bifrost.config.records.record_filter import RecordFilter
from bifrost.encryption.dek import Dek, WritingDek
from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.errors import KekUnavailable
from bifrost.encryption.kek import Kek
from bifrost.encryption.sealing_key import SEALING_CONTEXT, SealingKey, id_of, topic_key_of
from bifrost.encryption.topic_key import TopicKey
from bifrost.encryption.wrapped_dek import WrappedDek
from bifrost.forwarding.clock import monotonic_ns
from bifrost.gateway.sources import dek_source
from bifrost.gateway.sources.dek_source import DekSource, make
from bifrost.keys import dek_keeper
from bifrost.keys.key_file import KeyFile
from bifrost.transforms.encryption.dek_needs import DekToOpen, DekToSeal, KeyOfTopic
from bifrost.transforms.record_transform import Failure
from support.encryption.key_files import encryption, replace, write_key_file

ORDERS = DekContext("cluster", "orders")
MINUTE_NS = 60 * 1_000_000_000


@pytest.fixture(autouse=True)
def core_dumps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' own process stays as it is."""
    monkeypatch.setattr(dek_keeper, "forbid_core_dumps", lambda: None)


class Scene:
    """A source with one key file."""

    def __init__(self, folder: Path) -> None:
        self.path = write_key_file(folder / "keks", "payments")
        self.now_ns: int | None = None
        context = SimpleNamespace(now_ns=self._now_ns)
        self.source: DekSource = make(context)  # type: ignore[arg-type]
        self.kek = Kek("file", "payments", key_file=str(self.path))
        self.to_seal = DekToSeal(self.kek, ORDERS)

    def _now_ns(self) -> int:
        return monotonic_ns() if self.now_ns is None else self.now_ns

    def answers(self, *keys: DekToSeal | DekToOpen | KeyOfTopic) -> list[object]:
        async def ask() -> list[object]:
            async with asyncio.timeout(30):
                found = await self.source.answers(keys)
            return [found[key] for key in keys]

        return asyncio.run(ask())


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    one = Scene(tmp_path)
    yield one
    one.source.close()


def test_a_dek_is_asked_for_once_and_at_hand_then(scene: Scene) -> None:
    assert scene.source.cached(scene.to_seal) is None

    (dek,) = scene.answers(scene.to_seal)

    assert isinstance(dek, WritingDek)
    assert scene.source.cached(scene.to_seal) is dek
    to_open = DekToOpen(scene.kek, ORDERS, dek.header)
    assert scene.source.cached(to_open) is dek.dek
    assert scene.answers(scene.to_seal, to_open) == [dek, dek.dek]


def test_another_process_opens_by_asking_the_kek(scene: Scene, tmp_path: Path) -> None:
    (dek,) = scene.answers(scene.to_seal)
    assert isinstance(dek, WritingDek)
    other = DekSource(SimpleNamespace(now_ns=monotonic_ns))  # type: ignore[arg-type]
    to_open = DekToOpen(scene.kek, ORDERS, dek.header)

    async def ask() -> object:
        return (await other.answers([to_open]))[to_open]

    assert isinstance(asyncio.run(ask()), Dek)
    other.close()


def test_an_unknown_key_is_told_by_its_name_and_not_asked_for_again(scene: Scene) -> None:
    foreign = WrappedDek("file:others", 1, bytes(60)).as_bytes()
    to_open = DekToOpen(scene.kek, ORDERS, foreign)

    with structlog.testing.capture_logs() as lines:
        (failure,) = scene.answers(to_open)

    told = "the KEK file:others is unknown, deleted or disabled, or not for this topic"
    assert failure == Failure(told, is_retriable=False)
    assert scene.source.cached(to_open) == failure
    assert [line["event"] for line in lines if line["event"] != "key_file_in_use"] == ["kek_unknown"]
    assert isinstance(scene.answers(DekToOpen(scene.kek, ORDERS, b"?"))[0], Failure)


def test_a_message_goes_on_asking_while_the_service_is_away(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dek_source, "RETRY_MS", 10)
    monkeypatch.setattr(dek_keeper, "RETRY_MS", 10)
    content = scene.path.read_text()
    scene.path.unlink()

    async def play() -> object:
        asked = asyncio.ensure_future(scene.source.answers([scene.to_seal]))
        await asyncio.sleep(0.1)
        assert not asked.done()
        replace(scene.path, content)
        async with asyncio.timeout(30):
            return (await asked)[scene.to_seal]

    with structlog.testing.capture_logs() as lines:
        assert isinstance(asyncio.run(play()), WritingDek)
    away = [line for line in lines if line["event"] == "kek_unavailable"]
    assert len(away) == 1
    assert (away[0]["provider"], away[0]["key"]) == ("file", "payments")


def test_a_dek_that_is_due_is_renewed_while_it_serves(scene: Scene) -> None:
    scene.now_ns = 0
    (dek,) = scene.answers(scene.to_seal)
    scene.now_ns = 9 * 60 * 1_000_000_000

    assert scene.source.cached(scene.to_seal) is dek
    scene.answers(scene.to_seal)  # Behind the renewal, or with it.
    assert scene.source.cached(scene.to_seal) is not dek


def test_a_message_goes_on_asking_when_the_renewal_that_it_has_waited_for_fails(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dek_source, "RETRY_MS", 10)
    scene.now_ns = 0
    (dek,) = scene.answers(scene.to_seal)
    is_asked, is_back, wrap = threading.Event(), threading.Event(), KeyFile.wrap

    def wrap_once_it_is_back(self: KeyFile, key: bytes, context: DekContext) -> WrappedDek:
        if not is_back.is_set():
            is_asked.set()
            is_back.wait(30)
            raise KekUnavailable("away")
        return wrap(self, key, context)

    monkeypatch.setattr(KeyFile, "wrap", wrap_once_it_is_back)
    scene.now_ns = 9 * MINUTE_NS
    assert scene.source.cached(scene.to_seal) is dek, "it is being renewed"
    assert is_asked.wait(30)
    scene.now_ns = 11 * MINUTE_NS
    assert scene.source.cached(scene.to_seal) is None, "it has expired"

    async def play() -> object:
        asked = asyncio.ensure_future(scene.source.answers([scene.to_seal]))
        await asyncio.sleep(0.05)
        is_back.set()
        await asyncio.sleep(0.05)
        assert not asked.done()
        scene.now_ns = 12 * MINUTE_NS
        async with asyncio.timeout(30):
            return (await asked)[scene.to_seal]

    found = asyncio.run(play())
    assert isinstance(found, WritingDek)
    assert found is not dek


def test_a_key_file_is_told_at_the_start_and_given_up_when_no_filter_has_it(
    scene: Scene, tmp_path: Path
) -> None:
    filters = [RecordFilter.model_validate(encryption(scene.path, "orders"))]

    with structlog.testing.capture_logs() as lines:
        scene.source.configure(filters)
        scene.source.configure(filters)
        scene.answers(scene.to_seal)
        scene.source.configure([])
    assert [line["event"] for line in lines] == ["key_file_in_use"]
    assert scene.source.cached(scene.to_seal) is None, "it is as new"


def test_a_key_file_that_cannot_be_read_is_told_at_the_start(scene: Scene) -> None:
    scene.path.chmod(0o644)

    with structlog.testing.capture_logs() as lines:
        scene.source.configure([RecordFilter.model_validate(encryption(scene.path, "orders"))])

    assert [line["event"] for line in lines] == ["kek_unavailable"]
    assert "chmod 600" in lines[0]["error"]


def test_the_key_of_a_topic_comes_from_the_sealing_key_of_its_filter(scene: Scene) -> None:
    key = b"k" * 32
    sealing = SealingKey(id_of(key), KeyFile(scene.path, "payments").wrap(key, SEALING_CONTEXT))
    need = KeyOfTopic(scene.kek, ORDERS, sealing)
    wrong = KeyOfTopic(scene.kek, ORDERS, sealing._replace(key_id=bytes(8)))
    assert scene.source.cached(need) is None

    found, refused = scene.answers(need, wrong)

    assert isinstance(found, TopicKey)
    assert found.key_id == topic_key_of(key, ORDERS).key_id
    assert scene.source.cached(need) is found
    assert isinstance(refused, Failure)
    assert not refused.is_retriable
    assert "file:payments" in refused.reason
    assert scene.source.cached(wrong) == refused
