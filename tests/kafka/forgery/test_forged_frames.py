"""Frames that are no frames: cut off, too long, with more behind; the names in them make no difference, nor do others
notice.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest
from test_forged_requests import FORGED

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.fields.entities import REFUSED
from bifrost.wire.messages import MetadataRequest
from bifrost.wire.schema import request_schema
from support.clients.raw_client import RawClient, request_frame
from support.forgery.attackers import Attack
from support.forgery.forged_requests import Forgery, Loot, Own, forgeries
from support.forgery.probe import Outcome
from support.forgery.victim import BusyVictim
from support.gateways.gateway_process import GatewayProcess

CUTS = 6
HEADER = 2 + 2 + 4 + 2 + 3
"""Bytes before the body's first: key, version, correlation ID, client ID `raw`."""


def _versions(api_key: ApiKey) -> list[int]:
    """The oldest, the newest and the first flexible version."""
    schema = request_schema(api_key)
    chosen = {schema.versions.low, schema.versions.high, max(schema.flexible.low, schema.versions.low)}
    return sorted(version for version in chosen if version in schema.versions)


def _fullest(api_key: ApiKey, version: int, own: Own, loot: Loot) -> Iterator[Forgery]:
    """Two of the requests with everything forged, under virtual and under physical names."""
    whole = [one for one in forgeries(api_key, version, own, loot) if " all " in one.label]
    yield from islice(whole or forgeries(api_key, version, own, loot), 0, 5, 4)


@pytest.mark.parametrize("api_key", [key for key in FORGED if key not in REFUSED], ids=lambda key: key.name)
def test_frames_cut_off_are_treated_alike_whichever_tenant_they_name(
    api_key: ApiKey, attack: Attack, loot: Loot, own: dict[str, Own], victim: BusyVictim
) -> None:
    prober = attack("initech")
    differences = []
    cut_off = 0

    for version in _versions(api_key):
        for forgery in _fullest(api_key, version, own["initech"], loot):
            frames = [
                request_frame(one, version, 7_000_000)[4:] for one in (forgery.foreign, forgery.control)
            ]
            assert len(frames[0]) == len(frames[1])
            room = len(frames[0]) - HEADER
            for place in range(CUTS):
                length = HEADER + room * place // CUTS
                answers: list[Outcome] = []
                for frame in frames:
                    cut = length.to_bytes(4, "big") + frame[:length]
                    answers.append(prober.ask_bytes(cut).swapped(forgery.swaps))
                cut_off += 1
                if answers[0] != answers[1]:
                    differences.append(f"{forgery.label} cut at {length}: {answers}")

    assert not differences, "\n".join(differences[:5])
    assert cut_off >= CUTS
    victim.check()


@pytest.mark.parametrize("size", [0, -1, -(2**31), 2**31 - 1, 100 * 1024 * 1024 + 1])
def test_impossible_length_ends_the_connection(
    size: int, attack: Attack, gateway: GatewayProcess, victim: BusyVictim
) -> None:
    client = attack("initech").client()
    mark = gateway.mark()

    client.send_bytes(size.to_bytes(4, "big", signed=True) + b"some bytes")

    assert client.receives_end()
    ended = gateway.await_event(mark, reason="frame_too_large", peer=client.address)
    assert ended["event"] == "connection_ended"
    victim.check()


def test_frame_that_never_comes_whole_keeps_no_other_client_waiting(
    gateway: GatewayProcess, attack: Attack, victim: BusyVictim
) -> None:
    slow = attack("initech").client()
    slow.send_bytes((64 * 1024 * 1024).to_bytes(4, "big") + bytes(100_000))

    with RawClient.authenticated(gateway.broker_endpoint("acme")) as other:
        answer = other.request(MetadataRequest(topics=[]), 12)

    assert answer.brokers != []
    victim.check()
