from bifrost.transforms.large_values import GivenRecords, ReadSpec, RecordsToRead

SPEC = ReadSpec("acme", "schemas", 100, ())


def test_a_need_is_known_again_by_its_batch_and_not_by_what_it_was_given() -> None:
    first = RecordsToRead(SPEC, "orders", b"digest", GivenRecords((), {1: "secret"}))

    assert first == RecordsToRead(SPEC, "orders", b"digest", GivenRecords((), {}))
    assert first != RecordsToRead(SPEC, "orders", b"other", GivenRecords((), {}))
    assert first != RecordsToRead(SPEC._replace(tenant="globex"), "orders", b"digest", GivenRecords((), {}))
    assert "secret" not in repr(first)
