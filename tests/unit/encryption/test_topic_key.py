import pickle

import pytest

from bifrost.encryption.topic_key import TopicKey

KEY = bytes(range(64))


def test_a_topic_key_has_64_bytes() -> None:
    for size in (0, 32, 63, 65):
        with pytest.raises(ValueError, match="64 bytes"):
            TopicKey(bytes(size))


def test_a_topic_key_is_known_by_its_id_and_not_shown() -> None:
    one, other = TopicKey(KEY), TopicKey(bytes(64))

    assert (len(one.key_id), one.key_id == TopicKey(KEY).key_id) == (8, True)
    assert one.key_id != other.key_id
    assert repr(one) == f"TopicKey({one.key_id.hex()})"
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(one)
