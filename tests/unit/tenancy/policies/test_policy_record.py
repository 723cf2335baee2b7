import pytest

from bifrost.config.policies.namespace_policy import NamespacePolicy
from bifrost.state.state_key import StateKey
from bifrost.tenancy.namespaces.namespace_path import InvalidNamespace, Path
from bifrost.tenancy.policies.policy_record import KIND, policy_body, policy_key, read_body, read_key

POLICY = NamespacePolicy.model_validate(
    {
        "topic_names": ["orders-*"],
        "max_partitions": 12,
        "topic_configs": [
            {"name": "cleanup.policy", "values": ["compact"]},
            {"name": "retention.ms", "max": 9},
        ],
        "forced_topic_configs": [{"name": "min.insync.replicas", "value": 2}],
    }
)


def test_a_key_names_the_namespace() -> None:
    key = policy_key(Path(("acme", "eu")))

    assert str(key) == "namespace-policy:acme:eu"
    assert read_key(key) == ("acme", "eu")


def test_a_policy_comes_back_from_its_record() -> None:
    body = policy_body(POLICY)

    assert read_body(body) == POLICY
    assert "group_names" not in body


def test_what_another_version_has_written_is_refused() -> None:
    with pytest.raises(ValueError, match="run the version of the gateway that wrote it"):
        read_body({"max_consumers": 3})


def test_a_key_of_no_namespace_is_refused() -> None:
    with pytest.raises(InvalidNamespace):
        read_key(StateKey(KIND, "acme:"))
