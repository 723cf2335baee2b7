import pytest
from pydantic import ValidationError

from bifrost.config.quotas.quota_exchange import QUOTA_EXCHANGE_TOPIC, QuotaExchange


def test_every_key_has_a_default() -> None:
    section = QuotaExchange()

    assert (section.upstream, section.topic, section.partitions, section.replication_factor) == (
        None,
        QUOTA_EXCHANGE_TOPIC,
        1,
        -1,
    )


@pytest.mark.parametrize("wrong", [{"topic": "no topic"}, {"replication_factor": -2}, {"partitions": 0}])
def test_what_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        QuotaExchange.model_validate(wrong)
