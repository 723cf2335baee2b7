from bifrost.config.quotas.quota_exchange import QuotaExchange
from bifrost.gateway.exchange.exchange_topic import exchange_topic_settings


def test_the_topic_keeps_little_and_goes_by_no_gateways_clock() -> None:
    section = QuotaExchange.model_validate({"topic": "platform.quotas", "replication_factor": 3})

    settings = exchange_topic_settings(section)

    assert (settings.name, settings.partitions, settings.replication_factor) == ("platform.quotas", 1, 3)
    assert settings.configs["cleanup.policy"] == "delete"
    assert int(settings.configs["retention.ms"]) <= 600_000
    assert settings.configs["message.timestamp.type"] == "LogAppendTime"
    assert settings.origin == "proxy.quota_exchange"
