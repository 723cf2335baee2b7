import asyncio
import time

import pytest

from bifrost.gateway.clients.drain import FEWEST_PER_TICK, drain
from bifrost.session.close_reason import CloseReason


class Client:
    """A connection that ends some time after it was told."""

    def __init__(self, among: set["Client"], ends_after_s: float | None, tenant: str | None = "acme") -> None:
        self.among, self.ends_after_s, self.tenant = among, ends_after_s, tenant
        self.has_ended = False
        self.told_at = 0.0
        self.reason: CloseReason | None = None
        among.add(self)

    def drain(self) -> None:
        assert not self.told_at, "told once"
        self.told_at = time.monotonic()
        if self.ends_after_s is not None:
            asyncio.get_running_loop().call_later(self.ends_after_s, self.end, CloseReason.DRAINED, "")

    def end(self, reason: CloseReason, detail: str) -> None:
        self.has_ended, self.reason = True, reason
        self.among.discard(self)


def drained(
    among: set[Client], timeout_ms: int = 5000, hurry_after_s: float | None = None
) -> tuple[int, float]:
    """How many were cut, and after how many seconds it was over."""

    async def scenario() -> int:
        hurry = asyncio.Event()
        if hurry_after_s is not None:
            asyncio.get_running_loop().call_later(hurry_after_s, hurry.set)
        return await drain(among, timeout_ms=timeout_ms, hurry=hurry)

    began = time.monotonic()
    return asyncio.run(scenario()), time.monotonic() - began


def test_everyone_has_the_time_it_needs() -> None:
    among: set[Client] = set()
    clients = [Client(among, seconds) for seconds in (0, 0.05, 0.2)]

    cut, seconds = drained(among)

    assert (cut, [one.reason for one in clients]) == (0, [CloseReason.DRAINED] * 3)
    assert 0.2 <= seconds < 1


def test_what_is_left_after_the_time_out_is_cut() -> None:
    among: set[Client] = set()
    stubborn, ready = Client(among, None), Client(among, 0)

    cut, seconds = drained(among, timeout_ms=200)

    assert (cut, stubborn.reason, ready.reason) == (1, CloseReason.SHUTDOWN, CloseReason.DRAINED)
    assert 0.2 <= seconds < 1


@pytest.mark.parametrize("limits", [{"timeout_ms": 0}, {"timeout_ms": 60_000, "hurry_after_s": 0.05}])
def test_without_time_or_in_a_hurry_all_are_cut(limits: dict[str, float]) -> None:
    among: set[Client] = set()
    Client(among, None)

    cut, seconds = drained(among, **limits)  # type: ignore[arg-type]

    assert cut == 1
    assert seconds < 1


def test_many_are_told_one_after_the_other() -> None:
    among: set[Client] = set()
    clients = [Client(among, 0) for _ in range(5 * FEWEST_PER_TICK)]

    drained(among)

    told = sorted(one.told_at for one in clients)
    assert told[-1] - told[0] >= 0.06
    assert told[FEWEST_PER_TICK - 1] - told[0] < 0.015


def test_however_many_there_are_all_are_told_within_a_part_of_the_time() -> None:
    among: set[Client] = set()
    clients = [Client(among, 0) for _ in range(3000)]

    cut, seconds = drained(among, timeout_ms=4000)

    assert (cut, {one.reason for one in clients}) == (0, {CloseReason.DRAINED})
    assert seconds < 3.5


def test_who_is_still_authenticating_is_told_last() -> None:
    among: set[Client] = set()
    new = [Client(among, 0, tenant=None) for _ in range(FEWEST_PER_TICK)]
    known = [Client(among, 0) for _ in range(FEWEST_PER_TICK)]

    drained(among)

    assert max(one.told_at for one in known) < min(one.told_at for one in new)


def test_without_clients_nothing_is_waited_for() -> None:
    assert drained(set())[1] < 0.1
