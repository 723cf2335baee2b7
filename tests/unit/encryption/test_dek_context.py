from bifrost.encryption.dek_context import DekContext


def test_contexts_are_told_apart() -> None:
    assert DekContext("cluster", "orders").as_bytes() == b"cluster\norders"
    assert DekContext("c", "orders").as_bytes() != DekContext("co", "rders").as_bytes()
