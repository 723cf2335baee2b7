import asyncio

import structlog
from structlog.testing import capture_logs

from bifrost.gateway.clients.slow_sweep import end_slow


class Looked:
    def __init__(self, *, fails: bool = False) -> None:
        self.looks: list[tuple[int, int]] = []
        self.fails = fails

    def look_at_frames(self, now_ms: int, timeout_ms: int) -> None:
        self.looks.append((now_ms, timeout_ms))
        if self.fails:
            raise ValueError("a bug")


def test_every_connection_is_looked_at_again_and_again() -> None:
    connections = {Looked(), Looked(fails=True), *(Looked() for _ in range(600))}

    async def scenario() -> None:
        looking = asyncio.create_task(end_slow(connections, lambda: 300))
        async with asyncio.timeout(20):
            while min(len(one.looks) for one in connections) < 2:  # noqa: ASYNC110 - no event tells
                await asyncio.sleep(0.01)
        looking.cancel()

    structlog.reset_defaults()
    with capture_logs() as logs:
        asyncio.run(scenario())

    assert {entry["event"] for entry in logs} == {"internal_error"}

    for one in connections:
        assert len(one.looks) >= 2
        assert one.looks[0][0] < one.looks[-1][0]
        assert one.looks[0][1] == 300
