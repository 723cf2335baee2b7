from typing import Any

import pytest

from bifrost.config.records.filter_configs import FilterConfig
from bifrost.encryption.kek import Kek
from bifrost.transforms.encryption.batch_sealing import BatchSealing
from bifrost.transforms.encryption.envelope_encryption import KIND, kek_of
from bifrost.transforms.encryption.value_sealing import ValueSealing
from bifrost.transforms.transform_kind import Topic
from support.physical_names import physical_name

TOPIC = Topic("acme", "orders", physical_name("acme", "orders").encode(), "cluster-id")
VAULT = {"kms_provider": "Vault", "key_id": "payments"}


def config_of(**values: Any) -> FilterConfig:
    return FilterConfig.model_validate(VAULT | values)


@pytest.mark.parametrize(
    ("values", "kek"),
    [
        ({}, Kek("vault", "payments")),
        (
            {
                "cache_expiry_seconds": 30,
                "also_opens": ["old"],
                "vault": {
                    "address": "http://vault:8200",
                    "token_file": "/t",
                    "mount": "m",
                    "namespace": "n",
                    "ca_file": "/c",
                },
            },
            Kek("vault", "payments", ("old",), "http://vault:8200", "/t", "m", "n", "/c", max_age_ms=30_000),
        ),
        (
            {"kms_provider": "AwsKms", "aws_kms": {"region": "eu-central-1", "endpoint_url": "http://aws"}},
            Kek("aws-kms", "payments", address="http://aws", region="eu-central-1"),
        ),
        ({"kms_provider": "KeyFile", "key_file": "/k"}, Kek("file", "payments", key_file="/k")),
    ],
)
def test_a_filter_names_its_kek(values: dict[str, Any], kek: Kek) -> None:
    assert kek_of(config_of(**values)) == kek


def test_a_topic_is_sealed_as_its_filter_says() -> None:
    batches = KIND.make("sealed", config_of(accept_plaintext_before="1970-01-01T00:00:01Z"), TOPIC)
    values = KIND.make("sealed", config_of(mode="values", cluster="prod", on_missing_key="skip"), TOPIC)

    assert isinstance(batches, BatchSealing)
    assert isinstance(values, ValueSealing)
    assert batches._rules.context == ("cluster-id", physical_name("acme", "orders"))
    assert (batches._rules.plaintext_before_ms, batches._rules.skips_missing_keys) == (1000, False)
    assert values._rules.context == ("prod", physical_name("acme", "orders"))
    assert (values._rules.plaintext_before_ms, values._rules.skips_missing_keys) == (None, True)
    assert KIND.seals
