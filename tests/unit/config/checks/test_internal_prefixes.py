from typing import Any

import pytest

from bifrost.config.checks.clashes import find_clashes


def tenant(prefix: str) -> dict[str, Any]:
    prefixes = {"topic": prefix, "group": "g-", "transactional_id": "x-"}
    return {"tenants": [{"name": "sly", "prefixes": prefixes}]}


@pytest.mark.parametrize(
    ("prefix", "topic"),
    [
        ("_", "__consumer_offsets"),
        ("__", "__consumer_offsets"),
        ("__c", "__consumer_offsets"),
        ("__cluster", "__cluster_metadata"),
        ("__consumer_offsets", "__consumer_offsets"),
        ("__transaction_", "__transaction_state"),
        ("__share_group_state", "__share_group_state"),
        ("__remote_log_", "__remote_log_metadata"),
        ("__bifrost_", "__bifrost_journal"),
    ],
)
def test_a_prefix_under_which_internal_topics_lie_is_refused(prefix: str, topic: str) -> None:
    (clash,) = find_clashes(tenant(prefix))

    assert clash.loc == ("tenants", 0, "prefixes", "topic")
    assert clash.text == f"topic prefix {prefix} is how the internal topic {topic} begins: choose another"


@pytest.mark.parametrize("prefix", ["__v", "__vt_"])
def test_a_prefix_of_all_tenants_without_one_is_refused(prefix: str) -> None:
    (clash,) = find_clashes(tenant(prefix))

    assert "how topics of tenants without prefixes begin (__vt_)" in clash.text


@pytest.mark.parametrize("prefix", ["t1-", "_t", "__vt_sly_", "__consumer_offsets_", "__bifrost_t", "-"])
def test_any_other_prefix_may_be(prefix: str) -> None:
    assert find_clashes(tenant(prefix)) == []


def test_groups_may_begin_as_they_like() -> None:
    data = tenant("t-")
    data["tenants"][0]["prefixes"]["group"] = "_"

    assert find_clashes(data) == []
