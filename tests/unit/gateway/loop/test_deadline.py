import asyncio

from bifrost.gateway.loop.deadline import Deadline


def test_it_calls_back_once_at_the_last_time_set() -> None:
    async def scenario() -> list[str]:
        called: list[str] = []
        one, other = Deadline(), Deadline()
        one.set(0.01, lambda: called.append("first"))
        one.set(0.02, lambda: called.append("second"))
        other.set(0.01, lambda: called.append("cancelled"))
        other.cancel()
        other.cancel()
        await asyncio.sleep(0.06)
        return called

    assert asyncio.run(scenario()) == ["second"]
