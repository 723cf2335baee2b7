"""Every served API at every version, every field that can name something: another's thing is a thing that is not there.

The answers are equal in bytes once the forged value is replaced by the control's, and so is whether the connection
lives. Meanwhile the victim's sessions, groups, members and transaction go on (see conftest.py).
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import pytest

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.fields.entities import REFUSED, SERVED, served_versions
from support.brokers.kafka_versions import brokers_under_test
from support.forgery.attackers import ATTACKERS, Attack
from support.forgery.forged_requests import Loot, Own, forgeries
from support.forgery.probe import Prober, without_made_up
from support.forgery.victim import BusyVictim
from support.gateways.gateway_process import IS_SINGLE_ADDRESS

NAMES_NOTHING = {
    ApiKey.SASL_HANDSHAKE,
    ApiKey.SASL_AUTHENTICATE,
    ApiKey.API_VERSIONS,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.LIST_CONFIG_RESOURCES,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
}
"""Requests in which nothing of a tenant's can be named."""
SETTLING_S = {ApiKey.FETCH: 20.0, ApiKey.SHARE_FETCH: 20.0, ApiKey.SHARE_ACKNOWLEDGE: 20.0}
"""Seconds in which to ask again: a broker prepares a share partition in the background, for as long as it takes on a
busy machine, and says so in one of three ways until then. A Fetch begins a session (KIP-227) only while the broker has
one of its thousand places for it, and one becomes free at any moment."""
if brokers_under_test() > 1:
    # A topic that a request creates has a leader a moment later, and other brokers hear of it later still.
    SETTLING_S |= dict.fromkeys((ApiKey.METADATA, ApiKey.DESCRIBE_TOPIC_PARTITIONS), 10.0)
if IS_SINGLE_ADDRESS:
    # A broker closes its connection for bad records that it need not acknowledge; the client's ends a moment later.
    SETTLING_S |= {ApiKey.PRODUCE: 10.0}
MAX_SHOWN = 5
FORGED = sorted((set(SERVED) | REFUSED) - NAMES_NOTHING)


def check_alike(api_key: ApiKey, versions: Iterable[int], prober: Prober, own: Own, loot: Loot) -> None:
    """Check that every forged request is answered as its control."""
    differences, requests = [], 0

    for version in versions:
        for forgery in forgeries(api_key, version, own, loot):
            requests += 2
            settled_by = time.monotonic() + SETTLING_S.get(api_key, 0)
            while True:
                foreign = prober.ask(forgery.foreign, version).swapped(forgery.swaps)
                control = prober.ask(forgery.control, version)
                if foreign == control:
                    break
                foreign = without_made_up(api_key, version, foreign)
                control = without_made_up(api_key, version, control)
                if foreign == control:
                    break
                if time.monotonic() >= settled_by:
                    differences.append(f"{forgery.label}: foreign {foreign}, control {control}")
                    break
                time.sleep(0.05)

    assert not differences, f"{len(differences)} of {requests // 2}:\n" + "\n".join(differences[:MAX_SHOWN])
    assert requests > 0


@pytest.mark.parametrize("tenant", ATTACKERS)
@pytest.mark.parametrize("api_key", FORGED, ids=lambda key: key.name)
def test_foreign_things_are_answered_as_things_that_do_not_exist(
    api_key: ApiKey, tenant: str, attack: Attack, loot: Loot, own: dict[str, Own], victim: BusyVictim
) -> None:
    check_alike(api_key, served_versions(api_key) or (), attack(tenant), own[tenant], loot)

    victim.check()
