"""Faults of the network on each side of the gateway, under load from producers and groups of each kind.

What was acknowledged is in the topics: once, also from a producer without idempotence that never tries again; from one
without idempotence that does at least once. Groups of both protocols read everything. `make faults` has every fault on
both sides.
"""

from __future__ import annotations

import time

import pytest

from support.faults.fault import Fault
from support.faults.lasting_clients import LastingClients
from support.faults.line import IS_WHOLE, Line
from support.gateways.admin_port import ask, value
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.worker_gateway import await_true
from support.physical_names import physical_name

MOST = 40
"""Records that each client writes or reads before a fault, during it if it lets any through, and after it."""
FAULT_S = 3.0
BITES = 8
"""Connections that a fault ends or silences."""
AUTHENTICATED_FRAME = 12
"""Faults that end connections do it later than the login, or no client would get on."""
LATE, NARROW = Fault(latency_s=0.5), Fault(bytes_per_s=100_000)
CUT, RESET = Fault(cut_at_frame=AUTHENTICATED_FRAME), Fault(cut_at_frame=AUTHENTICATED_FRAME, is_reset=True)
SILENT = Fault(is_silent=True)

SLOW: dict[str, dict[str, Fault]] = {
    "requests are 500 ms late": {"toward_broker": LATE},
    "answers are 500 ms late": {"toward_client": LATE},
    "100 KB/s": {"toward_broker": NARROW, "toward_client": NARROW},
}
"""Faults that let everything through in the end."""
ENDING: dict[str, dict[str, Fault]] = {
    "requests are cut": {"toward_broker": CUT},
    "answers are cut": {"toward_client": CUT},
    "reset in requests": {"toward_broker": RESET},
    "reset in answers": {"toward_client": RESET},
    "silence": {"toward_broker": SILENT, "toward_client": SILENT},
    "half-open": {},
}
"""Faults that no connection outlives."""
CORE = [("answers are cut", "broker"), ("silence", "broker")]
"""What `make test` has; the rest is in `make faults`."""
CASES = [(fault, side) for fault in (SLOW | ENDING) for side in ("client", "broker")] if IS_WHOLE else CORE


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("fault", "side"), CASES)
def test_what_was_acknowledged_outlives_a_fault(
    fault: str, side: str, line: Line, unique: UniqueName
) -> None:
    topic = unique("faults")
    clients = LastingClients(line.tenant, topic)
    line.make_topics(*(writer.topic for writer in clients.writers))
    proxy = line.proxy(side)
    before = proxy.hits

    with clients:
        clients.await_growth(MOST)
        with proxy.fault(**(SLOW | ENDING)[fault]):
            if fault in SLOW:
                clients.await_growth(MOST)
            elif fault == "half-open":
                proxy.abandon()
            else:
                await_true(lambda: proxy.hits >= before + BITES, "the fault ends connections", timeout_s=60)
                time.sleep(FAULT_S)
        clients.await_growth(MOST)
        clients.finish(line.broker, lambda name: physical_name(line.tenant_name, name))

    assert (proxy.hits > before) == (fault in ENDING)
    # Of the connections of clients that are gone without a word as well, nothing is left.
    await_true(lambda: line.connections == 0, "no connection of a client is left", timeout_s=30)
    await_true(lambda: ask(line.gateway, "/readyz")[0] == 200, "the gateway is ready")
    assert value(line.gateway, "kafka_proxy_buffered_bytes") == 0
