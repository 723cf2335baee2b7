import pytest

from bifrost.config.policies.config_value import MAX_LENGTH, canonical, read_value


@pytest.mark.parametrize(
    ("given", "read"), [(" 5 ", "5"), (5, "5"), (0.5, "0.5"), (True, "true"), (False, "false"), ("x", "x")]
)
def test_numbers_and_truth_values_become_texts(given: object, read: str) -> None:
    assert read_value(given) == read


@pytest.mark.parametrize("given", [None, [], {}, "x" * (MAX_LENGTH + 1)])
def test_nothing_else_is_a_value(given: object) -> None:
    with pytest.raises(ValueError, match="expected a text"):
        read_value(given)


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("retention.ms", "+60000", "60000"),
        ("retention.ms", "-1", "-1"),
        ("min.cleanable.dirty.ratio", ".5", "0.5"),
        ("cleanup.policy", " compact , delete", "compact,delete"),
        ("preallocate", "TRUE", "true"),
        ("compression.type", "zstd", "zstd"),
    ],
)
def test_a_value_has_the_form_in_which_a_broker_tells_it(name: str, given: str, told: str) -> None:
    assert canonical(name, given) == told


def test_a_config_that_kafka_does_not_have_has_no_value() -> None:
    with pytest.raises(ValueError, match=r"no topic config retention\.min"):
        canonical("retention.min", "5")


def test_a_number_has_to_be_one() -> None:
    with pytest.raises(ValueError, match=r"retention\.ms is a number, and 'one day' is none"):
        canonical("retention.ms", "one day")
