"""Whatever a client produced and whatever a broker makes of it: it comes back as it was, or not at all."""

import random

from hypothesis import given
from hypothesis import strategies as st

from bifrost.encryption.place import Place
from bifrost.records.codec.errors import RecordsError
from support.encryption.sealing import TRANSACTIONAL, opened, packed_again, produced, sealed, with_header
from support.records.record_columns import CODECS, only_batch

CODEC = st.integers(0, len(CODECS) - 1)
NAME = st.text(min_size=1, max_size=20)
PLACES = st.builds(Place, NAME, NAME, st.integers(0, 2**31 - 1))


@given(
    st.integers(0, 2**32),
    st.integers(1, 150),
    CODEC,
    st.sampled_from([0, TRANSACTIONAL]),
    st.one_of(st.none(), CODEC),
    st.one_of(st.none(), st.integers(0, 2**50)),
    PLACES,
)
def test_a_batch_comes_back_as_it_was(seed, count, codec, attributes, again, append_time_ms, place):
    data = produced(random.Random(seed), count, codec, attributes)
    stored = sealed(data, place)
    if again is not None:
        stored = packed_again(stored, again, append_time_ms)

    back = opened(stored, place)

    if again is not None and append_time_ms is not None:
        assert only_batch(back).is_log_append_time
        assert only_batch(back).max_timestamp_ms == append_time_ms
        before = only_batch(data)
        back = with_header(back, attributes=before.attributes, max_timestamp=before.max_timestamp_ms)
    assert back == data


@given(st.integers(0, 2**32), st.integers(1, 40), CODEC, PLACES, PLACES)
def test_a_batch_is_opened_nowhere_but_in_its_place(seed, count, codec, place, other):
    data = sealed(produced(random.Random(seed), count, codec), place)
    try:
        opened(data, other)
    except RecordsError:
        assert (place.cluster, place.topic, place.partition) != (other.cluster, other.topic, other.partition)
    else:
        assert (place.cluster, place.topic, place.partition) == (other.cluster, other.topic, other.partition)
