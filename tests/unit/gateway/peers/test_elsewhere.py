from bifrost.gateway.peers.elsewhere import Nowhere


def test_a_gateway_of_one_process_has_no_connections_elsewhere() -> None:
    nowhere = Nowhere()

    nowhere.note("acme", 3, 5)
    with nowhere.admission("acme"):
        assert (nowhere.count("acme"), nowhere.count_all()) == (0, 0)
