"""What comes of reading a configuration again; that a gateway goes on with it is in tests/kafka."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from bifrost.config.config_source import ConfigFiles
from bifrost.config.model import Config
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.loop.loop_guard import InternalErrors
from bifrost.gateway.reload.reloader import Reloader
from bifrost.gateway.reload_outcome import Outcome
from support.gateways.in_process import raise_bug
from support.journal.loading import SALT_KEY
from unit.cli.conftest import PROXY_YAML


class FakeGateway:
    """As much of one as is asked for."""

    def __init__(self, config: Config) -> None:
        self.config = config

    async def reconfigure(self, config: Config) -> None:
        self.config = config

    def note_reload(self, outcome: str, text: str) -> None:
        """No journal is kept."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "acme.password").write_text("hunter2\n")
    (tmp_path / "proxy.yaml").write_text(PROXY_YAML)
    return tmp_path / "proxy.yaml"


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """What the gateway raises when it is to go on with another configuration, in turn."""
    errors: list[Exception] = []

    async def reconfigure(gateway: Any, config: Any) -> None:
        if errors:
            raise errors.pop(0)
        gateway.config = config

    monkeypatch.setattr(FakeGateway, "reconfigure", reconfigure)
    return errors


def write(path: Path, text: str) -> None:
    path.write_text(text)


def watched(interval_ms: int, text: str = PROXY_YAML) -> str:
    """Return a configuration whose files are checked so often."""
    return text.replace("proxy:\n", f"proxy:\n  watch_files_ms: {interval_ms}\n")


def played(path: Path, scenario: Callable[[Reloader], Awaitable[Any]]) -> Reloader:
    source = ConfigFiles(path, SALT_KEY)
    reloader = Reloader(FakeGateway(source.read()), source)
    asyncio.run(scenario(reloader))  # type: ignore[arg-type]
    return reloader


@pytest.mark.usefixtures("fails")
def test_what_has_not_changed_is_left_alone(path: Path) -> None:
    async def scenario(reloader: Reloader) -> None:
        assert await reloader.reload() == (Outcome.UNCHANGED, "nothing has changed")

    assert played(path, scenario).outcomes == {Outcome.UNCHANGED: 1}


@pytest.mark.usefixtures("fails")
def test_what_has_changed_is_applied(path: Path) -> None:
    async def scenario(reloader: Reloader) -> None:
        write(path, PROXY_YAML.replace("name: acme", "name: acme-2"))
        assert (await reloader.reload())[0] is Outcome.APPLIED
        assert reloader._gateway.config.tenants[0].name == "acme-2"

    assert played(path, scenario).outcomes == {Outcome.APPLIED: 1}


def test_what_is_wrong_is_refused_with_its_reason(
    path: Path, fails: list[Exception], logged: list[dict[str, Any]]
) -> None:
    async def scenario(reloader: Reloader) -> None:
        before = reloader._gateway.config
        write(path, PROXY_YAML + "colour: red\n")
        assert (await reloader.reload())[0] is Outcome.REFUSED
        write(path, PROXY_YAML.replace("name: acme", "name: acme-2"))
        fails.extend([BrokerError("kafka-1:9092: refused"), ZeroDivisionError("secret")])
        assert await reloader.reload() == (Outcome.REFUSED, f"{path}: kafka-1:9092: refused")
        assert "secret" not in (await reloader.reload())[1]
        assert reloader._gateway.config is before

    assert played(path, scenario).outcomes == {Outcome.REFUSED: 3}
    refused = [one["error"] for one in logged if one["event"] == "reload_refused"]
    assert "colour: unknown key" in refused[0]


@pytest.mark.parametrize("name", ["signature", "parts", "read"])
def test_a_bug_is_reported_and_refuses_the_configuration(
    path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """On SIGHUP nothing waits for the outcome: an exception would be lost with its task."""
    counts: Counter[str] = Counter()

    async def scenario(reloader: Reloader) -> None:
        InternalErrors(counts).install(asyncio.get_running_loop())
        write(path, PROXY_YAML.replace("name: acme", "name: acme-2"))
        with monkeypatch.context() as patch:
            patch.setattr(ConfigFiles, name, raise_bug)
            reloader._parts = None
            assert (await reloader.reload())[0] is Outcome.REFUSED
        assert (await reloader.reload())[0] is Outcome.APPLIED

    assert played(path, scenario).outcomes == {Outcome.REFUSED: 1, Outcome.APPLIED: 1}
    assert counts == {"reload": 1}


@pytest.mark.usefixtures("fails")
def test_a_file_that_changes_is_read_when_it_is_whole(path: Path) -> None:
    write(path, watched(10))

    async def scenario(reloader: Reloader) -> None:
        watching = asyncio.ensure_future(reloader.watch())
        await asyncio.sleep(0.05)
        assert not reloader.outcomes
        write(path.parent / "acme.password", "another\n")
        await asyncio.sleep(0.5)
        watching.cancel()

    assert played(path, scenario).outcomes == {Outcome.APPLIED: 1}


@pytest.mark.usefixtures("fails")
def test_what_a_configuration_names_is_looked_up_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[Config] = []
    parts = ConfigFiles.parts

    def counted(source: ConfigFiles, config: Config) -> tuple[str, ...]:
        walked.append(config)
        return parts(source, config)

    monkeypatch.setattr(ConfigFiles, "parts", counted)
    write(path, watched(1))

    async def scenario(reloader: Reloader) -> None:
        watching = asyncio.create_task(reloader.watch())
        await asyncio.sleep(0.05)
        assert len(walked) == 1
        write(path.parent / "acme.password", "another")
        while Outcome.APPLIED not in reloader.outcomes:  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        watching.cancel()

    assert played(path, scenario).outcomes[Outcome.APPLIED] == 1
    assert len(walked) == 2


async def outcomes_reach(reloader: Reloader, count: int) -> None:
    async with asyncio.timeout(30):
        while reloader.outcomes.total() < count:  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.01)


@pytest.mark.usefixtures("fails")
def test_another_interval_is_used_at_once(path: Path) -> None:
    write(path, watched(3_600_000))

    async def scenario(reloader: Reloader) -> None:
        watching = asyncio.create_task(reloader.watch())
        await asyncio.sleep(0)
        write(path, watched(10))
        await reloader.reload()
        write(path, watched(10, PROXY_YAML.replace("name: acme", "name: acme-2")))
        await outcomes_reach(reloader, 2)
        assert not watching.done()
        watching.cancel()

    assert played(path, scenario).outcomes == {Outcome.APPLIED: 2}


@pytest.mark.usefixtures("fails")
def test_the_watch_is_turned_on_and_off(path: Path) -> None:
    write(path, watched(0))

    async def scenario(reloader: Reloader) -> None:
        watching = asyncio.create_task(reloader.watch())
        await asyncio.sleep(0.05)
        write(path, watched(10))
        await asyncio.sleep(0.05)
        assert not reloader.outcomes
        await reloader.reload()
        write(path, watched(0, PROXY_YAML.replace("name: acme", "name: acme-2")))
        await outcomes_reach(reloader, 2)
        write(path, watched(10))
        await asyncio.sleep(0.1)
        assert reloader.outcomes == {Outcome.APPLIED: 2}
        assert not watching.done()
        watching.cancel()

    played(path, scenario)
