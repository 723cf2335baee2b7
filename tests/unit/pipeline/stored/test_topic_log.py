"""How an answer is taken apart; reading ranges from real brokers is in tests/spark/test_stored_topics.py."""

import random

import pytest

from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.topic_log import split_raw
from support.encryption.sealing import produced


def test_whole_batches_are_split_and_a_cut_one_is_left_out() -> None:
    first, second = (produced(random.Random(seed), 3, seed) for seed in (1, 4))
    data = memoryview(first + second + first[:-1])

    assert [bytes(one) for one in split_raw(data)] == [first, second]
    assert list(split_raw(memoryview(b""))) == []


def test_a_batch_of_an_older_format_and_one_that_is_spoilt_are_split_too() -> None:
    old = bytes(8) + (26 - 12).to_bytes(4, "big") + bytes(4) + b"\0" + bytes(9)
    spoilt = bytearray(produced(random.Random(1), 3))
    spoilt[-1] ^= 1

    assert [len(one) for one in split_raw(memoryview(old + spoilt))] == [26, len(spoilt)]


def test_an_impossible_length_is_an_error_that_names_the_offset() -> None:
    data = (17).to_bytes(8, "big") + (3).to_bytes(4, "big") + bytes(4) + b"\2" + bytes(60)

    with pytest.raises(PipelineError, match="offset 17 says that it has 15 bytes"):
        list(split_raw(memoryview(data)))
