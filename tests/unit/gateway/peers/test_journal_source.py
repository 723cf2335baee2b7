import socket

import pytest

from bifrost.config.fields.journal import Journal
from bifrost.gateway.peers.journal_source import gateway_name, source_alone, source_of_worker
from bifrost.journal.record import Source


def test_a_process_that_is_alone_has_the_gateways_name_and_the_time_of_its_start() -> None:
    source = source_alone(Journal(gateway_id="gw"))

    assert source.gateway_id == "gw"
    assert 1_700_000_000_000 < source.epoch < 4_000_000_000_000


def test_each_worker_has_a_name_of_its_own_that_no_gateway_can_have() -> None:
    settings = Journal(gateway_id="gw")

    sources = [source_of_worker(settings, number, 7) for number in range(2)]

    assert sources == [Source("gw/0", 7), Source("gw/1", 7)]
    with pytest.raises(ValueError, match="gateway_id"):
        Journal(gateway_id="gw/0")


def test_without_a_name_it_is_the_hosts() -> None:
    assert gateway_name(Journal()) == socket.gethostname()
