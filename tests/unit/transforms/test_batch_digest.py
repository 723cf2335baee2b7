from hashlib import sha256

from bifrost.transforms.batch_digest import digest_of


def test_a_digest_is_that_of_all_bytes() -> None:
    data = bytes(range(256)) * 1_000

    assert digest_of(memoryview(data)) == sha256(data).digest()
    assert digest_of(memoryview(b"")) == sha256().digest()
