from bifrost.journal.identity import Identity, Software

ALICE = Identity("acme", "upstream", "acme:eu", "User:alice", b"shop", Software("librdkafka", "2.16"))


def test_what_stands_for_a_client_keeps_its_principal() -> None:
    assert ALICE.folded == Identity("acme", "upstream", "acme:eu", "User:alice", is_folded=True)


def test_what_stands_for_all_of_a_tenant_keeps_nothing_else() -> None:
    assert ALICE.folded_whole == Identity("acme", "upstream", "acme", "*", is_folded=True)
