from __future__ import annotations

import pytest

from bifrost.embedded.demo.ledger import ConsoleLine, Counts
from bifrost.embedded.demo.state import DemoState, Observation, Sight, TenantView, TopicOnBroker
from support.physical_names import physical_name


@pytest.fixture
def state() -> DemoState:
    """A demo that has run for three seconds."""
    acme = [ConsoleLine("sent", f"#{n} {n} anvil") for n in range(1, 40)] + [
        ConsoleLine("read", "#40 1 anvil")
    ]
    globex = [ConsoleLine("crossed", "#1 3 anvil of acme")]
    return DemoState(
        title="Bifrost: two tenants on one Kafka 4.3.1",
        bootstrap="127.0.0.1:9092",
        elapsed_s=3.2,
        duration_s=15,
        tenants=[
            TenantView("acme", "a0a0a0a0", Counts(sent=40, read=39, lost=1), acme, 140),
            TenantView("globex", "9b9b9b9b", Counts(sent=2, read=2, crossed=1), globex, 1),
        ],
        observation=Observation(
            topics=(
                TopicOnBroker(physical_name("acme", "orders"), 2, 40, False),
                TopicOnBroker(physical_name("globex", "orders"), 2, 2, False),
                TopicOnBroker("__consumer_offsets", 4, 9, True),
            ),
            groups=(physical_name("acme", "shop"), physical_name("globex", "shop")),
            sights={"acme": Sight(("orders",), ("shop",)), "globex": Sight()},
        ),
        hints=[("kcat", "kcat -F /tmp/d/acme.kcat"), ("python", "python read.py"), ("java", "console " * 20)],
    )
