"""When keys are fetched, and what happens when they cannot be; what fetches is played by the test."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from bifrost.authentication.accounts import Account, Accounts
from bifrost.authentication.oauthbearer_server import InvalidToken, KeysAreFetched
from bifrost.config.fields.oauth import OAuth
from bifrost.gateway.errors import StartError
from bifrost.gateway.issuers import jwks as module
from bifrost.gateway.issuers.jwks import Jwks
from bifrost.gateway.sockets.http_client import FetchError
from support.identity.issuer import ISSUER, Issuer, jwk_set

URL = "https://login.example.com/keys"
DISCOVERY = f"{ISSUER}/.well-known/openid-configuration"
NOW_S = 1_800_000_000.0


class World:
    """An issuer that answers as it is told, and the gateway's side of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> None:
        self.now_ms = 1_000_000
        self.pages: dict[str, bytes] = {URL: jwk_set(Issuer().public_jwk())}
        self.asked: list[str] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        monkeypatch.setattr(module, "get", self._get)
        monkeypatch.setattr(module.time, "time", lambda: NOW_S)
        source = {} if {"jwks_file", "jwks_url"} & settings.keys() else {"jwks_url": URL}
        every = {"issuer": ISSUER, "audience": ("kafka",), **source, **settings}
        self.jwks = Jwks(OAuth.model_validate(every), lambda: self.now_ms)
        self.tokens = self.jwks.tokens(Accounts([Account("alice", "acme")], key=b"key"), ["acme"])

    async def _get(self, url: str, *, context: Any, max_bytes: int, timeout_s: float) -> bytes:
        self.asked.append(url)
        await self.may_answer.wait()
        if url not in self.pages:
            raise FetchError(f"{url}: HTTP status 404")
        return self.pages[url]

    def outcome(self, issuer: Issuer) -> str:
        """What comes of showing a token."""
        try:
            self.tokens.check(issuer.token(NOW_S))
        except KeysAreFetched:
            return "waits"
        except InvalidToken as invalid:
            return invalid.status
        return "good"


Make = Callable[..., World]
FIRST, SECOND = Issuer(), Issuer(number=2)


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[..., World]:
    """Play a scenario while keys are kept fresh: `play(scenario, setting=...)`."""

    def play(scenario: Callable[[World], Awaitable[None]], **settings: Any) -> World:
        async def run() -> World:
            world = World(monkeypatch, **settings)
            task = asyncio.create_task(world.jwks.run())
            await scenario(world)
            task.cancel()
            return world

        return asyncio.run(run())

    return play


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_keys_are_fetched_at_the_start_and_the_first_clients_wait(play: Make) -> None:
    async def scenario(world: World) -> None:
        called: list[str] = []
        world.may_answer.clear()
        await settled()
        assert world.outcome(FIRST) == "waits"
        world.jwks.call_when_fetched(lambda: called.append("now"))
        await settled()
        assert called == []

        world.may_answer.set()
        await settled()

        assert called == ["now"]
        assert world.outcome(FIRST) == "good"
        world.jwks.call_when_fetched(lambda: called.append("at once"))
        await settled()
        assert called == ["now", "at once"]

    assert play(scenario).asked == [URL]


def test_without_keys_tokens_are_refused_and_it_is_tried_again(
    play: Make, monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, Any]]
) -> None:
    monkeypatch.setattr(module, "FIRST_RETRY_MS", 20)
    monkeypatch.setattr(module, "LAST_RETRY_MS", 30)

    async def scenario(world: World) -> None:
        page = world.pages.pop(URL)
        await settled()
        assert world.outcome(FIRST) == "temporarily_unavailable"
        await asyncio.sleep(0.15)
        world.pages[URL] = page
        await asyncio.sleep(0.1)
        assert world.outcome(FIRST) == "good"

    world = play(scenario)

    failures = [entry for entry in logged if entry["event"] == "jwks_failed"]
    assert [entry["retry_in_ms"] for entry in failures][:4] == [20, 30, 30, 30]
    assert failures[0]["error"] == f"{URL}: HTTP status 404"
    assert len(world.asked) == len(failures) + 1


def test_an_unknown_key_is_fetched_but_not_for_every_client(play: Make) -> None:
    async def scenario(world: World) -> None:
        await settled()
        world.pages[URL] = jwk_set(SECOND.public_jwk())
        assert [world.outcome(SECOND) for _ in range(3)] == ["invalid_token"] * 3
        assert len(world.asked) == 1

        world.now_ms += 10_000
        assert [world.outcome(SECOND) for _ in range(3)] == ["waits"] * 3
        await settled()

        assert world.outcome(SECOND) == "good"
        assert world.outcome(FIRST) == "invalid_token"
        await settled()

    assert play(scenario).asked == [URL, URL]


def test_a_key_that_the_issuer_lacks_is_asked_for_once_in_a_while(play: Make) -> None:
    async def scenario(world: World) -> None:
        for _ in range(30):
            world.outcome(SECOND)
            world.now_ms += 1_000
            await settled()

    assert len(play(scenario).asked) == 3


def test_keys_are_fetched_anew_after_a_time(play: Make) -> None:
    async def scenario(world: World) -> None:
        await settled()
        world.pages[URL] = jwk_set(SECOND.public_jwk())
        await asyncio.sleep(1.2)
        assert world.outcome(SECOND) == "good"
        assert world.outcome(FIRST) == "invalid_token"

    assert play(scenario, jwks_refresh_ms=1_000, jwks_unknown_key_refresh_ms=60_000).asked == [URL, URL]


