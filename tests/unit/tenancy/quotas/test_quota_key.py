"""Keys of quotas and their values."""

import math

import pytest

from bifrost.tenancy.quotas.quota_key import refuse_value


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("producer_byte_rate", 1.0),
        ("producer_byte_rate", 1.0000001),
        ("consumer_byte_rate", 2.0**63),
        ("request_percentage", 0.5),
        ("controller_mutation_rate", 1e300),
    ],
)
def test_values_that_kafka_takes_are_taken(key: str, value: float) -> None:
    assert refuse_value(key, value) is None


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("connection_creation_rate", 1.0, "Invalid configuration key connection_creation_rate"),
        ("producer_byte_rate", 0.0, "Quota producer_byte_rate must be greater than 0"),
        ("request_percentage", -1.0, "Quota request_percentage must be greater than 0"),
        ("producer_byte_rate", 1.5, "producer_byte_rate cannot be a fractional value."),
        ("request_percentage", math.nan, "Quota request_percentage must be a finite number"),
        ("producer_byte_rate", math.nan, "Quota producer_byte_rate must be a finite number"),
        ("controller_mutation_rate", math.inf, "Quota controller_mutation_rate must be a finite number"),
        ("consumer_byte_rate", 2e19, "Proposed value for consumer_byte_rate is too large for a LONG."),
    ],
)
def test_values_that_kafka_refuses_are_refused_in_its_words(key: str, value: float, why: str) -> None:
    assert refuse_value(key, value) == why
