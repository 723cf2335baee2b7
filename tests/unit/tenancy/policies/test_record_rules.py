from collections import Counter
from typing import Any

import pytest

from bifrost.config.policies.namespace_policy import NamespacePolicy
from bifrost.tenancy.policies.record_rules import RecordRules
from bifrost.tenancy.policies.ruling import Ruling
from bifrost.wire.error_codes import ErrorCode


@pytest.fixture
def hits() -> Counter[tuple[str, str]]:
    return Counter()


def rules(hits: Counter[tuple[str, str]], **policies: dict[str, Any]) -> RecordRules:
    found = [
        Ruling(tuple(path.split("_")), NamespacePolicy.model_validate(one)) for path, one in policies.items()
    ]
    return RecordRules(found, hits, "acme")


def test_each_policy_has_to_allow_the_acks(hits: Counter[tuple[str, str]]) -> None:
    found = rules(hits, acme={"acks": ["all", "1"]}, acme_eu={"acks": ["all", 0]})

    assert found.refuse_acks(-1) is None
    for acks, text in (
        (0, "Policy acks of namespace acme allows all, 1, not 0"),
        (1, "Policy acks of namespace acme:eu allows all, 0, not 1"),
    ):
        refusal = found.refuse_acks(acks)
        assert refusal is not None
        assert (refusal.error_code, refusal.message) == (ErrorCode.POLICY_VIOLATION, text)
    assert hits == {("acks", "acme"): 2}


def test_acks_that_kafka_does_not_have_are_left_to_the_broker(hits: Counter[tuple[str, str]]) -> None:
    assert rules(hits, acme={"acks": ["all"]}).refuse_acks(7) is None


def test_each_policy_has_to_allow_the_codec(hits: Counter[tuple[str, str]]) -> None:
    found = rules(
        hits, acme={"compression": ["zstd", "lz4", "none"]}, acme_eu={"compression": ["zstd", "gzip"]}
    )

    refused = {name: found.refuse_compression(name) for name in ("none", "gzip", "lz4", "zstd", "5")}

    assert [name for name, one in refused.items() if one is None] == ["zstd"]
    assert refused["none"] is not None
    assert refused["none"].message == "Policy compression of namespace acme:eu allows zstd, gzip, not none"
    assert hits == {("compression", "acme"): 4}


def test_batches_are_looked_at_for_policies_about_compression_alone(hits: Counter[tuple[str, str]]) -> None:
    assert not rules(hits, acme={"acks": ["all"]}).has_codecs
    assert rules(hits, acme={"acks": ["all"]}, acme_eu={"compression": ["none"]}).has_codecs
