import pytest

from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.errors import BrokenSeal, UnknownKek
from bifrost.encryption.sealing_key import SealingKey, id_of, read_sealing_key, topic_key_of
from bifrost.encryption.wrapped_dek import WrappedDek

KEY = bytes(range(32))
WRAPPED = WrappedDek("vault:transit/payments", 3, b"wrapped")
SEALING = SealingKey(id_of(KEY), WRAPPED)


def test_a_file_has_a_line_and_what_is_said_about_it() -> None:
    text = SEALING.as_text()

    assert read_sealing_key(text) == SEALING
    assert read_sealing_key(f"# of payments\n\n{text}\n") == SEALING
    assert KEY.hex() not in text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing",
        "v2 " + SEALING.as_text()[3:],
        SEALING.as_text() + "\n" + SEALING.as_text(),
        "v1 00 " + SEALING.as_text()[20:],
        "v1 zz " + SEALING.as_text()[20:],
        SEALING.as_text()[:-4],
        SEALING.as_text() + "!",
        SEALING.as_text() + " more",
    ],
)
def test_what_is_no_such_file_is_refused(text: str) -> None:
    with pytest.raises(BrokenSeal):
        read_sealing_key(text)


def test_another_key_is_noticed() -> None:
    assert SEALING.checked(KEY) == KEY
    for other in (bytes(32), KEY[:31], b""):
        with pytest.raises(UnknownKek, match="another sealing key"):
            SEALING.checked(other)


def test_each_topic_has_a_key_of_its_own_that_does_not_change() -> None:
    orders = topic_key_of(KEY, DekContext("cluster", "orders"))

    # The layout is public: docs/encryption.md says how a reader gets it.
    assert orders.key_id.hex() == "fd069dad3cce45e1"
    assert topic_key_of(KEY, DekContext("cluster", "orders")).key_id == orders.key_id
    others = [
        topic_key_of(KEY, DekContext("cluster", "others")),
        topic_key_of(KEY, DekContext("elsewhere", "orders")),
        topic_key_of(bytes(32), DekContext("cluster", "orders")),
    ]
    assert len({one.key_id for one in (orders, *others)}) == 4
    place, sealed = [b"place"], orders.cipher.encrypt(b"a", [b"place"])
    assert orders.cipher.encrypt(b"a", place) == sealed
    assert all(one.cipher.encrypt(b"a", place) != sealed for one in others)
