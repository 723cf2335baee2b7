"""The tenants that attack, and what each has itself."""

from __future__ import annotations

from collections.abc import Callable

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import InitProducerIdRequest
from support.clients.raw_operations import create_topic, metadata_of, produce, topic_id_of
from support.clients.routed_client import RoutedClient
from support.forgery.forged_requests import Own
from support.forgery.probe import Prober
from support.forgery.victim import join_classic

Attack = Callable[[str], Prober]
"""Connect as an attacker, to the broker's port: `attack("initech")`."""
ATTACKERS = ("initech", "acme")
"""One with a dynamic namespace, which may delete topics, and one with a list of four, which may not."""


def make_own(client: RoutedClient, name: str) -> Own:
    """Give a sender what its requests name beside the forged: its topics `orders` and `billing` are there or made."""
    for topic in ("orders", "billing"):
        if metadata_of(client, topic)[0].error_code != ErrorCode.NONE:
            create_topic(client, topic)
        produce(client, topic, [b"the sender's own"])
    request = InitProducerIdRequest(transactional_id="own-transaction", transaction_timeout_ms=10_000)
    assert client.request(request, 4).error_code == ErrorCode.NONE
    joined = join_classic(client, f"own-live-{name}", "orders", "own-instance")
    return Own("orders", topic_id_of(client, "orders"), "billing", f"own-live-{name}", joined.member_id)
