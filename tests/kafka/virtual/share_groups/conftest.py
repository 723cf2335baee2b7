"""A gateway whose tenant has topics with virtual partitions of all kinds: fixed numbers, a ratio, compacted, sealed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.encryption.key_files import encryption, write_key_file
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.virtual_topics import PHYSICAL, RATIO, RULES, SIZES, create

RATIO_SIZE = 6
KEYED = {"topics": ["keyed-*"], "virtual": 12, "physical": 4, "compacted": True}


@pytest.fixture(scope="module")
def dividing(warm: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    directory = tmp_path_factory.mktemp("dividing_shares")
    key_file = write_key_file(directory / "keks", "payments")

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0] |= {
            "virtual_partitions": [*RULES, KEYED],
            "filters": [
                encryption(key_file, "even-sealed-*"),
                encryption(key_file, "keyed-*", label="keyed", mode="values"),
            ],
        }

    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust, "has_admin": True}
    with GatewayProcess(directory, warm.bootstrap, **options) as process:
        yield process


@pytest.fixture(params=[*SIZES, "ratio"])
def topic(request: pytest.FixtureRequest, endpoint: Endpoint, direct: RawClient, unique: UniqueName) -> str:
    """A new topic of each kind, whose partitions have leaders."""
    kind = str(request.param)
    size, physical = SIZES.get(kind, RATIO_SIZE), PHYSICAL.get(kind, RATIO_SIZE // RATIO)
    return create(endpoint, direct, unique(kind), size, physical)


@pytest.fixture
def size(topic: str) -> int:
    """How many virtual partitions the topic has."""
    return SIZES.get(topic.partition("-")[0], RATIO_SIZE)