def test_what_is_no_key_set_leaves_the_keys_as_they_are_until_they_are_too_old(
    play: Make, monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, Any]]
) -> None:
    monkeypatch.setattr(module, "FIRST_RETRY_MS", 20)

    async def scenario(world: World) -> None:
        await settled()
        world.pages[URL] = b"<html>"
        world.now_ms += 10_000
        assert world.outcome(SECOND) == "waits"
        await settled()
        assert world.outcome(FIRST) == "good"

        world.now_ms += 3_600_000
        await asyncio.sleep(0.05)

        assert world.outcome(FIRST) == "temporarily_unavailable"

    play(scenario, jwks_refresh_ms=3_600_000, jwks_max_age_ms=3_600_000)

    assert [entry["event"] for entry in logged if entry["log_level"] == "error"] == ["jwks_expired"]


def test_an_issuer_tells_where_its_keys_are(play: Make) -> None:
    async def scenario(world: World) -> None:
        world.pages[DISCOVERY] = json.dumps({"issuer": ISSUER, "jwks_uri": URL}).encode()
        await settled()
        assert world.outcome(FIRST) == "good"

    assert play(scenario, jwks_url=None).asked == [DISCOVERY, URL]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (b"<html>", "not JSON"),
        (b"[]", "tells of another issuer"),
        (json.dumps({"issuer": f"{ISSUER}/", "jwks_uri": URL}).encode(), "tells of another issuer"),
        (json.dumps({"issuer": ISSUER}).encode(), "names no jwks_uri"),
        (json.dumps({"issuer": ISSUER, "jwks_uri": 5}).encode(), "names no jwks_uri"),
        (json.dumps({"issuer": ISSUER, "jwks_uri": "file:///etc/keys"}).encode(), "names no jwks_uri"),
        (
            json.dumps({"issuer": ISSUER, "jwks_uri": "http://login.example.com/keys"}).encode(),
            "names no jwks_uri that can be asked safely",
        ),
    ],
)
def test_what_an_issuer_must_not_tell(
    play: Make, logged: list[dict[str, Any]], told: bytes, expected: str
) -> None:
    async def scenario(world: World) -> None:
        world.pages[DISCOVERY] = told
        await settled()
        assert world.outcome(FIRST) == "temporarily_unavailable"

    assert play(scenario, jwks_url=None).asked == [DISCOVERY]
    assert expected in logged[0]["error"]


def test_an_issuer_that_does_not_answer_is_not_waited_for(
    play: Make, monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, Any]]
) -> None:
    monkeypatch.setattr(module, "FETCH_TIMEOUT_S", 0.05)

    async def scenario(world: World) -> None:
        world.may_answer.clear()
        await asyncio.sleep(0.1)
        assert world.outcome(FIRST) == "temporarily_unavailable"

    play(scenario)

    assert logged[0]["error"] == f"{ISSUER}: no keys within 0.05 s"


def test_keys_in_a_file_are_read_anew(play: Make, tmp_path: Path, logged: list[dict[str, Any]]) -> None:
    file = tmp_path / "keys.json"
    file.write_bytes(jwk_set(FIRST.public_jwk()))

    async def scenario(world: World) -> None:
        await asyncio.sleep(0.05)
        assert world.outcome(FIRST) == "good"
        for content in (b" " * 300_000, jwk_set(SECOND.public_jwk())):
            file.write_bytes(content)
            world.now_ms += 10_000
            assert world.outcome(SECOND) == "waits"
            await asyncio.sleep(0.05)
        assert world.outcome(SECOND) == "good"

    assert play(scenario, jwks_file=str(file)).asked == []
    assert [entry["error"] for entry in logged if "error" in entry] == [f"{file}: larger than 262144 bytes"]


def test_certificates_that_are_none_stop_the_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("x")

    with pytest.raises(StartError, match=r"proxy\.oauth\.ca_file: no certificates in PEM form"):
        World(monkeypatch, ca_file=str(file)).jwks.prepare()


@pytest.mark.parametrize(
    ("settings", "is_warned_of"),
    [({"jwks_url": "http://a/"}, True), ({"jwks_url": URL}, False), ({"jwks_file": "keys"}, False)],
)
def test_keys_that_come_in_clear_are_warned_of(
    monkeypatch: pytest.MonkeyPatch,
    logged: list[dict[str, Any]],
    settings: dict[str, str],
    is_warned_of: bool,
) -> None:
    World(monkeypatch, **settings).jwks.prepare()

    assert [entry["event"] for entry in logged] == ["issuer_without_tls"] * is_warned_of


def test_keys_become_too_old_although_the_gateway_itself_fails_to_fetch_them(
    play: Make, monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, Any]]
) -> None:
    monkeypatch.setattr(module, "FIRST_RETRY_MS", 1)
    monkeypatch.setattr(module, "LAST_RETRY_MS", 1)

    async def bug(*_: object, **__: object) -> bytes:
        raise KeyError("a bug")

    async def scenario(world: World) -> None:
        await settled()
        assert world.outcome(FIRST) == "good"
        real, called = module.get, list[str]()
        monkeypatch.setattr(module, "get", bug)
        world.now_ms += 86_400_000
        world.jwks._want_keys()
        world.jwks.call_when_fetched(lambda: called.append("told"))
        await asyncio.sleep(0.05)
        assert world.outcome(FIRST) != "good"
        assert called == ["told"]

        monkeypatch.setattr(module, "get", real)
        await asyncio.sleep(0.05)
        assert world.outcome(FIRST) == "good"

    play(scenario, jwks_max_age_ms=3_600_000)

    reported = [one for one in logged if one["event"] == "internal_error"]
    assert {one["place"] for one in reported} == {"jwks"}
