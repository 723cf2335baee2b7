import itertools

import pytest

from bifrost.tenancy.virtual_partitions import transaction_claims
from bifrost.tenancy.virtual_partitions.transaction_claims import TransactionClaims

KEY = (7, 1, (b"orders", 0))


def test_a_claim_keeps_its_mark_until_it_is_taken() -> None:
    claims, marks = TransactionClaims(), iter([b"one", b"two", b"three"])
    new_mark = marks.__next__

    assert (claims.number_of(KEY), claims.mark(KEY, 3, new_mark)) == (None, b"one")
    assert (claims.number_of(KEY), claims.mark(KEY, 3, new_mark)) == (3, b"one")
    assert not claims.take(KEY, 3, b"two")
    assert not claims.take(KEY, 4, b"one")
    assert not claims.take(KEY, 3, None)
    assert claims.take(KEY, 3, b"one")
    assert not claims.take(KEY, 3, b"one"), "there are numbers behind it"
    assert claims.mark(KEY, 3, new_mark) == b"two"
    assert claims.mark(KEY, 4, new_mark) == b"three", "that of another sequence"


def test_the_oldest_claims_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction_claims, "MAX_CLAIMS", 2)
    claims, count = TransactionClaims(), itertools.count()
    keys = [(producer, 1, (b"orders", 0)) for producer in range(3)]
    for key in (keys[0], keys[1], keys[0], keys[2]):
        claims.mark(key, 0, lambda: b"%d" % next(count))

    assert [claims.number_of(key) for key in keys] == [0, None, 0]
