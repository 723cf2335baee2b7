"""docs/isolation.md names every call of an admin client that a tenant is refused."""

import re

from bifrost.filters.configs.broker_configs import SHOWN
from bifrost.filters.refused import REFUSED
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.fields.entities import served_versions
from support.pages.doc_pages import page, table

OTHER_NAMES = {
    ApiKey.WRITE_TXN_MARKERS: "abortTransaction",
    ApiKey.DESCRIBE_QUORUM: "describeMetadataQuorum",
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: "clientInstanceId",
}
"""APIs whose call has another name than Kafka's `Admin` gives to it."""

NO_CALL = re.compile("SHARE_GROUP_STATE|PUSH_TELEMETRY")
"""What brokers ask each other, and what a client sends without being told to."""


def call(api_key: ApiKey) -> str:
    first, *others = api_key.name.lower().split("_")
    return OTHER_NAMES.get(api_key, first + "".join(map(str.capitalize, others)))


def test_every_refused_call_is_in_the_table() -> None:
    calls = {name.removesuffix("()") for name in table(page("isolation.md"), "call", "bare broker").names()}
    from_client = re.findall(r"(\w+) \(\d+\)", page("protocol-coverage.md").partition("## Not served")[2])
    not_served = {
        one for one in ApiKey if call(one).casefold() in {name.casefold() for name in from_client} | _named()
    }
    refused = {call(one) for one in {*REFUSED, *not_served} if not NO_CALL.search(one.name)}

    assert len(refused) > 10
    assert refused - calls == set()
    assert not [one for one in not_served if served_versions(one) is not None]


def _named() -> set[str]:
    return {name.casefold() for name in OTHER_NAMES.values()}


def test_what_the_page_says_is_withheld_is() -> None:
    assert {"advertised.listeners", "listeners", "log.dirs", "node.id"}.isdisjoint(SHOWN)
    assert 35 <= len(SHOWN) <= 45
